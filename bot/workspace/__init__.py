"""Mirrors and worktrees: where agents may write, and how their work gets out. The only room that speaks git."""
