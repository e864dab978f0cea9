"""The throw-away git directory that an agent's own git works in: it can do anything there, and none of it reaches us.

Rule: built anew, never repaired; git is never run on one. It borrows the mirror's objects and copies what it needs.
"""

import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from bot.system.trash import Trash
from bot.workspace.capture import read_file
from bot.workspace.mirror import RAW
from bot.workspace.paths import ORIGIN, Place

_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
[user]
\tname = Treehand
\temail = treehand@localhost
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""


def build_shadow(place: Place, trash: Trash, *, mirror: Path, refs: Mapping[str, str], ignored: Sequence[str]) -> None:
    """In place of the one there was, and with it all that was stashed or committed there."""
    new = place.shadow.with_name(f"{place.shadow.name}~new")
    trash.throw(new)
    for folder in ("objects/info", "refs", "hooks", "info"):
        (new / folder).mkdir(parents=True)
    (new / "HEAD").write_text(_head(place.branch))
    (new / "config").write_text(_CONFIG)
    (new / "packed-refs").write_text(_packed(refs))
    (new / "objects" / "info" / "alternates").write_text(f"{mirror / 'objects'}\n")
    (new / "info" / "exclude").write_text("".join(f"{pattern}\n" for pattern in ignored))
    (new / "info" / "attributes").write_text(RAW)
    # with its time: git tells by it which files may have changed unnoticed
    shutil.copy2(place.admin / "index", new / "index")
    trash.throw(place.shadow)
    new.rename(place.shadow)


def disarm(place: Place, trash: Trash) -> None:
    """What its git was told to run is forgotten between turns: the program that an agent runs in uses git as well."""
    for name in ("config", "config.worktree", "hooks"):
        trash.throw(place.shadow / name)
    fresh = place.shadow.with_name(f"{place.shadow.name}~config")
    fresh.write_text(_CONFIG)
    fresh.replace(place.shadow / "config")


def rename_branch(place: Place, refs: Mapping[str, str]) -> None:
    """What else was done in it stays: only the name of the branch, and what it knows of others, is new."""
    for name, text in (("HEAD", _head(place.branch)), ("packed-refs", _packed(refs))):
        fresh = place.shadow.with_name(f"{place.shadow.name}~{name}")
        fresh.write_text(text)
        fresh.replace(place.shadow / name)


def is_as_built(place: Place, refs: Mapping[str, str]) -> bool:
    """Nobody has committed in it, or has gone to another branch."""
    names = [place.shadow / folder / "refs" / "heads" for folder in (".", "logs")]
    texts = (("HEAD", _head(place.branch)), ("packed-refs", _packed(refs)))
    return all(_reads(place.shadow / name, text) for name, text in texts) and not any(map(os.path.lexists, names))


def refs_for(branch: str, onto: str, refs: Mapping[str, str]) -> dict[str, str]:
    """What the agent's git knows: its own branch, the one it started from, and everything the remote has."""
    local = {f"refs/heads/{onto}": refs[f"{ORIGIN}{onto}"]} if f"{ORIGIN}{onto}" in refs else {}
    remote = {name: sha for name, sha in refs.items() if name.startswith(ORIGIN)}
    return {**remote, **local, f"refs/heads/{branch}": refs[f"refs/heads/{branch}"]}


def point_to_shadow(place: Place, trash: Trash) -> None:
    """Make `.git` in the worktree our pointer again, whatever has become of it."""
    pointer, text = place.folder / ".git", f"gitdir: {place.shadow}\n"
    if _reads(pointer, text):
        return
    if os.path.lexists(pointer) and stat.S_ISDIR(pointer.lstat().st_mode):
        trash.throw(pointer)
    fresh = place.shadow.with_name(f"{place.shadow.name}~pointer")
    fresh.write_text(text)
    fresh.replace(pointer)


def _reads(path: Path, text: str) -> bool:
    """Also false when it is a link, or something that would block."""
    try:
        return read_file(path, limit=len(text))[0] == text.encode()
    except OSError:
        return False


def _head(branch: str) -> str:
    return f"ref: refs/heads/{branch}\n"


def _packed(refs: Mapping[str, str]) -> str:
    header = "# pack-refs with: peeled fully-peeled sorted \n"
    return header + "".join(f"{refs[name]} {name}\n" for name in sorted(refs))
