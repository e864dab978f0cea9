"""What people write, made readable: 100,000 texts made to confuse it, and texts as long as GitHub takes them."""

import random
import time
from pathlib import Path

from figures import Figure, middle

from bot.domain.read_untrusted import read
from bot.text.visible import is_unseen
from tests.domain.hidden import BITS, LONG, USUAL

TEXTS, PIECES, TIMES = 100_000, 20, 5
_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f") | {chr(code) for code in range(0xE0020, 0xE0080)}


async def measure(_: Path) -> list[Figure]:
    return [
        Figure(f"{TEXTS:,} texts read: not the same when read again", _restless(), "texts", 0),
        Figure("64 KB of usual text read", middle([_seconds(USUAL) for _ in range(TIMES)]) * 1000, "ms", 50),
        Figure("64 KB made to be slow read, the slowest", max(map(_best, LONG.values())) * 1000, "ms"),
    ]


def _restless() -> int:
    chance = random.Random(1)
    texts = ("".join(chance.choices(BITS, k=chance.randint(1, PIECES))) for _ in range(TEXTS))
    return sum(not _is_settled(read.__wrapped__(text).text) for text in texts)


def _is_settled(text: str) -> bool:
    """Nothing hidden is left, and reading it again changes nothing."""
    hidden = any(is_unseen(letter) and letter not in _JOINERS for letter in text)
    return not hidden and read.__wrapped__(text).text == text


def _best(text: str) -> float:
    return min(_seconds(text) for _ in range(TIMES))


def _seconds(text: str) -> float:
    began = time.process_time()
    read.__wrapped__(text)
    return time.process_time() - began
