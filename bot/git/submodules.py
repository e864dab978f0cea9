"""Submodules of a commit: their paths, commits and URLs, and where their objects may be.

https://git-scm.com/docs/gitmodules
"""

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.git.command import GitFailed, git_bytes
from bot.git.index import SUBMODULE, IndexEntry
from bot.git.remote_url import parse_remote_url

GITMODULES = ".gitmodules"


@dataclass(frozen=True, slots=True)
class Submodule:
    path: bytes
    commit: str
    name: str = ""
    """Empty if `.gitmodules` does not list it."""
    url: str = ""


def submodules_of(repository: Path, tree: str, entries: Mapping[bytes, IndexEntry]) -> tuple[Submodule, ...]:
    """Submodules of a commit or tree, whose entries these are."""
    found = {path: entry.sha.hex() for path, entry in entries.items() if entry.mode == SUBMODULE}
    listed = {one["path"]: one for one in _listed(repository, tree) if "path" in one} if found else {}
    known = {path: listed.get(path.decode(errors="surrogateescape"), {}) for path in found}
    return tuple(
        Submodule(path, commit, known[path].get("name", ""), known[path].get("url", ""))
        for path, commit in sorted(found.items())
    )


def _listed(repository: Path, tree: str) -> Iterator[dict[str, str]]:
    command = ("config", "--blob", f"{tree}:{GITMODULES}", "-z", "--get-regexp", r"^submodule\..*\.(path|url)$")
    try:
        lines = git_bytes(repository, *command).decode(errors="surrogateescape").split("\0")[:-1]
    except GitFailed:  # there is no such file, or it cannot be read
        return
    modules: dict[str, dict[str, str]] = {}
    for line in lines:
        key, _, value = line.partition("\n")
        name, _, what = key.removeprefix("submodule.").rpartition(".")
        modules.setdefault(name, {"name": name})[what] = value
    yield from modules.values()


def git_dir_within(modules: Path, name: str) -> Path | None:
    """Returns where git keeps a checked out submodule of a repository; None if it has none, or the name leads out."""
    parts = name.split("/")
    if not name or {"", ".", ".."} & {*parts}:
        return None
    place = modules.joinpath(*parts)
    return place if (place / "HEAD").is_file() else None


def url_on_same_host(url: str, parent: str) -> str:
    """Returns the https address of a submodule on the host of its repository; empty if it is elsewhere."""
    above = parse_remote_url(parent)
    if above is None or not parent.startswith("https://"):
        return ""
    if url.startswith(("./", "../")):
        path = posixpath.normpath(posixpath.join("/", above.path, url)).strip("/")
        return f"{above.site}/{path.removesuffix('.git')}.git" if path else ""
    found = parse_remote_url(url)
    return f"{above.site}/{found.path}.git" if found and found.host == above.host else ""
