"""F10: a state directory on a full disk, or on one without free inodes, at any write."""

import asyncio
import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.chaos import checker, compressed
from tests.chaos.chronicle import Storm
from tests.chaos.forked_machine import nurseries
from tests.chaos.storms import Scene

BLOCK = 4096
NOTICED = ("disk is full", "No space left", "database or disk is full")
SECONDS = 60


@pytest.fixture
def fast() -> Iterator[Path]:
    with TemporaryDirectory(prefix="treehand-full-", dir=compressed.fast_folder()) as name:
        yield Path(name)


@contextlib.contextmanager
def small_disk(place: Path, limit: str) -> Iterator[Path]:
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", limit, "none", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@contextlib.contextmanager
def no_room(disk: Path, left: int) -> Iterator[None]:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(BLOCK)) == BLOCK:
            pass
    with filler.open("r+b") as file:
        file.truncate(max(filler.stat().st_size // BLOCK - left, 0) * BLOCK)
    yield
    filler.unlink()


@contextlib.contextmanager
def no_more_files(disk: Path, left: int) -> Iterator[None]:
    fillers = disk / "fillers"
    fillers.mkdir()
    made = []
    with contextlib.suppress(OSError):
        while True:
            made.append(fillers / str(len(made)))
            made[-1].touch()
    for one in made[-left - 1 :]:
        one.unlink(missing_ok=True)
    yield
    for one in made:
        one.unlink(missing_ok=True)
    fillers.rmdir()


def lately(scene: Scene) -> str:
    return (scene.machine.folder / "daemon.log").read_text(errors="replace")[-3000:]


async def until_noticed(scene: Scene, people: "asyncio.Task[None]") -> bool:
    """Returns True if the daemon reported the full disk; the remaining space may have been enough."""
    log = scene.machine.folder / "daemon.log"
    begun = log.stat().st_size if log.exists() else 0
    for _ in range(SECONDS * 50):
        with contextlib.suppress(FileNotFoundError):
            said = log.read_text(errors="replace")[begun:]
            if any(words in said for words in NOTICED):
                return True
        if people.done():
            return False
        await asyncio.sleep(0.02)
    raise AssertionError("neither done nor noticed")


@pytest.mark.parametrize(
    ("limit", "fill", "room"), [("size=24m", no_room, (0,)), ("nr_inodes=3000", no_more_files, (8,))]
)
async def test_f10_the_daemon_waits_until_a_full_disk_has_space_at_any_write(fast, limit, fill, room):
    """`room`: the blocks, or files, that are left, so that it ends at another write each time."""
    noticed = 0
    with small_disk(fast / "small", limit) as disk:
        async with nurseries(1) as born, compressed.scene(fast / "scene", 7, Storm(), born) as scene:
            scene.machine.state_dir.symlink_to(disk)
            await scene.machine.start()
            scene.people.ask(1)
            await asyncio.wait_for(scene.people.until_content(), SECONDS)
            for left in room:
                async with asyncio.TaskGroup() as group, asyncio.timeout(SECONDS):
                    with fill(disk, left):
                        scene.people.ask(1)
                        people = group.create_task(scene.people.until_content())
                        noticed += await until_noticed(scene, people)
                        assert scene.machine.alive, lately(scene)
                        assert people.done() or not scene.people.content
    verdict = checker.judged(fast / "scene" / "history.jsonl")
    assert list(verdict.broken) == [], verdict
    assert noticed
