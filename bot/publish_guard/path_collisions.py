"""Path collisions: new names that some file system cannot store or cannot tell apart from another. Pure."""

from collections import defaultdict
from collections.abc import Collection, Iterator

from bot.publish_guard.path_rules import canonical, find_fault


def decode_path(path: bytes) -> str:
    return path.decode(errors="surrogateescape")


def find_bad_names(new: Collection[bytes], everything: Collection[bytes]) -> Iterator[tuple[bytes, str]]:
    """Yields new paths with a fault and the reason. `everything`: all paths of the tree, including the new ones."""
    if not new:
        return
    spellings = _spellings(everything)
    standing = {folder for path in set(everything) - set(new) for folder in path_and_parents(path)}
    for path in new:
        why = next(filter(None, map(find_fault, decode_path(path).split("/"))), "")
        if why := why or _find_collision(path, spellings, standing):
            yield path, why


def _find_collision(path: bytes, spellings: dict[str, set[bytes]], standing: Collection[bytes]) -> str:
    for folder in path_and_parents(path):
        others = spellings[canonical(decode_path(folder))] - {folder}
        if others and folder not in standing:
            return f"some file systems confuse it with {decode_path(min(others))!a}"
    return ""


def _spellings(everything: Collection[bytes]) -> dict[str, set[bytes]]:
    found = defaultdict[str, set[bytes]](set)
    for folder in {folder for path in everything for folder in path_and_parents(path)}:
        found[canonical(decode_path(folder))].add(folder)
    return found


def path_and_parents(path: bytes) -> Iterator[bytes]:
    """The path and all its parent folders."""
    at = path.find(b"/")
    while at >= 0:
        yield path[:at]
        at = path.find(b"/", at + 1)
    yield path
