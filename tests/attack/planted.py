"""Plants guard files and canaries, serves an attacker on loopback, and says what an attack has done to them.

Rule: the canaries are invented for each test, and no address but loopback is opened.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

_MOST_READ = 1 << 20
_SECONDS = 10.0


@dataclass
class AttackerServer:
    """Stands for every host of an attacker, and keeps what it is sent."""

    url: str = ""
    received: list[str] = field(default_factory=list)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(_SECONDS):
                self.received.append((await reader.readuntil(b"\r\n\r\n")).decode(errors="replace"))
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
            await writer.drain()
        writer.close()


@asynccontextmanager
async def attacker_server() -> AsyncIterator[AttackerServer]:
    server = AttackerServer()
    async with await asyncio.start_server(server.answer, "127.0.0.1", 0, limit=_MOST_READ) as listening:
        server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        yield server


def invented_secret() -> str:
    return f"canary{secrets.token_hex(16)}"


@dataclass(frozen=True)
class Canaries:
    """Invented secrets of the operator, by name."""

    hidden: Mapping[str, str]
    """In the daemon's environment and in files outside of the sandbox: no agent may read them."""
    copied: Mapping[str, str]
    """In the `.env` that is copied into worktrees: agents may read them, and nobody may publish them."""

    @property
    def all(self) -> Mapping[str, str]:
        return {**self.hidden, **self.copied}

    @property
    def dotenv(self) -> str:
        return "".join(f"{name}={value}\n" for name, value in self.copied.items())


class Guarded:
    """Files and folders outside of the sandbox that no attack may change."""

    def __init__(self, *places: Path, but: Path | None = None) -> None:
        self._places, self._but = places, but
        self._before = dict(self._contents())

    def changes(self) -> list[str]:
        now = dict(self._contents())
        return sorted(str(path) for path in {*now, *self._before} if now.get(path) != self._before.get(path))

    def _contents(self) -> Iterator[tuple[Path, tuple[int, bytes]]]:
        for place in self._places:
            for path in (place, *place.rglob("*")):
                if self._but is None or not path.is_relative_to(self._but):
                    yield path, _content(path)


def _content(path: Path) -> tuple[int, bytes]:
    mode = path.lstat().st_mode
    if path.is_symlink():
        return mode, bytes(path.readlink())
    return mode, path.read_bytes() if path.is_file() else b""
