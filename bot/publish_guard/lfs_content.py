"""Content of files under Git LFS: reads the object in the place of its pointer, and finds what may not become one.

Rule: what is judged is what people get. A pointer whose object is not here is judged as the text that it is.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from bot.git.blobs import blob_contents, blob_sizes
from bot.git.commit_files import index_of_commit
from bot.git.index import IndexEntry
from bot.git.lfs import ATTRIBUTES, LfsRules, Pointer, lfs_objects, lfs_rules, parse_pointer, pointers_by_blob
from bot.publish_guard.tree_diff import TreeDifference

HIDDEN = "this change moves the file to Git LFS, so GitHub does not show the difference"
_NO_OBJECT = "a Git LFS pointer whose object does not exist: write the file itself, not a pointer"
_NO_UPLOAD = (
    "under Git LFS, and Treehand cannot upload its object: install git-lfs on the machine where Treehand runs, then "
    "comment to retry"
)
_SNIFFED_BYTES = 8_000


def read_contents(repository: Path, shas: Collection[str]) -> Mapping[str, bytes]:
    """Content of blobs by object id, as people get it."""
    objects, found = lfs_objects(repository), dict(blob_contents(repository, shas))
    for sha, content in found.items():
        if (pointer := parse_pointer(content)) and (place := objects.find(pointer)):
            found[sha] = place.read_bytes()
    return found


def content_sizes(repository: Path, shas: Collection[str]) -> Mapping[str, int]:
    """Sizes of blobs by object id, as people get them."""
    sizes, objects = dict(blob_sizes(repository, shas)), lfs_objects(repository)
    for sha, pointer in pointers_by_blob(repository, shas).items() if objects.exist else ():
        if objects.find(pointer):
            sizes[sha] = pointer.size
    return sizes


def find_lfs_faults(
    repository: Path, differences: Sequence[TreeDifference], known: Sequence[str], *, can_upload: bool
) -> Iterator[tuple[TreeDifference, str]]:
    """Yields new pointers that would name an object nobody has, each with the reason."""
    pointers, objects = _new_pointers(repository, differences), lfs_objects(repository)
    public = (
        {entry.sha.hex() for one in dict.fromkeys(known) for entry in _entries(repository, one)} if pointers else ()
    )
    for one, pointer in pointers:
        if one.now and one.now.sha in public:
            continue
        if not objects.find(pointer):
            yield one, _NO_OBJECT
        elif not can_upload:
            yield one, _NO_UPLOAD


def find_moved_to_lfs(
    repository: Path, differences: Sequence[TreeDifference], entries: Mapping[bytes, IndexEntry]
) -> Iterator[TreeDifference]:
    """Yields changed texts that only this change's own attributes put under Git LFS, where no reviewer reads them."""
    if not any(_is_attributes(one.path) for one in differences):
        return
    rules = _rules_before(repository, differences, entries)
    objects = lfs_objects(repository)
    for one, pointer in _new_pointers(repository, differences):
        place = objects.find(pointer)
        if place and not rules.covers(tuple(one.path.split(b"/"))) and _is_text(place):
            yield one


def _new_pointers(repository: Path, differences: Sequence[TreeDifference]) -> list[tuple[TreeDifference, Pointer]]:
    files = [(one, one.now.sha) for one in differences if one.now and one.is_file]
    found = pointers_by_blob(repository, (sha for _, sha in files))
    return [(one, found[sha]) for one, sha in files if sha in found]


def _rules_before(
    repository: Path, differences: Sequence[TreeDifference], entries: Mapping[bytes, IndexEntry]
) -> LfsRules:
    blobs = {path: entry.sha.hex() for path, entry in entries.items() if _is_attributes(path)}
    changed = [one for one in differences if _is_attributes(one.path)]
    earlier = {one.path: item.sha for one in changed for item in one.before[:1]}
    kept = blobs.keys() - {one.path for one in changed}
    return lfs_rules(repository, {path: blobs[path] for path in kept} | earlier)


def _is_text(file: Path) -> bool:
    with file.open("rb") as opened:
        return b"\0" not in opened.read(_SNIFFED_BYTES)


def _is_attributes(path: bytes) -> bool:
    return path.rpartition(b"/")[2] == ATTRIBUTES


def _entries(repository: Path, tree: str) -> Collection[IndexEntry]:
    return index_of_commit(repository, tree).entries.values()
