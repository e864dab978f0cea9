"""Duration from a fresh clone to the end of `make test`: `python tests/benchmarks beginning_tests`. Many minutes."""

from pathlib import Path

from beginning import measured
from figures import Figure


async def measure(folder: Path) -> list[Figure]:
    return measured(folder, "test")
