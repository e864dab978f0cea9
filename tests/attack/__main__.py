"""`make attack`: runs every test that is marked as an attack, then has 100,000 hostile texts read as each reader would.

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

from tests.text.chat_and_mail import breaches_in_chat_and_mail  # noqa: E402 - found from here only
from tests.text.github_markdown import breaches_of  # noqa: E402 - as above
from tests.text.hostile_markdown import hostile_text  # noqa: E402 - as above
from tests.text.linear_markdown import breaches_in_linear  # noqa: E402 - as above
from tests.text.on_a_terminal import breaches_on_terminal  # noqa: E402 - as above

_TEXTS, _PARTS = 100_000, 20
_READERS = {
    "GitHub's own parser": breaches_of,
    "A parser with what Linear adds": breaches_in_linear,
    "Chats, mail and desktops": breaches_in_chat_and_mail,
    "A terminal": breaches_on_terminal,
}


def main(*paths: str) -> None:
    os.chdir(ROOT)
    chosen = paths or ("tests", "--ignore", "tests/live", "--ignore", "tests/container")
    code = pytest.main(["-m", "attack", "-n", "auto", "--dist", "worksteal", "-p", "tests.attack.table", *chosen])
    live = {reader: _live(reader) for reader in _READERS}
    for reader, found in live.items():
        for what, count in found.most_common():
            print(f"live: {what}: {count} texts")
        print(f"T18: {reader} read {_TEXTS:,} hostile texts: {found.total()} live elements")
    sys.exit(1 if code or any(live.values()) else 0)


def _live(reader: str) -> Counter[str]:
    with ProcessPoolExecutor() as pool:
        return sum(pool.map(_live_in_part, [reader] * _PARTS, range(_PARTS)), Counter())


def _live_in_part(reader: str, seed: int) -> Counter[str]:
    chance, breaches = random.Random(f"attack {seed}"), _READERS[reader]
    return Counter(what for _ in range(_TEXTS // _PARTS) for what in breaches(hostile_text(chance)))


if __name__ == "__main__":
    main(*sys.argv[1:])
