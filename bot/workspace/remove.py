"""Removes a branch's worktree, shadow and refs.

Rule: callers salvage first; every step can be repeated, so that a removal cut off half-way is completed.
"""

import os
import uuid
from collections.abc import Callable, Collection
from pathlib import Path

from bot.system.trash import Trash
from bot.workspace.mirror import Mirror
from bot.workspace.paths import BASES, BRANCHES, CI_HELD, CI_STARTED, EVICTED, PUSHED, ProjectPaths, slug_for
from bot.workspace.worktree import Worktree


def remove_workspace(worktree: Worktree) -> None:
    """Deletes the refs last: they show that there is something to remove."""
    worktree.discard()
    worktree.paths.taken.unlink(missing_ok=True)
    branch = worktree.paths.branch
    ours = (f"refs/heads/{branch}", *(f"{where}{branch}" for where in (BASES, PUSHED, EVICTED, CI_HELD, CI_STARTED)))
    known = worktree.mirror.refs(*ours)
    worktree.mirror.update_refs({name: ("", known[name]) for name in ours if name in known})


def known_branches(mirror: Mirror) -> frozenset[str]:
    """Every branch with any ref of ours. A folder without one is not ours."""
    where = (BASES, PUSHED, EVICTED, CI_HELD, CI_STARTED)
    traces = {name.removeprefix(prefix) for prefix in where for name in mirror.refs(prefix)}
    return frozenset(traces | {name.removeprefix("refs/heads/") for name in mirror.refs(BRANCHES)})


def find_leftovers(project_paths: ProjectPaths, wanted: Callable[[], Collection[str]]) -> tuple[Path, ...]:
    """Returns shadows, administrative folders and pool notes that belong to no branch.

    A shadow without an agent's git directory is from an earlier version, in which agents wrote to it; its worktree gets
    another. Calls `wanted` last: a workspace made meanwhile has its branch first.
    """
    found, taken = (
        [*_list_folder(project_paths.shadows), *_list_folder(project_paths.mirror / "worktrees")],
        _list_folder(project_paths.taken),
    )
    branches = wanted()
    slugs, live = (
        {slug_for(branch) for branch in branches},
        {project_paths.for_branch(branch).folder.name for branch in branches},
    )
    over = [path for path in found if path.name.partition("~")[0] not in live or _is_of_agents(path, found)]
    return (*over, *(note for note in taken if note.name not in slugs))


def clear_leftovers(project_paths: ProjectPaths, trash: Trash, found: Collection[Path]) -> None:
    """Deletes them. A worktree whose branch is lost cannot be salvaged and is set aside for people."""
    for path in found:
        folder = project_paths.worktrees / path.name
        if path.parent == project_paths.mirror / "worktrees" and os.path.lexists(folder):
            project_paths.aside.mkdir(parents=True, exist_ok=True)
            folder.rename(project_paths.aside / f"{path.name}-{uuid.uuid4().hex[:8]}")
        trash.throw(path)


def _is_of_agents(path: Path, found: Collection[Path]) -> bool:
    is_shadow = path.parent.name != "worktrees" and "~" not in path.name
    return is_shadow and path.with_name(f"{path.name}~agent") not in found


def _list_folder(folder: Path) -> list[Path]:
    """Skips links."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    with os.scandir(folder) as listing:
        return [Path(item.path) for item in listing if not item.is_symlink()]
