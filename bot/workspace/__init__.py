"""Mirrors and worktrees: where agents write, and how their work is captured, merged, pushed and salvaged."""
