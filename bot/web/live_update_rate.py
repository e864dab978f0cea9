"""Rate of live updates: seconds between two reads of the board, a transcript or a diff while a page is open."""

BOARD = 0.4
"""Least time between two snapshots of the board while runs change."""
BOARD_UNCHANGED = 5.0
"""Most time between two snapshots: some values, such as free disk space, change without a notification."""
TRANSCRIPT = 0.25
DIFF = 3.0
DIFF_NO_AGENT = 15.0
"""While no agent works, a person may still edit the worktree."""
KEEP_ALIVE = 15.0
"""After this silence the stream sends a comment line, because proxies close silent connections."""
RECONNECT_MILLISECONDS = 1000
"""Time that a browser waits before it connects again."""
