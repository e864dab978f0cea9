"""Damages the state directory between two starts: deletes, truncates or corrupts databases."""

from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.chaos.machine import Machine

Damage = Callable[[Machine], None]
_HEADER = 100
"""Bytes at the beginning that say what a file is."""


def now_and_then(damage: Damage, random: Random, share: float) -> Damage:
    def between(machine: Machine) -> None:
        if random.random() < share:
            damage(machine)

    return between


def spoiling(random: Random) -> Damage:
    """Damages something else each time."""

    def spoil(machine: Machine) -> None:
        kind = random.choice((_cut_off, _flip, _lose_the_log, _fill))
        for file in sorted(machine.state_dir.glob("*.db")):
            if file.stat().st_size > _HEADER and random.random() < 0.7:
                kind(file, random)
        machine.history.note("spoiled", machine=machine.folder.name, how=kind.__name__.strip("_"))

    return spoil


def _cut_off(file: Path, random: Random) -> None:
    with file.open("r+b") as opened:
        opened.truncate(random.randrange(file.stat().st_size))


def _flip(file: Path, random: Random) -> None:
    """Flips bytes in the middle of a page."""
    with file.open("r+b") as opened:
        opened.seek(random.randrange(_HEADER, file.stat().st_size))
        opened.write(random.randbytes(64))


def _lose_the_log(file: Path, random: Random) -> None:
    """Deletes the write-ahead log: writes that are only there are lost."""
    for name in ("-wal", "-shm"):
        file.with_name(f"{file.name}{name}").unlink(missing_ok=True)


def _fill(file: Path, random: Random) -> None:
    file.write_bytes(b"\0" * file.stat().st_size)
