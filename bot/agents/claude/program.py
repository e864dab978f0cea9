"""The agent's program: found, new enough, and the very one that was installed.

Rule: what the installation wrote down about it is believed, what the program says of itself is not enough. One that
was not installed with us (a `claude` on the PATH) has no such record: only its version is looked at, and we say so.
"""

import asyncio
import contextlib
import hashlib
import importlib.util
import json
import os
import re
import shutil
import signal
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from bot.errors import NeedsHuman

TESTED = (2, 1, 326)
"""The oldest version of the program our options were tried with: older ones ignore some without a word."""

PACKAGE = "claude-agent-sdk"

_VERSION_SECONDS = 60.0
_known_here: set[tuple[str, ...]] = set()
"""What this process has hashed or read to be unaltered: once is enough while the file stays as it is."""


def find_installed() -> Path | None:
    sdk = importlib.util.find_spec("claude_agent_sdk")  # found, not imported: that takes seconds
    bundled = Path(sdk.origin).parent / "_bundled" / "claude" if sdk and sdk.origin else None
    if bundled and bundled.is_file():
        return bundled
    found = shutil.which("claude")
    return Path(found) if found else None


async def version(cli: Path | None, folder: Path) -> str:
    """Of the program, in words. Raises NeedsHuman when it is missing, altered, broken or too old.

    `folder` is ours alone: there we remember that it is unaltered, for it is large.
    """
    if cli is None or not cli.is_file():
        raise NeedsHuman(f"The agent's program is missing: {cli or 'claude'}.")
    recorded = find_recorded(cli)
    if recorded:
        await asyncio.to_thread(_ensure_unaltered, cli, recorded, folder / "program.json")
    found = await _new_enough(cli, folder)
    return found if recorded else f"{found} ({cli}: not installed with Treehand, so only its version is checked)"


def find_recorded(cli: Path) -> str:
    """Its digest, as the installation of our dependency wrote it down; empty: it does not come from there."""
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        return ""
    for file in files:
        ours = file.name == cli.name and file.hash is not None and file.hash.mode == "sha256"
        if ours and Path(str(file.locate())).resolve() == cli.resolve():
            return file.hash.value if file.hash else ""
    return ""


def _ensure_unaltered(cli: Path, recorded: str, note: Path) -> None:
    status = cli.stat()
    numbers = (status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
    this = (str(cli), recorded, *map(str, numbers))
    if this in _known_here or _noted(note) == this:
        _known_here.add(this)
        return
    with cli.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").digest()
    if urlsafe_b64encode(digest).decode().rstrip("=") != recorded.rstrip("="):
        raise NeedsHuman(
            f"The agent's program {cli} is not the one that was installed: somebody or something has altered it. "
            f"I do not start it. Reinstall it: `pip install --force-reinstall --no-deps {PACKAGE}`."
        )
    _known_here.add(this)
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(json.dumps(this))


def _noted(note: Path) -> tuple[str, ...]:
    try:
        return tuple(json.loads(note.read_text()))
    except (OSError, ValueError, TypeError):
        return ()


async def _new_enough(cli: Path, folder: Path) -> str:
    printed = await _printed_version(cli, {"PATH": os.defpath, "HOME": str(folder)})
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", printed)
    if not found:
        raise NeedsHuman(f"The agent's program {cli} does not tell its version; it said: {printed[:200]}")
    if tuple(map(int, found.groups())) < TESTED:
        wanted = ".".join(map(str, TESTED))
        raise NeedsHuman(f"The agent's program {cli} is version {found[0]}; {wanted} or later is needed.")
    return found[0]


async def _printed_version(cli: Path, environment: Mapping[str, str]) -> str:
    try:
        process = await asyncio.create_subprocess_exec(
            str(cli),
            "--version",
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as exc:
        raise NeedsHuman(f"The agent's program cannot be run: {exc}.") from exc
    try:
        printed, _ = await asyncio.wait_for(process.communicate(), _VERSION_SECONDS)
    except TimeoutError as exc:
        raise NeedsHuman(f"The agent's program {cli} does not tell its version in time.") from exc
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return printed.decode(errors="replace").strip()
