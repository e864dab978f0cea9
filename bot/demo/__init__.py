"""The whole story on one machine: a sample repository, people who use it, and a scripted stand-in for the model."""
