"""What the bot must remember between ticks, in one SQLite file."""
