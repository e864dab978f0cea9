"""Default place of the state directory.

Rule: no folder in its path is hidden. Agents work below it, and the tests of many projects refuse such paths.
"""

from pathlib import Path

STATES = Path("~/treehand-state")
"""Not `~/treehand`, which is the name of a clone of Treehand."""
EARLIER_STATES = Path("~/.local/state/treehand")
"""Used by earlier versions. What is there stays there."""
DEMO_FOLDER = "demo"
"""The demo has this folder in the state directory."""
_DATABASES = ("treehand.db", "forge/desk.sqlite")


def default_state_dir() -> Path:
    """Returns the folder for settings that name none."""
    earlier, fresh = EARLIER_STATES.expanduser(), STATES.expanduser()
    return earlier if has_state(earlier) and not has_state(fresh) else fresh


def has_state(folder: Path) -> bool:
    return any((folder / name).exists() for name in _DATABASES)
