"""A worktree made to keep the host busy: time until a capture refuses it, and until a cancelled capture ends.

The daemon's `stop` is a cancelled capture, a salvage and a removal, one after the other.
"""

import asyncio
import time
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from figures import Figure
from grounds import make_repository

from bot.domain.remote import Remote
from bot.secret_scan.scanner import Secrets
from bot.workspace.workspaces import GitWorkspaces

BRANCH = "treehand/shop-1"
_TRACKED, _FILES, _RULES = 100, 200_000, 5000
_ENOUGH = 3.0
"""Seconds of reading before it is cancelled."""


async def measure(folder: Path) -> list[Figure]:
    figures = []
    for name, make in (("plain", _plain), ("200,000 files", _files), ("brackets", _brackets), ("packed", _packed)):
        workspaces, worktree = await _begin(folder / name.replace(",", "").replace(" ", "-"))
        make(worktree)
        seconds = await _timed(lambda spaces=workspaces: spaces.capture(BRANCH, message="m", at=1000))
        figures.append(Figure(f"capture of a worktree, {name}", seconds, "s", 2 if name == "plain" else 20))
    workspaces, worktree = await _begin(folder / "slow")
    _slow(worktree)
    return [*figures, await _stop(workspaces)]


async def _stop(workspaces: GitWorkspaces) -> Figure:
    capture = asyncio.ensure_future(workspaces.capture(BRANCH, message="m", at=1000))
    await asyncio.sleep(_ENOUGH)
    assert not capture.done()

    async def stop() -> None:
        capture.cancel()
        await asyncio.wait([capture])
        await workspaces.salvage(BRANCH)
        await workspaces.remove(BRANCH)

    return Figure("stop during a capture that would take minutes", await _timed(stop), "s", 10)


async def _begin(folder: Path) -> tuple[GitWorkspaces, Path]:
    origin = folder / "origin"
    make_repository(origin, _TRACKED)
    workspaces = GitWorkspaces(folder / "state", "shop", secrets=Secrets({"the token": "tok-5e0d7c1b9a3f48629d10"}))
    return workspaces, (await workspaces.ensure(BRANCH, base="main", remote=Remote(str(origin)))).path


async def _timed(act: Callable[[], Awaitable[object]]) -> float:
    began = time.monotonic()
    await act()
    return time.monotonic() - began


def _plain(at: Path) -> None:
    (at / "app.py").write_text("answer = 42\n")


def _files(at: Path) -> None:
    for number in range(_FILES):
        (at / str(number)).touch()


def _brackets(at: Path) -> None:
    (at / ".gitignore").write_text("[" * 250_000)


def _packed(at: Path) -> None:
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = compressor.compress(bytes(20_000_000)) + compressor.flush(zlib.Z_FULL_FLUSH)
    for number in range(400):
        (at / f"{number}.bin").write_bytes(b"\x78\x9c" * 6000 + bomb + b"\xff" * 10)


def _slow(at: Path) -> None:
    """Makes files within every limit, each of which is tried against each rule."""
    for number in range(4900):
        (at / f"{'x' * 200}{number}").touch()
    rules = (f"*x?x*[!a]{'x*' * 12}y{number % 10}?" for number in range(_RULES))
    (at / ".gitignore").write_text("\n".join(rules))
