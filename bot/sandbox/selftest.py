"""Tries the sandbox out before any agent is put into one: a real cell, and in it a script that tries to get out.

Rule: what could not be tried does not hold.
"""

import asyncio
import contextlib
import json
import os
import secrets
import shlex
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.domain.turn import Ground, Work
from bot.errors import CannotStart
from bot.sandbox import selftest_probes as probes
from bot.sandbox.bubblewrap import Bubblewrap, Rules
from bot.sandbox.fix_hints import mend_for, version_of
from bot.sandbox.host_tools import find_tools
from bot.sandbox.mount_plan import HOME, PORT, PRIVATE, SHELL
from bot.system.launch import KEEP, PARENT
from bot.system.processes import MARKER, end_family

_SECONDS = 30.0
_CANARY = "TREEHAND_CANARY"
_UNREACHED = "nothing arrived on this machine"
_UNCHANGED = "files outside are as they were"
_STRANGER = "its files belong to another user"
STARTS = "programs start"


@dataclass(frozen=True, slots=True)
class Probe:
    name: str
    ok: bool
    detail: str = ""
    """What got out, or why it could not be tried."""


@dataclass(frozen=True, slots=True)
class Trial:
    version: str
    """Of bubblewrap; empty: there is none."""
    probes: tuple[Probe, ...]
    mend: str = ""
    """What a person can do about it."""

    @property
    def failed(self) -> tuple[Probe, ...]:
        return tuple(probe for probe in self.probes if not probe.ok)

    @property
    def holds(self) -> bool:
        return bool(self.probes) and not self.failed

    def __str__(self) -> str:
        if self.holds:
            return f"bwrap {self.version}: {len(self.probes)} probes held"
        if len(self.probes) == 1:
            return "\n".join(filter(None, (self.probes[0].detail, self.mend)))
        table = "\n".join(f"  NO    {probe.name}: {probe.detail}" for probe in self.failed)
        return f"bwrap {self.version}: {len(self.failed)} of {len(self.probes)} probes failed\n{table}\n{self.mend}"


@dataclass(frozen=True, slots=True)
class _Scene:
    """What is planted for the probes, inside and outside."""

    folder: Path
    ground: Ground
    home: Path
    guards: tuple[Path, ...]
    secret: str = field(repr=False)

    @property
    def neighbour(self) -> Path:
        return self.folder / "neighbour"

    def is_unchanged(self) -> bool:
        there = sorted(path.name for path in self.neighbour.iterdir())
        return there == ["guard"] and all(guard.read_text() == self.secret for guard in self.guards)


class _Ears:
    """What listens on this machine, and must hear nothing."""

    def __init__(self, stack: ExitStack) -> None:
        self.name = f"treehand-{secrets.token_hex(8)}"
        self.tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        self.udp.bind(("127.0.0.1", 0))
        self.abstract.bind(f"\0{self.name}")
        self.abstract.listen()
        self.tcp6: socket.socket | None = None
        with contextlib.suppress(OSError):  # not every machine has IPv6
            self.tcp6 = stack.enter_context(socket.create_server(("::1", 0), family=socket.AF_INET6))

    def port(self, listener: socket.socket | None) -> int:
        return int(listener.getsockname()[1]) if listener else 9

    def heard(self) -> str:
        names = {"TCP": self.tcp, "TCP over IPv6": self.tcp6, "UDP": self.udp, "an abstract socket": self.abstract}
        return " and ".join(name for name, ear in names.items() if ear and _has_news(ear))


async def try_out(state_dir: Path, rules: Rules) -> Trial:
    """In the sandbox that `rules` make. What is wrong with it is a result; only wrong settings are raised."""
    version = ""
    try:
        tools = find_tools(rules.tools, state_dir)
        version = await version_of(tools.bwrap)
        with _planted(state_dir) as scene, ExitStack() as stack:
            ears = _Ears(stack)
            told, trouble = await _perform(scene, ears, state_dir, rules)
            seen = (*_reported(told), *_seen(scene, ears))
    except CannotStart as problem:
        return Trial(version, (Probe(STARTS, ok=False, detail=str(problem)),))
    except OSError as problem:
        return Trial(version, (Probe(STARTS, ok=False, detail=f"No sandbox can be made: {problem}."),), mend_for(""))
    if not told:
        why = f"Nothing starts in the sandbox: {trouble or 'without a word'}"
        return Trial(version, (Probe(STARTS, ok=False, detail=why),), mend=mend_for(trouble))
    tried = (Probe(STARTS, ok=True), *seen)
    return Trial(version, tried, mend="" if all(probe.ok for probe in tried) else mend_for(""))


@contextmanager
def _planted(state_dir: Path) -> Iterator[_Scene]:
    cells = state_dir / "cells"
    cells.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="selftest-", dir=cells)))
        folder.chmod(0o755)  # nor is it to be modes that protect what is in here
        secret = f"guard-{secrets.token_hex(16)}"
        ground = Ground(folder / "worktree", folder / "shadow", folder / "objects")
        for place in (ground.folder, ground.shadow, ground.objects, folder / "home", folder / "neighbour"):
            place.mkdir()
        (ground.folder / ".git").write_text(f"gitdir: {ground.shadow}\n")
        (ground.objects / "object").write_text("an object")
        shutil.copy(probes.__file__, ground.folder / "probes.py")
        guards = [folder / "guard", folder / "neighbour" / "guard"]
        if os.access(Path.home(), os.W_OK):
            file = stack.enter_context(tempfile.NamedTemporaryFile(prefix=".treehand-guard-", dir=Path.home()))
            guards.append(Path(file.name))
        for guard in guards:
            guard.write_text(secret)
            guard.chmod(0o644)
        yield _Scene(folder, ground, folder / "home", tuple(guards), secret)


async def _perform(scene: _Scene, ears: _Ears, state_dir: Path, rules: Rules) -> tuple[str, str]:
    """What the script told, and what else was said."""
    model = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{ears.port(ears.tcp)}", "ANTHROPIC_API_KEY": "none"}
    marker = f"selftest:{scene.secret}"
    work = Work("selftest", scene.ground, scene.home, "", "")
    program = scene.folder / "program"
    tools = find_tools(rules.tools, state_dir)
    words = (str(tools.python), "-I", "-S", str(scene.ground.folder / "probes.py"))
    asked = scene.ground.folder / "scene.json"
    program.write_text(f"#!/bin/sh\nexec {shlex.join((*words, probes.PROGRAM, str(asked)))}\n")
    program.chmod(0o755)
    asked.write_text(json.dumps(_described(scene, ears, rules, shlex.join((*words, probes.COMMAND, str(asked))))))
    async with Bubblewrap(state_dir, model, rules).open(work, marker) as cell:
        kept = {**cell.environment, MARKER: marker}
        told = {**kept, KEEP: ",".join(kept), PARENT: str(os.getpid()), _CANARY: scene.secret}
        return await _run(cell.launcher(program), told, marker)


def _described(scene: _Scene, ears: _Ears, rules: Rules, command: str) -> dict[str, Any]:
    limits = rules.limits
    return {
        "guards": [str(guard) for guard in scene.guards],
        "neighbours": [str(scene.neighbour)],
        "worktree": str(scene.ground.folder),
        "objects": str(scene.ground.objects),
        "configuration": str(scene.home),
        "home": HOME,
        "private": PRIVATE,
        "shell": SHELL,
        "command": command,
        "canary": _CANARY,
        "limits": (limits.processes, limits.file_bytes, limits.memory_bytes),
        "namespaces": {name.name: str(name.readlink()) for name in Path("/proc/self/ns").iterdir()},
        "gate": PORT,
        "tcp": ears.port(ears.tcp),
        "tcp6": ears.port(ears.tcp6),
        "udp": ears.port(ears.udp),
        "abstract": ears.name,
    }


async def _run(launcher: Path, environment: dict[str, str], marker: str) -> tuple[str, str]:
    process = await asyncio.create_subprocess_exec(
        str(launcher), env=environment, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        told, said = await asyncio.wait_for(process.communicate(), _SECONDS)
    except TimeoutError:
        return "", f"nothing was heard of it for {_SECONDS:g} seconds"
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        await end_family(marker.__eq__, grace=0.0)
        await process.wait()
    return told.decode(errors="replace"), said.decode(errors="replace").strip()[-500:]


def _reported(told: str) -> Iterator[Probe]:
    """Each must have been tried by everyone who was to."""
    heard = {(role, name): leak for role, name, leak in map(json.loads, told.splitlines())}
    for name, (roles, _) in probes.PROBES.items():
        troubles = [(role, heard.get((role, name), "it was not tried")) for role in roles]
        leaks = [f"{leak} (the agent's {role})" for role, leak in troubles if leak]
        yield Probe(name, ok=not leaks, detail="; ".join(leaks))


def _seen(scene: _Scene, ears: _Ears) -> Iterator[Probe]:
    """What only we can see."""
    heard = ears.heard()
    yield Probe(_UNREACHED, ok=not heard, detail=heard)
    unchanged = scene.is_unchanged()
    yield Probe(_UNCHANGED, ok=unchanged, detail="" if unchanged else str(scene.neighbour))
    if os.geteuid() == 0:
        made = scene.ground.folder / "made"
        owner = made.lstat().st_uid if made.exists() else 0
        yield Probe(_STRANGER, ok=owner != 0, detail="" if owner else "they are root's, or there are none")


def _has_news(ear: socket.socket) -> bool:
    ear.setblocking(False)  # noqa: FBT003
    try:
        ear.recv(1) if ear.type == socket.SOCK_DGRAM else ear.accept()[0].close()
    except OSError:
        return False
    return True
