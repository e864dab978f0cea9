"""Time from "the label is visible" to the agent's first request in a large repository that Treehand has never seen.

27,000 files and 0.2 GB of history are compared with what a person does without Treehand: `git clone --no-hardlinks`,
which reads each object once, and `git worktree add`.
"""

import asyncio
import shutil
import time
from pathlib import Path
from random import Random

from figures import Figure, middle
from grounds import make_repository, plain_git
from readiness import Stack, _bot, _said

from bot.demo.scripted_model import ScriptedModel

_FILES = 27_000
_COMMITS = 2_000
_FILES_PER_COMMIT = 30
_BYTES = 3_000
_TIMES = 3


async def measure(folder: Path) -> list[Figure]:
    stack = await asyncio.to_thread(_large, folder)
    copied, added, cold, second = list[float](), list[float](), list[float](), list[float]()
    for go in range(_TIMES):  # by turns, so that no side profits from a quiet moment
        here = folder / f"state-{go}"
        here.mkdir()
        async with ScriptedModel(_said) as model, _bot(stack, here, model, pool=0) as running:
            cold.append(await running.first_request())
            by_hand = await asyncio.to_thread(_by_hand, stack.repository, folder / "by-hand")
            second.append(await running.first_request())
        copied.append(by_hand[0])
        added.append(by_hand[1])
        shutil.rmtree(here)
    label = "27,000 files: label -> first model request"
    whole = middle(copied) + middle(added)
    return [
        Figure("27,000 files: copy of the history by hand (reference)", middle(copied), "s"),
        Figure("27,000 files: git worktree add by hand (reference)", middle(added), "s"),
        Figure(f"{label}, first run", middle(cold), "s"),
        Figure(f"{label}, second run", middle(second), "s"),
        Figure("27,000 files: first run / by hand", middle(cold) / whole, "x", 2),
        Figure("27,000 files: second run / worktree add by hand", middle(second) / middle(added), "x", 3),
    ]


def _by_hand(repository: Path, place: Path) -> tuple[float, float]:
    """Seconds to copy the history, and to check out its files."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    began = time.perf_counter()
    plain_git(place, "clone", "--quiet", "--bare", "--no-local", str(repository), "copy")
    copied = time.perf_counter()
    plain_git(place / "copy", "worktree", "add", "--quiet", "--detach", str(place / "worktree"), "main")
    return copied - began, time.perf_counter() - copied


def _large(folder: Path) -> Stack:
    """Makes the repository: many files, and commits whose content cannot be compressed."""
    place = folder / "repository"
    first = make_repository(place, _FILES)
    content, parts = Random(1), list[bytes]()
    for number in range(_COMMITS):
        head = f"commit refs/heads/main\ncommitter Ada <ada@example.org> {1700000001 + number} +0000\ndata 4\nmore\n"
        parts.append((head + (f"from {first}\n" if number == 0 else "")).encode())
        for at in range(_FILES_PER_COMMIT):
            path = f"data/part{at}/{number % 40}.bin"
            parts.append(f"M 100644 inline {path}\ndata {_BYTES}\n".encode() + content.randbytes(_BYTES) + b"\n")
    plain_git(place, "fast-import", "--quiet", stdin=b"".join(parts))
    return Stack("27,000 files", place)
