"""Where turns run: one module per kind of place."""
