"""False alarms of the secret scan, missed secrets, and its duration."""

import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from figures import Figure, middle

from bot.secret_scan.scanner import Secrets, find_suspicious
from tests.secret_scan.canaries import CANARIES, ENCODINGS
from tests.secret_scan.ordinary import ordinary_files, real_files, real_looking_secrets

EACH, REAL, MADE_UP, TIMES, BYTES = 20, 1500, 200, 5, 65536


async def measure(_: Path) -> list[Figure]:
    files = [*ordinary_files(EACH), *_real()]
    wrong_files, wrong_lines = alarms(files)
    lines = sum(text.count("\n") + 1 for _, text in files)
    secrets = Secrets(CANARIES)
    return [
        Figure(f"{len(files):,} ordinary files: false alarms", 100 * wrong_files / len(files), "%", 1),
        Figure(f"{lines:,} ordinary lines: false alarms", 100 * wrong_lines / lines, "%", 1),
        Figure(f"{MADE_UP} foreign secrets: missed", len(missed(MADE_UP)), "secrets", 0),
        Figure(
            f"{len(CANARIES) * len(ENCODINGS)} encodings of our own secrets: missed", _unseen(secrets), "secrets", 0
        ),
        Figure("search of 64 KB of ordinary text for our own secrets", _slowest([_usual()], secrets), "ms", 50),
        Figure("search of 64 KB of slow text, the slowest", _slowest(_slow(), secrets), "ms"),
    ]


def alarms(files: Iterable[tuple[str, str]]) -> tuple[int, int]:
    """Returns the files and lines with false alarms; logs the findings."""
    kinds: Counter[str] = Counter()
    wrong_files = wrong_lines = 0
    for name, text in files:
        lines = text.splitlines()
        found = find_suspicious(lines)
        for one in found:
            print(f"false alarm: {one.kind} in {name}:{one.line}: {lines[one.line - 1].strip()[:160]}", file=sys.stderr)
        kinds.update(one.kind for one in found)
        wrong_files, wrong_lines = wrong_files + bool(found), wrong_lines + len({one.line for one in found})
    return wrong_files, wrong_lines


def missed(count: int) -> list[tuple[str, str]]:
    return [(name, text) for name, text in real_looking_secrets(count) if not find_suspicious(text.splitlines())]


def _unseen(secrets: Secrets) -> int:
    return sum(
        name not in secrets.find(spell(value)) for name, value in CANARIES.items() for spell in ENCODINGS.values()
    )


def _real() -> Iterator[tuple[str, str]]:
    """Returns this project and its dependencies."""
    root = Path(__file__).parents[2]
    yield from real_files([root / "bot", root / "docs"], REAL)
    yield from real_files([*(Path(folder) for folder in sys.path if folder.endswith("site-packages"))], REAL)


def _usual() -> str:
    return "".join(text for _, text in ordinary_files(1))[:BYTES]


def _slow() -> list[str]:
    noise = random.Random(1).randbytes(BYTES)
    made = ("\\u0041", "&#65;", "%2541", "<", "\\", "ａ", "01", "=", "eyJ", "ghp_", "secret=", "://a:", "-----BEGIN ")
    return [(one * BYTES)[:BYTES] for one in made] + [noise.hex()[:BYTES]]


def _slowest(texts: list[str], secrets: Secrets) -> float:
    return max(middle([_seconds(text, secrets) for _ in range(TIMES)]) for text in texts) * 1000


def _seconds(text: str, secrets: Secrets) -> float:
    began = time.process_time()
    secrets.find(text)
    return time.process_time() - began
