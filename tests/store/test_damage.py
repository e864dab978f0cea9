"""A damaged database is set aside, never removed or used. Real SQLite."""

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain.run import Run
from bot.errors import CannotStart, Damaged, MustRestart
from bot.services.github.cache import open_cache, open_or_replace_cache
from bot.services.local.database import LocalDatabase
from bot.store.runs import RunStore
from bot.system.database import list_damaged_copies

RUN = Run("shop#1", "shop", begun_at=5.0, changed_at=6.0)
AT = 1_000_000_000.0
PAGE = 4096


def lose_half(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def lose_nearly_all(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def scribble(path: Path) -> None:
    path.write_bytes(b"not a database at all" * 1000)


def flip(number: int) -> Callable[[Path], None]:
    def flipped(path: Path) -> None:
        whole = bytearray(path.read_bytes())
        whole[(number - 1) * PAGE : number * PAGE] = bytes(
            255 - byte for byte in whole[(number - 1) * PAGE : number * PAGE]
        )
        path.write_bytes(whole)

    return flipped


def empty(path: Path) -> None:
    path.write_bytes(b"")
    path.with_name(f"{path.name}-wal").write_bytes(b"changes that are not in it yet")


def say_nonsense(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("UPDATE runs SET phase = 'dreaming'")
    db.commit()
    db.close()


def garble(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("UPDATE runs SET reason = CAST(x'ff' AS TEXT)")
    db.commit()
    db.close()


DAMAGES = [lose_half, lose_nearly_all, scribble, flip(1), flip(2), flip(5), empty]
NAMES = ["half of it", "nearly all of it", "something else", "page 1", "page 2", "page 5", "emptied"]


@pytest.fixture
def path(tmp_path) -> Path:
    store = RunStore.open(tmp_path / "treehand.db")
    for number in range(50):
        store.save(replace(RUN, key=f"shop#{number}"), at=7.0, notes=["x" * 1000])
    store.close()
    return tmp_path / "treehand.db"


@pytest.mark.parametrize("damage", DAMAGES, ids=NAMES)
def test_a_reader_reports_a_damaged_database_and_changes_nothing(path, damage):
    damage(path)
    before = path.read_bytes()
    with pytest.raises(Damaged, match=r"is damaged .*`treehand run` sets it aside"):
        RunStore.open(path)
    assert path.read_bytes() == before
    assert list_damaged_copies(path) == []


@pytest.mark.parametrize("damage", [*DAMAGES, say_nonsense, garble], ids=[*NAMES, "no such phase", "no text"])
def test_the_daemon_sets_a_damaged_database_aside_and_creates_a_new_one(path, damage, caplog):
    damage(path)
    changes = path.with_name("treehand.db-wal")
    before, beside = path.read_bytes(), changes.read_bytes() if changes.exists() else None
    store = RunStore.open_as_owner(path, str, at=AT)
    store.save(RUN, at=8.0)
    assert store.active() == [RUN]
    store.close()
    (aside,) = list_damaged_copies(path)
    assert (aside.name, aside.read_bytes()) == ("treehand.db.damaged-20010909T014640Z", before)
    if beside is not None:
        assert aside.with_name(f"{aside.name}-wal").read_bytes() == beside
    assert "is damaged" in caplog.text
    assert f"set aside path={aside}" in caplog.text


def test_an_intact_database_without_its_last_changes_is_not_set_aside(path):
    store, other = RunStore.open(path), RunStore.open(path)
    store.save(replace(RUN, key="shop#99"), at=9.0)
    whole = path.read_bytes()
    store.close()
    other.close()
    path.write_bytes(whole)
    again = RunStore.open_as_owner(path, str, at=AT)
    assert len(again.active()) == 50
    again.close()
    assert list_damaged_copies(path) == []


def test_a_database_of_a_newer_version_is_refused_and_kept(path):
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(CannotStart, match="newer version"):
        RunStore.open_as_owner(path, str, at=AT)
    assert list_damaged_copies(path) == []


def test_damage_found_during_work_ends_the_process(path):
    store = RunStore.open(path)
    flip(store._db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'journal'").fetchone()[0])(path)
    store._db.execute("PRAGMA shrink_memory")
    with pytest.raises(MustRestart, match="The database of runs is damaged"):
        store.save(RUN, at=9.0, notes=["one more"])
    store.close()


def test_a_damaged_github_cache_is_replaced(tmp_path):
    open_cache(tmp_path / "github.db").close()
    scribble(tmp_path / "github.db")
    with pytest.raises(Damaged, match="no data in it is needed"):
        open_cache(tmp_path / "github.db")
    open_or_replace_cache(tmp_path / "github.db", at=AT).close()
    assert len(list_damaged_copies(tmp_path / "github.db")) == 1


@pytest.mark.parametrize("damage", [scribble, lose_half, empty], ids=["something else", "half of it", "emptied"])
def test_a_damaged_tracker_database_is_refused_with_the_way_to_recover_it(tmp_path, damage):
    LocalDatabase(tmp_path / "desk.sqlite", lambda: 1.0).close()
    damage(tmp_path / "desk.sqlite")
    with pytest.raises(CannotStart, match=r"\.recover"):
        LocalDatabase(tmp_path / "desk.sqlite", lambda: 1.0)
    assert list_damaged_copies(tmp_path / "desk.sqlite") == []


def test_a_database_that_its_disk_refuses_is_reported_with_what_to_do(tmp_path):
    path = tmp_path / "treehand.db"
    RunStore.open(path).close()
    Path(f"{path}-wal").mkdir()
    with pytest.raises(CannotStart, match=r"cannot be used: .*Check its disk: it needs free space"):
        RunStore.open(path)
