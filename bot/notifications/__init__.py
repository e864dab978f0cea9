"""Tells people, wherever they are: which channels there are, and what goes out on each when."""
