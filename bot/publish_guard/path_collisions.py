"""Names in a tree that some file system cannot hold, or cannot tell apart from others. Pure."""

from collections import defaultdict
from collections.abc import Collection, Iterator

from bot.publish_guard.path_rules import canonical, find_fault


def text_of(path: bytes) -> str:
    return path.decode(errors="surrogateescape")


def faults(new: Collection[bytes], everything: Collection[bytes]) -> Iterator[tuple[bytes, str]]:
    """The new paths that something speaks against, and what. `everything`: what the tree holds, they included."""
    if not new:
        return
    spellings = _spellings(everything)
    standing = {folder for path in set(everything) - set(new) for folder in with_folders(path)}
    for path in new:
        why = next(filter(None, map(find_fault, text_of(path).split("/"))), "")
        if why := why or _twin(path, spellings, standing):
            yield path, why


def _twin(path: bytes, spellings: dict[str, set[bytes]], standing: Collection[bytes]) -> str:
    for folder in with_folders(path):
        others = spellings[canonical(text_of(folder))] - {folder}
        if others and folder not in standing:
            return f"some file systems take it for {text_of(min(others))!a}"
    return ""


def _spellings(everything: Collection[bytes]) -> dict[str, set[bytes]]:
    found = defaultdict[str, set[bytes]](set)
    for folder in {folder for path in everything for folder in with_folders(path)}:
        found[canonical(text_of(folder))].add(folder)
    return found


def with_folders(path: bytes) -> Iterator[bytes]:
    """The path, and every folder it lies in."""
    at = path.find(b"/")
    while at >= 0:
        yield path[:at]
        at = path.find(b"/", at + 1)
    yield path
