"""Switches a folder from the files of one commit to those of another: writes and removes what differs, nothing else.

Rule: commands have run in the folder, so no git runs in it, and no link is followed.
"""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from bot.git.blobs import blob_contents
from bot.git.index import FILE, LINK, PROGRAM, SUBMODULE
from bot.publish_guard.path_collisions import decode_path
from bot.publish_guard.tree_diff import TreeDifference, TreeItem, diff_trees
from bot.workspace.safe_files import link_within, remove_within, write_within

_MODES = {FILE: 0o644, PROGRAM: 0o755}
"""File permissions as git creates them."""
_BATCH = 100
"""Files whose content is held in memory at once."""


def switch_files(folder: Path, mirror: Path, *, old: str, new: str) -> None:
    """Raises OSError if something is in the way."""
    apply_differences(folder, mirror, diff_trees(mirror, new, [old]))


def apply_differences(folder: Path, mirror: Path, differences: Sequence[TreeDifference]) -> None:
    """Removes first: a file may take the place of a folder, and a folder that of a file."""
    for one in differences:
        if not one.now:
            with contextlib.suppress(FileNotFoundError):
                remove_within(folder, decode_path(one.path))
    written = [(decode_path(one.path), one.now) for one in differences if one.now and one.now.mode != SUBMODULE]
    for start in range(0, len(written), _BATCH):
        batch = written[start : start + _BATCH]
        contents = blob_contents(mirror, {item.sha for _, item in batch})
        for path, item in batch:
            _write(folder, path, item, contents[item.sha])


def _write(folder: Path, path: str, item: TreeItem, content: bytes) -> None:
    if item.mode == LINK:
        link_within(folder, path, content)
    else:
        write_within(folder, path, content, mode=_MODES[item.mode])
