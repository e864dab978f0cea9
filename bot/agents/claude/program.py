"""Agent program: finds it, checks its version, and checks that it is unaltered since it was installed.

Rule: the digest that the installation recorded decides; the program's own word is not enough. A program that was not
installed with Treehand (a `claude` on the PATH) has no record: only its version is checked, which the text says.
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

MIN_VERSION = (2, 1, 326)
"""The oldest version that our options were tested with: older ones silently ignore some."""

PACKAGE = "claude-agent-sdk"

_VERSION_SECONDS = 60.0
_unaltered: set[tuple[str, ...]] = set()
"""Programs that this process has checked: once is enough while the file stays as it is."""


def find_installed() -> Path | None:
    sdk = importlib.util.find_spec("claude_agent_sdk")  # found, not imported: that takes seconds
    bundled = Path(sdk.origin).parent / "_bundled" / "claude" if sdk and sdk.origin else None
    if bundled and bundled.is_file():
        return bundled
    found = shutil.which("claude")
    return Path(found) if found else None


async def check_version(cli: Path | None, folder: Path) -> str:
    """Returns the version as text. Raises NeedsHuman when the program is missing, altered, broken or too old.

    `folder` is not accessible to agents: the result of hashing the large program is kept there.
    """
    if cli is None or not cli.is_file():
        raise NeedsHuman(f"The agent's program is missing: {cli or 'claude'}.")
    recorded = recorded_digest(cli)
    if recorded:
        await asyncio.to_thread(_ensure_unaltered, cli, recorded, folder / "program.json")
    found = await _ensure_new_enough(cli, folder)
    return found if recorded else f"{found} ({cli}: not installed with Treehand, so only its version is checked)"


def recorded_digest(cli: Path) -> str:
    """The digest that the installation of the SDK recorded; empty if the program was not installed by it."""
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        return ""
    for file in files:
        matches = file.name == cli.name and file.hash is not None and file.hash.mode == "sha256"
        if matches and Path(str(file.locate())).resolve() == cli.resolve():
            return file.hash.value if file.hash else ""
    return ""


def _ensure_unaltered(cli: Path, recorded: str, note: Path) -> None:
    status = cli.stat()
    numbers = (status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
    fingerprint = (str(cli), recorded, *map(str, numbers))
    if fingerprint in _unaltered or _read_note(note) == fingerprint:
        _unaltered.add(fingerprint)
        return
    with cli.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").digest()
    if urlsafe_b64encode(digest).decode().rstrip("=") != recorded.rstrip("="):
        raise NeedsHuman(
            f"The agent's program {cli} was altered after its installation. "
            f"Treehand does not start it. Reinstall it: `pip install --force-reinstall --no-deps {PACKAGE}`."
        )
    _unaltered.add(fingerprint)
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(json.dumps(fingerprint))


def _read_note(note: Path) -> tuple[str, ...]:
    try:
        return tuple(json.loads(note.read_text()))
    except (OSError, ValueError, TypeError):
        return ()


async def _ensure_new_enough(cli: Path, folder: Path) -> str:
    printed = await _printed_version(cli, {"PATH": os.defpath, "HOME": str(folder)})
    found = re.search(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", printed)
    if not found:
        raise NeedsHuman(f"The agent's program {cli} does not print its version; it printed: {printed[:200]}")
    if tuple(map(int, found.groups())) < MIN_VERSION:
        wanted = ".".join(map(str, MIN_VERSION))
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
        raise NeedsHuman(f"The agent's program {cli} does not print its version in time.") from exc
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return printed.decode(errors="replace").strip()
