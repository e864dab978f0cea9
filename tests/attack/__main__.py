"""`make attack`: runs every test that is marked as an attack, then GitHub's own parser on 100,000 hostile texts.

`python tests/attack [PATH...]`: only the tests there. The exit code is 1 if an attack succeeded.
"""

import os
import random
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.text.github_markdown import breaches_of  # noqa: E402 - found from here only
from tests.text.hostile_markdown import hostile_text  # noqa: E402 - as above

_TEXTS, _PARTS = 100_000, 20


def main(*paths: str) -> None:
    os.chdir(ROOT)
    chosen = paths or ("tests", "--ignore", "tests/live", "--ignore", "tests/container")
    code = pytest.main(["-m", "attack", "-n", "auto", "--dist", "worksteal", "-p", "tests.attack.table", *chosen])
    live = _live()
    for what, count in live.most_common():
        print(f"live: {what}: {count} texts")
    print(f"T18: GitHub's own parser rendered {_TEXTS:,} hostile texts: {live.total()} live elements")
    sys.exit(1 if code or live else 0)


def _live() -> Counter[str]:
    with ProcessPoolExecutor() as pool:
        return sum(pool.map(_live_in_part, range(_PARTS)), Counter())


def _live_in_part(seed: int) -> Counter[str]:
    chance = random.Random(f"attack {seed}")
    return Counter(what for _ in range(_TEXTS // _PARTS) for what in breaches_of(hostile_text(chance)))


if __name__ == "__main__":
    main(*sys.argv[1:])
