"""Setup, verification and servers of worktrees.

Rule: commands that a repository defines run in the sandbox; the host itself only reads and copies files.
"""
