"""State that must outlive a tick, in one SQLite file."""
