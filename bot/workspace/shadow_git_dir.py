"""Shadow git directories of a worktree: one that the host makes for people, and one for the agent's own git.

Rule: no sandbox writes the first, so a person's git obeys nothing of an agent; no git of the host reads the second.
Both are rebuilt, never repaired. They borrow the mirror's objects and copy refs and index.
"""

import contextlib
import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from bot.git.commit import TREEHAND
from bot.git.index import SUBMODULE, read_index, write_index
from bot.system.trash import Trash
from bot.workspace.capture import read_file
from bot.workspace.mirror import RAW_ATTRIBUTES
from bot.workspace.paths import ORIGIN, BranchPaths

_SETTINGS = ("config", "config.worktree", "commondir", "hooks", "info")
"""Files and folders that git obeys, besides refs and index."""
_CONFIG = f"""\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
[user]
\tname = {TREEHAND.name}
\temail = {TREEHAND.email}
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""


def build_shadow(
    paths: BranchPaths, trash: Trash, *, mirror: Path, refs: Mapping[str, str], ignored: Sequence[str]
) -> None:
    """Replaces the old ones, with all stashes and commits in them. Where there is a first, there is a second."""
    fresh = [(one, one.with_name(f"{one.name}~new")) for one in (paths.agent_git, paths.shadow)]
    for _, new in fresh:
        trash.throw(new)
        for folder in ("objects/info", "refs"):
            (new / folder).mkdir(parents=True)
        _write_refs(new, paths.branch, refs)
        (new / "objects" / "info" / "alternates").write_text(f"{mirror / 'objects'}\n")
        with contextlib.suppress(FileNotFoundError):  # where a shallow history ends: git looks for no parents there
            shutil.copyfile(mirror / "shallow", new / "shallow")
        _write_settings(new, ignored)
    copy_index(paths, agent_git=fresh[0][1], shadow=fresh[1][1])
    for old in (paths.shadow, paths.agent_git):
        trash.throw(old)
    for old, new in fresh:
        new.rename(old)


def reset_settings(paths: BranchPaths, trash: Trash, ignored: Sequence[str]) -> None:
    """Resets what could run programs or redirect git: a person, or an agent without a sandbox, has changed it."""
    for name in _SETTINGS:
        trash.throw(paths.shadow / name)
    _write_settings(paths.shadow, ignored)


def _write_settings(folder: Path, ignored: Sequence[str]) -> None:
    for name in ("hooks", "info"):
        (folder / name).mkdir()
    (folder / "config").write_text(_CONFIG)
    (folder / "info" / "exclude").write_text("".join(f"{pattern}\n" for pattern in ignored))
    (folder / "info" / "attributes").write_text(RAW_ATTRIBUTES)


def _write_refs(folder: Path, branch: str, refs: Mapping[str, str]) -> None:
    for name, text in (("HEAD", _head(branch)), ("packed-refs", _packed_refs(refs))):
        fresh = folder.with_name(f"{folder.name}~{name}")
        fresh.write_text(text)
        fresh.replace(folder / name)


def copy_index(paths: BranchPaths, *, agent_git: Path, shadow: Path) -> None:
    """Copies the host's index with its time, by which git decides which files to read again.

    A person's git does not look into submodules: a repository that an agent made there would run its programs.
    """
    for folder in (agent_git, shadow):
        fresh = folder.with_name(f"{folder.name}~index")
        shutil.copy2(paths.admin / "index", fresh)
        if folder == shadow:
            _skip_submodules(fresh)
            shutil.copystat(paths.admin / "index", fresh)
        fresh.replace(folder / "index")


def _skip_submodules(index: Path) -> None:
    entries = read_index(index).entries
    if submodules := {name for name, entry in entries.items() if entry.mode == SUBMODULE}:
        write_index(index, entries, skipped=submodules)


def rename_branch(paths: BranchPaths, refs: Mapping[str, str]) -> None:
    """Changes HEAD and refs and keeps everything else."""
    for folder in (paths.agent_git, paths.shadow):
        _write_refs(folder, paths.branch, refs)


def is_untouched(paths: BranchPaths, refs: Mapping[str, str]) -> bool:
    """No commits were made in it and its branch is unchanged."""
    both = (paths.agent_git, paths.shadow)  # without a sandbox, setup has used the second
    names = [one / folder / "refs" / "heads" for one in both for folder in (".", "logs")]
    texts = (("HEAD", _head(paths.branch)), ("packed-refs", _packed_refs(refs)))
    is_same = all(_has_text(one / name, text) for one in both for name, text in texts)
    return is_same and not any(map(os.path.lexists, names))


def shadow_refs(branch: str, onto: str, refs: Mapping[str, str]) -> dict[str, str]:
    """Refs for the agent's git: its branch, its base branch and the remote's branches."""
    local = {f"refs/heads/{onto}": refs[f"{ORIGIN}{onto}"]} if f"{ORIGIN}{onto}" in refs else {}
    remote = {name: sha for name, sha in refs.items() if name.startswith(ORIGIN)}
    return {**remote, **local, f"refs/heads/{branch}": refs[f"refs/heads/{branch}"]}


def point_to_shadow(paths: BranchPaths, trash: Trash) -> None:
    """Restores `.git` in the worktree as the pointer to the shadow."""
    pointer, text = paths.folder / ".git", f"gitdir: {paths.shadow}\n"
    if _has_text(pointer, text):
        return
    if os.path.lexists(pointer) and stat.S_ISDIR(pointer.lstat().st_mode):
        trash.throw(pointer)
    fresh = paths.shadow.with_name(f"{paths.shadow.name}~pointer")
    fresh.write_text(text)
    fresh.replace(pointer)


def _has_text(path: Path, text: str) -> bool:
    """False also for a link or a file that would block."""
    try:
        return read_file(path, limit=len(text))[0] == text.encode()
    except OSError:
        return False


def _head(branch: str) -> str:
    return f"ref: refs/heads/{branch}\n"


def _packed_refs(refs: Mapping[str, str]) -> str:
    header = "# pack-refs with: peeled fully-peeled sorted \n"
    return header + "".join(f"{refs[name]} {name}\n" for name in sorted(refs))
