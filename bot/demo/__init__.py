"""The demo: a sample repository, scripted people and a scripted model."""
