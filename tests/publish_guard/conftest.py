"""Real worktrees of a real remote, as in `tests/workspace`."""

from tests.workspace.conftest import empty_origin, mirror, origin, root, workspaces

__all__ = ["empty_origin", "mirror", "origin", "root", "workspaces"]
