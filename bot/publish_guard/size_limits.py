"""Size limits of what is published: largest file, new content of a turn, new binaries, number of changed files."""

MAX_FILE_BYTES = 100_000_000
"""Larger files are left out of a commit; GitHub refuses them."""
MAX_NEW_BYTES = 1_000_000_000
"""New content that one scan of a worktree reads."""
MAX_NEW_FILES = 5_000
"""More new files and folders end the reading of a worktree; for a project, ten times the files that a turn may
change, if that is more."""
MAX_ENTRIES = 500_000
"""Files and folders, ignored ones included, that one scan looks at beside those that git tracks."""
MAX_NEW_BINARY_BYTES = 5_000_000
"""A larger new binary file needs a person's approval."""
