"""Makes a worktree ready to work in, before an agent begins.

Rule: what a repository, or its history, makes us run runs in the sandbox; the host itself only reads and copies files.
"""
