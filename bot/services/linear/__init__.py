"""Linear: one workspace's issues, seen in as few requests as can be, and written to once."""
