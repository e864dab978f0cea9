"""Fixture: the state directory of a daemon of commit 1d72241, packed so that it unpacks in any folder at any time.

An archive holds the state directory with its databases as SQL. Unpacking rewrites paths to the new folder, moves times
to now, and leaves signed text unchanged.
"""

import dataclasses
import json
import re
import sqlite3
import tarfile
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.fakes.github import model
from tests.fakes.github.repository_actions import GitHubWorld

FOLDER = Path(__file__).parent / "fixture"
WORLD = FOLDER / "github.json"
SHOP, BOT = "acme/shop", "treehand-bot"
TOKEN = "ghp_" + "0" * 36
HOOK = ("127.116.104.1", 18731)
"""An address nothing else uses: a channel is known by its whole address."""

_NOT_PACKED = {"program.json", "treehand.log", "daemon.lock", "treehand.lock", "cells", "trash", "hooks"}
_DATABASES = {".db", ".sqlite"}
_TIME = re.compile(r"(?<![\w.])1[789]\d{8}(?:\.\d+)?(?![\w])")
_ISO = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")
_LONG_FLOAT = re.compile(r"\b\d\.\d{15,}e[+-]\d\d\b")
_RANGE_SECONDS = 2 * 86400.0


@dataclasses.dataclass(frozen=True)
class Unpacked:
    """An unpacked archive."""

    root: Path
    made_at: float
    shift: float
    """Seconds that all times were moved by."""
    printed: dict[str, Any]
    """Output of the old version: `status`, `show` by key, and `cost`."""

    @property
    def repository(self) -> Path:
        return self.root / "shop"

    @property
    def state_dir(self) -> Path:
        return self.root / "state"


def pack(name: str, root: Path, printed: dict[str, object]) -> int:
    """Packs the archive. Returns its size in bytes."""
    for database in (path for path in _files(root / "state") if path.suffix in _DATABASES):
        with closing(sqlite3.connect(database)) as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            lines = _LONG_FLOAT.sub(lambda found: repr(float(found[0])), "\n".join(db.iterdump()))
        database.with_name(f"{database.name}.sql").write_text(f"{lines}\nPRAGMA user_version = {version};\n")
    (root / "printed.json").write_text(json.dumps(printed, indent=1))
    (root / "made.json").write_text(json.dumps({"root": str(root), "at": time.time()}))
    FOLDER.mkdir(exist_ok=True)
    archive = FOLDER / f"{name}.tar.xz"
    with tarfile.open(archive, "w:xz", preset=9) as packed:
        packed.add(root, arcname=".", filter=_packed)
    return archive.stat().st_size


def _packed(item: tarfile.TarInfo) -> tarfile.TarInfo | None:
    path = Path(item.name)
    unwanted = (
        path.name in _NOT_PACKED
        or _DATABASES & set(path.suffixes[-1:])
        or item.ischr()
        or item.isblk()
        or item.isfifo()
    )
    return None if unwanted else item.replace(uid=0, gid=0, uname="", gname="", deep=False)


def unpack(name: str, root: Path) -> Unpacked:
    """Unpacks into an empty folder, with all databases; paths become that folder's, and times are moved to now."""
    with tarfile.open(FOLDER / f"{name}.tar.xz") as packed:
        # Python has the filter since 3.11.4
        packed.extractall(root, **({"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}))
    made = json.loads((root / "made.json").read_text())
    shift = time.time() - made["at"]
    for path in _files(root):
        if path.name == "made.json" or b"\0" in (content := path.read_bytes()):
            continue
        text = content.decode(errors="surrogateescape").replace(made["root"], str(root))
        text = text.replace(made["root"].replace("/", "-"), str(root).replace("/", "-"))
        if path.suffix in {".sql", ".json", ".jsonl"}:
            text = moved_times(text, made["at"], shift)
        if (moved := text.encode(errors="surrogateescape")) != content:  # objects of git are for root alone to write
            path.write_bytes(moved)
    _rename_sessions(root, made["root"])
    for dump in list((root / "state").rglob("*.sql")):
        with closing(sqlite3.connect(dump.with_suffix(""))) as db:
            db.executescript(dump.read_text())
        dump.unlink()
    return Unpacked(root, made["at"], shift, json.loads((root / "printed.json").read_text()))


def _rename_sessions(root: Path, before: str) -> None:
    """Renames the folders in which the agent's program keeps sessions: they are named after the worktree."""
    old, new = re.sub(r"[^A-Za-z0-9]", "-", before), re.sub(r"[^A-Za-z0-9]", "-", str(root))
    for folder in sorted(root.rglob(f"*{old}*"), key=lambda path: -len(path.parts)):
        folder.rename(folder.with_name(folder.name.replace(old, new)))


def moved_times(text: str, made_at: float, shift: float) -> str:
    """Moves every time near the making of the fixture by so many seconds."""

    def seconds(found: re.Match[str]) -> str:
        value = float(found[0])
        if abs(value - made_at) > _RANGE_SECONDS:
            return found[0]
        return str(round(value + shift, 6) if "." in found[0] else int(value + shift))

    def stamp(found: re.Match[str]) -> str:
        value = datetime.fromisoformat(found[0]).timestamp()
        if abs(value - made_at) > _RANGE_SECONDS:
            return found[0]
        later = datetime.fromtimestamp(value + shift, UTC)
        return later.strftime("%Y-%m-%dT%H:%M:%S") + ("+00:00" if found[0].endswith("+00:00") else "Z")

    return _ISO.sub(stamp, _TIME.sub(seconds, text))


def _files(root: Path) -> Iterator[Path]:
    return (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())


# GitHub's side: one record per object, so that its comments can be restored unchanged


def save_world(world: GitHubWorld) -> None:
    home = world.repository(SHOP)
    record = {
        "ids": world.new_id(),
        "users": [dataclasses.astuple(user) for user in world.users.values()],
        "path": home.path.name,
        "repository": _as_record(home),
    }
    WORLD.write_text(json.dumps(record, indent=1) + "\n")


def load_world(unpacked: Unpacked) -> GitHubWorld:
    """Restores all issues and comments unchanged; only their times are moved."""
    record = json.loads(WORLD.read_text())
    world = GitHubWorld(unpacked.root / "github")
    for number, login, kind in record["users"]:
        world.users[login.lower()] = model.User(number, login, kind)
    home = _Loader(world, unpacked).load(record["repository"])
    home.path = world.root / record["path"]
    world.repositories[SHOP] = home
    world.tokens[TOKEN] = model.Token(TOKEN, world.user(BOT))
    world._last_id = record["ids"]
    return world


def _as_record(value: Any) -> Any:
    match value:
        case model.User():
            return {"user": value.login}
        case Path():
            return None
        case dict():
            return {"items": [[_as_record(key), _as_record(one)] for key, one in value.items()]}
        case set():
            return {"set": sorted(value)}
        case tuple():
            return {"tuple": [_as_record(one) for one in value]}
        case list():
            return [_as_record(one) for one in value]
    if not dataclasses.is_dataclass(value):
        return value
    names = [one.name for one in dataclasses.fields(value)]
    return {"is": type(value).__name__, **{name: _as_record(getattr(value, name)) for name in names}}


@dataclasses.dataclass
class _Loader:
    world: GitHubWorld
    unpacked: Unpacked
    labels: dict[int, model.Label] = dataclasses.field(default_factory=dict)

    def load(self, value: Any) -> Any:
        match value:
            case {"is": name, **fields}:
                return self._thing(name, {key: self.load(one) for key, one in fields.items()})
            case {"user": login}:
                return self.world.user(login)
            case {"items": items}:
                return {self.load(key): self.load(one) for key, one in items}
            case {"set": items}:
                return set(items)
            case {"tuple": items}:
                return tuple(self.load(one) for one in items)
            case list():
                return [self.load(one) for one in value]
            case float() if abs(value - self.unpacked.made_at) < _RANGE_SECONDS:
                return value + self.unpacked.shift
        return value

    def _thing(self, name: str, fields: dict[str, Any]) -> Any:
        made = getattr(model, name)(**fields)
        return self.labels.setdefault(made.id, made) if isinstance(made, model.Label) else made
