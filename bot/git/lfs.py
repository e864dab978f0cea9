"""Git LFS without its program: pointers, the files that are under it, and the objects beside a repository.

https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md
"""

import contextlib
import hashlib
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

from bot.git.blobs import blob_contents, blob_sizes
from bot.git.command import git_bytes
from bot.git.gitattributes import MAX_ATTRIBUTES_BYTES, parse_attributes, split_attributes
from bot.git.gitignore import MAX_RULES, IgnoreLayer, PathParts, TooManyRules, is_ignored
from bot.git.index import FILE, PROGRAM, IndexEntry

ATTRIBUTES = b".gitattributes"
MAX_POINTER_BYTES = 200
_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\noid sha256:([0-9a-f]{64})\nsize ([1-9][0-9]{0,14})\n"
)
"""Exactly what git-lfs writes, so that nothing hides in a pointer. It makes none of an empty file."""
_CHUNK = 1 << 20


class Pointer(NamedTuple):
    """Text that git stores in the place of a file."""

    oid: str
    size: int

    @property
    def content(self) -> bytes:
        return b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n" % (self.oid.encode(), self.size)


def parse_pointer(content: bytes) -> Pointer | None:
    """Returns None for everything but a pointer as git-lfs writes it."""
    found = _POINTER.fullmatch(content) if len(content) <= MAX_POINTER_BYTES else None
    return Pointer(found[1].decode(), int(found[2])) if found else None


def pointer_to(content: bytes) -> Pointer:
    return Pointer(hashlib.sha256(content).hexdigest(), len(content))


@dataclass(frozen=True, slots=True)
class LfsObjects:
    """Objects beside a repository, and beside those that it borrows objects from."""

    folders: tuple[Path, ...]
    """New ones go into the first."""

    @property
    def exist(self) -> bool:
        return any(folder.is_dir() for folder in self.folders)

    def own(self) -> Iterator[Path]:
        """Files of the objects in the first folder."""
        return self.folders[0].glob("[0-9a-f][0-9a-f]/[0-9a-f][0-9a-f]/*")

    def find(self, pointer: Pointer) -> Path | None:
        """Returns an object's file; its content is not checked."""
        for folder in self.folders:
            path = _object_path(folder, pointer.oid)
            with contextlib.suppress(OSError):
                if path.stat().st_size == pointer.size:
                    return path
        return None

    def add(self, content: bytes) -> None:
        path = _object_path(self.folders[0], pointer_to(content).oid)
        if not path.exists():
            with _written_at_once(path) as fresh:
                fresh.write_bytes(content)

    def take(self, pointer: Pointer, source: Path) -> None:
        """Copies an object from elsewhere, unless it is damaged there."""
        path = _object_path(self.folders[0], pointer.oid)
        if path.exists():
            return
        with _written_at_once(path) as fresh:
            shutil.copyfile(source, fresh)
            with fresh.open("rb") as copied:
                if digest(copied) != pointer.oid:
                    raise OSError(f"{source} is damaged")


def digest(file: BinaryIO) -> str:
    """Returns the object id of a file's content."""
    found = hashlib.sha256()
    while piece := file.read(_CHUNK):
        found.update(piece)
    return found.hexdigest()


def lfs_objects(repository: Path, *more: Path) -> LfsObjects:
    """Objects of a git directory, as git-lfs stores them; `more`: further folders of objects."""
    alternates = repository / "objects" / "info" / "alternates"
    with contextlib.suppress(OSError):
        more = (*(Path(line).parent / "lfs" / "objects" for line in alternates.read_text().splitlines()), *more)
    return LfsObjects((repository / "lfs" / "objects", *more))


def _object_path(folder: Path, oid: str) -> Path:
    return folder / oid[:2] / oid[2:4] / oid


@contextlib.contextmanager
def _written_at_once(path: Path) -> Iterator[Path]:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.new")
    try:
        yield fresh
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


class LfsRules:
    """Rules that say which files are under Git LFS. Files of a folder are added before those below it."""

    def __init__(self) -> None:
        self._layers: dict[PathParts, IgnoreLayer] = {}
        self._macros: frozenset[bytes] = frozenset()
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._layers)

    def add(self, folder: PathParts, content: bytes) -> None:
        """Raises TooManyRules if they cannot be followed."""
        if not folder:
            self._macros = frozenset(_macros(content))
        if b"filter" not in content and not any(name in content for name in self._macros):
            return
        if len(content) > MAX_ATTRIBUTES_BYTES:
            raise TooManyRules(f"it has more than {MAX_ATTRIBUTES_BYTES // 1024} KB; shorten it")
        rules = parse_attributes(content, self._says, most=MAX_RULES - self._count)
        self._count += len(rules.rules)
        if rules.rules:
            self._layers[folder] = IgnoreLayer(len(folder), rules)

    def covers(self, path: PathParts) -> bool:
        near = (path[:depth] for depth in range(len(path)))
        layers = [self._layers[folder] for folder in near if folder in self._layers]
        return bool(layers) and is_ignored(path, layers, is_folder=False)

    def _says(self, attribute: bytes) -> bool | None:
        name, _, value = attribute.lstrip(b"-!").partition(b"=")
        if name in self._macros and attribute == name:
            return True
        return value == b"lfs" if name == b"filter" else None


def _macros(content: bytes) -> Iterator[bytes]:
    for line in content.split(b"\n"):
        pattern, attributes = split_attributes(line)
        if pattern.startswith(b"[attr]") and b"filter=lfs" in attributes:
            yield pattern.removeprefix(b"[attr]")


def lfs_rules(repository: Path, blobs: Mapping[bytes, str]) -> LfsRules:
    """The rules of a commit. `blobs`: object ids of its files by path. Files that cannot be followed count as empty."""
    found = {path: sha for path, sha in blobs.items() if path.rpartition(b"/")[2] == ATTRIBUTES}
    read, rules = blob_contents(repository, set(found.values())) if found else {}, LfsRules()
    for path in sorted(found, key=lambda path: path.count(b"/")):
        with contextlib.suppress(TooManyRules):
            rules.add(tuple(path.split(b"/")[:-1]), read[found[path]])
    return rules


def pointers_of(repository: Path, entries: Mapping[bytes, IndexEntry]) -> Iterator[tuple[bytes, Pointer]]:
    """Files of a commit that are under Git LFS, with their pointers."""
    files = {path: entry.sha.hex() for path, entry in entries.items() if entry.mode in {FILE, PROGRAM}}
    rules = lfs_rules(repository, files)
    covered = {path: sha for path, sha in files.items() if rules.covers(tuple(path.split(b"/")))} if rules else {}
    found = pointers_by_blob(repository, covered.values())
    yield from ((path, found[sha]) for path, sha in covered.items() if sha in found)


def pointers_in(repository: Path, *revisions: str) -> frozenset[Pointer]:
    """Pointers that commits hold, wherever they are."""
    listing = git_bytes(repository, "rev-list", "--objects", "--no-object-names", *revisions).decode().split()
    form, names = "--batch-check=%(objectname) %(objecttype)", "".join(f"{one}\n" for one in listing).encode()
    kinds = git_bytes(repository, "cat-file", form, stdin=names).decode().splitlines()
    blobs = [line.partition(" ")[0] for line in kinds if line.endswith(" blob")]
    return frozenset(pointers_by_blob(repository, blobs).values())


def pointers_by_blob(repository: Path, blobs: Iterable[str]) -> Mapping[str, Pointer]:
    """Pointers among these blobs, by object id."""
    sizes = blob_sizes(repository, set(blobs))
    small = blob_contents(repository, {sha for sha, size in sizes.items() if size <= MAX_POINTER_BYTES})
    return {sha: pointer for sha, content in small.items() if (pointer := parse_pointer(content))}


def copy_objects(repository: Path, source: LfsObjects, target: LfsObjects, *revisions: str) -> None:
    """Copies the objects that these commits name, as far as they are there."""
    for pointer in pointers_in(repository, *revisions) if source.exist else ():
        if place := source.find(pointer):
            target.take(pointer, place)
