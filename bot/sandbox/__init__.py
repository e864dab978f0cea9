"""Holds an agent: what it can see, what it can do, and whom it can reach."""
