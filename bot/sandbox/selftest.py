"""Self-test of the sandbox: runs a script in a real one of each kind that tries to get out, before any agent starts.

Rule: a probe that could not be tried counts as failed.
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
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bot.domain.turn import AgentTask, WorktreeMounts
from bot.errors import CannotStart
from bot.sandbox import selftest_probes as probes
from bot.sandbox.bubblewrap import Bubblewrap, SandboxRules
from bot.sandbox.fix_hints import bwrap_version, fix_hint_for
from bot.sandbox.host_tools import find_tools
from bot.sandbox.interface import AgentSandbox, CommandSandbox
from bot.sandbox.mount_plan import HOME, PRIVATE, PROXY_PORT, SHELL
from bot.sandbox.proxy.grant import ignore_usage
from bot.system.launch import KEEP, PARENT
from bot.system.private_files import share_file, share_folder
from bot.system.processes import MARKER, end_processes

_SECONDS = 30.0
_CANARY = "TREEHAND_CANARY"
_NOTHING_ARRIVED = "no data arrived on this machine"
_FILES_UNCHANGED = "files outside are unchanged"
_DEPENDENCIES_UNCHANGED = "dependencies that worktrees share are unchanged"
_GIT_UNCHANGED = "the git directory that people use is unchanged"
_OTHER_OWNER = "its files belong to another user"
STARTS = "programs start"
_ANY_PORT = 0
_Opened = AgentSandbox | CommandSandbox


@dataclass(frozen=True, slots=True)
class ProbeResult:
    name: str
    ok: bool
    detail: str = ""
    """Thing that the probe could reach, or the reason why it could not be tried."""


@dataclass(frozen=True, slots=True)
class SelfTestResult:
    version: str
    """Version of bubblewrap; empty if there is none."""
    probes: tuple[ProbeResult, ...]
    fix_hint: str = ""
    """Advice for a person about a failure."""
    why_no_layers: str = ""
    """Why worktrees share no dependencies, in words; empty if they do."""

    @property
    def failed(self) -> tuple[ProbeResult, ...]:
        return tuple(probe for probe in self.probes if not probe.ok)

    @property
    def holds(self) -> bool:
        return bool(self.probes) and not self.failed

    def __str__(self) -> str:
        if self.holds:
            shared = f"; worktrees share no dependencies ({self.why_no_layers})" if self.why_no_layers else ""
            return f"bwrap {self.version}: {len(self.probes)} probes passed{shared}"
        if len(self.probes) == 1:
            return "\n".join(filter(None, (self.probes[0].detail, self.fix_hint)))
        table = "\n".join(f"  failed  {probe.name}: {probe.detail}" for probe in self.failed)
        return f"bwrap {self.version}: {len(self.failed)} of {len(self.probes)} probes failed\n{table}\n{self.fix_hint}"


@dataclass(frozen=True, slots=True)
class _Scene:
    """Files planted for the probes, inside and outside of the sandbox."""

    folder: Path
    mounts: WorktreeMounts
    home: Path
    guards: tuple[Path, ...]
    secret: str = field(repr=False)

    @property
    def dependency(self) -> Path:
        """A file of the layer beneath the worktree."""
        return self.folder / "layer" / "dependencies" / "file"

    @property
    def neighbour(self) -> Path:
        return self.folder / "neighbour"

    def is_unchanged(self) -> bool:
        there = sorted(path.name for path in self.neighbour.iterdir())
        return there == ["guard"] and all(guard.read_text() == self.secret for guard in self.guards)


class _ListenerProbe:
    """Sockets on this machine that no probe may reach."""

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

    def contacted_names(self) -> str:
        names = {"TCP": self.tcp, "TCP over IPv6": self.tcp6, "UDP": self.udp, "an abstract socket": self.abstract}
        return " and ".join(name for name, listener in names.items() if listener and _was_contacted(listener))


async def run_probes(state_dir: Path, rules: SandboxRules) -> SelfTestResult:
    """A sandbox that fails is a result; raises BadSettings only."""
    version = ""
    try:
        tools = find_tools(rules.tools, state_dir)
        version = await bwrap_version(tools.bwrap)
        why_no_layers = await Bubblewrap(state_dir, {}, rules).why_no_layers()
        with _plant_files(state_dir, has_layer=not why_no_layers) as scene, ExitStack() as stack:
            listeners = _ListenerProbe(stack)
            printed, stderr = await _run_scripts(scene, listeners, state_dir, rules)
            results = (*_parse_results(printed), *_host_results(scene, listeners))
    except CannotStart as problem:
        return SelfTestResult(version, (ProbeResult(STARTS, ok=False, detail=str(problem)),))
    except OSError as problem:
        return SelfTestResult(
            version,
            (ProbeResult(STARTS, ok=False, detail=f"The sandbox cannot be created: {problem}."),),
            fix_hint_for(""),
        )
    if not printed:
        why = f"No program starts in the sandbox: {stderr or 'without a message'}"
        return SelfTestResult(version, (ProbeResult(STARTS, ok=False, detail=why),), fix_hint=fix_hint_for(stderr))
    tried = (ProbeResult(STARTS, ok=True), *results)
    hint = "" if all(probe.ok for probe in tried) else fix_hint_for("")
    return SelfTestResult(version, tried, hint, why_no_layers)


@contextmanager
def _plant_files(state_dir: Path, *, has_layer: bool) -> Iterator[_Scene]:
    folders = state_dir / "cells"
    folders.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="selftest-", dir=folders)))
        folder.chmod(0o755)  # file modes must not protect these files
        secret = f"guard-{secrets.token_hex(16)}"
        layer = folder / "link" if has_layer else None
        mounts = WorktreeMounts(
            *(folder / name for name in ("worktree", "shadow", "agent-git", "objects")), layer=layer
        )
        for place in (
            mounts.folder,
            mounts.shadow,
            mounts.agent_git,
            mounts.objects,
            folder / "home",
            folder / "neighbour",
            folder / "layer",
            folder / "layer" / "dependencies",
        ):
            share_folder(place)
        mounts.shadow.chmod(0o777)
        (mounts.folder / ".git").write_text(f"gitdir: {mounts.shadow}\n")
        (folder / "link").symlink_to(folder / "layer")
        scene = _Scene(folder, mounts, folder / "home", (), secret)
        for planted in (mounts.objects / "object", scene.dependency):
            planted.write_text(secret)
            share_file(planted)
        shutil.copy(probes.__file__, mounts.folder / "probes.py")
        guards = [folder / "guard", folder / "neighbour" / "guard"]
        if os.access(Path.home(), os.W_OK):
            file = stack.enter_context(tempfile.NamedTemporaryFile(prefix=".treehand-guard-", dir=Path.home()))
            guards.append(Path(file.name))
        for guard in guards:
            guard.write_text(secret)
            guard.chmod(0o644)
        yield replace(scene, guards=tuple(guards))


async def _run_scripts(
    scene: _Scene, listeners: _ListenerProbe, state_dir: Path, rules: SandboxRules
) -> tuple[str, str]:
    """Returns stdout and stderr of the scripts, each in a sandbox of its kind."""
    model = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{listeners.port(listeners.tcp)}", "ANTHROPIC_API_KEY": "none"}
    sandboxes, marker = Bubblewrap(state_dir, model, rules), f"selftest:{scene.secret}"
    task = AgentTask("selftest", scene.mounts, scene.home, "", "")
    kinds: Mapping[str, AbstractAsyncContextManager[_Opened]] = {
        probes.PROGRAM: sandboxes.open_turn(task, marker, ignore_usage),
        probes.SETUP: sandboxes.open_setup(scene.mounts, scene.home, marker, network=True),
        probes.VERIFICATION: sandboxes.open_test(scene.mounts, scene.home, None, marker),
        probes.SERVER: sandboxes.open_test(scene.mounts, scene.home, None, marker, ports=(_ANY_PORT,)),
    }
    words = (str(find_tools(rules.tools, state_dir).python), "-I", "-S", str(scene.mounts.folder / "probes.py"))
    scene_file = scene.mounts.folder / "scene.json"
    command = shlex.join((*words, probes.COMMAND, str(scene_file)))
    scene_file.write_text(json.dumps(_scene_json(scene, listeners, rules, command)))
    printed, errors = "", ""
    for role, opening in kinds.items():
        program = _write_program(scene.folder / f"program-{len(printed)}", *words, role, str(scene_file))
        async with opening as sandbox:
            output, error = await _run(sandbox.launcher(program), _environment(sandbox, marker, scene), marker)
        printed, errors = printed + output, errors or error
    return printed, errors


def _write_program(program: Path, *words: str) -> Path:
    program.write_text(f"#!/bin/sh\nexec {shlex.join(words)}\n")
    program.chmod(0o755)
    return program


def _environment(sandbox: _Opened, marker: str, scene: _Scene) -> dict[str, str]:
    variables = {**sandbox.environment, MARKER: marker}
    return {**variables, KEEP: ",".join(variables), PARENT: str(os.getpid()), _CANARY: scene.secret}


def _scene_json(scene: _Scene, listeners: _ListenerProbe, rules: SandboxRules, command: str) -> dict[str, Any]:
    limits = rules.process_limits
    return {
        "guards": [str(guard) for guard in scene.guards],
        "neighbours": [str(scene.neighbour)],
        "worktree": str(scene.mounts.folder),
        "objects": str(scene.mounts.objects),
        "dependencies": str(scene.mounts.folder / "dependencies") if scene.mounts.layer else "",
        "shadow": str(scene.mounts.shadow),
        "configuration": str(scene.home),
        "home": HOME,
        "private": PRIVATE,
        "shell": SHELL,
        "command": command,
        "canary": _CANARY,
        "limits": (limits.processes, limits.file_bytes, limits.memory_bytes),
        "namespaces": {name.name: str(name.readlink()) for name in Path("/proc/self/ns").iterdir()},
        "proxy": PROXY_PORT,
        "tcp": listeners.port(listeners.tcp),
        "tcp6": listeners.port(listeners.tcp6),
        "udp": listeners.port(listeners.udp),
        "abstract": listeners.name,
    }


async def _run(launcher: Path, environment: dict[str, str], marker: str) -> tuple[str, str]:
    process = await asyncio.create_subprocess_exec(
        str(launcher), env=environment, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        printed, stderr = await asyncio.wait_for(process.communicate(), _SECONDS)
    except TimeoutError:
        return "", f"it printed nothing for {_SECONDS:g} seconds"
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        await end_processes(marker.__eq__, grace=0.0)
        await process.wait()
    return printed.decode(errors="replace"), stderr.decode(errors="replace").strip()[-500:]


def _parse_results(printed: str) -> Iterator[ProbeResult]:
    """Each role of a probe must have reported."""
    leaks_by_probe = {(role, name): leak for role, name, leak in map(json.loads, printed.splitlines())}
    for name, (roles, _) in probes.PROBES.items():
        troubles = [(role, leaks_by_probe.get((role, name), "it was not tried")) for role in roles]
        leaks = [f"{leak} ({role})" for role, leak in troubles if leak]
        yield ProbeResult(name, ok=not leaks, detail="; ".join(leaks))


def _host_results(scene: _Scene, listeners: _ListenerProbe) -> Iterator[ProbeResult]:
    """Probes whose result only the host can see."""
    contacted = listeners.contacted_names()
    yield ProbeResult(_NOTHING_ARRIVED, ok=not contacted, detail=contacted)
    unchanged = scene.is_unchanged()
    yield ProbeResult(_FILES_UNCHANGED, ok=unchanged, detail="" if unchanged else str(scene.neighbour))
    is_same = (
        sorted(scene.dependency.parent.iterdir()) == [scene.dependency] and scene.dependency.read_text() == scene.secret
    )
    yield ProbeResult(_DEPENDENCIES_UNCHANGED, ok=is_same, detail="" if is_same else str(scene.dependency))
    written = " ".join(map(str, scene.mounts.shadow.iterdir()))
    yield ProbeResult(_GIT_UNCHANGED, ok=not written, detail=written)
    if os.geteuid() == 0:
        made = scene.mounts.folder / "made"
        owner = made.lstat().st_uid if made.exists() else 0
        yield ProbeResult(_OTHER_OWNER, ok=owner != 0, detail="" if owner else "they are root's, or there are none")


def _was_contacted(listener: socket.socket) -> bool:
    listener.setblocking(False)  # noqa: FBT003
    try:
        listener.recv(1) if listener.type == socket.SOCK_DGRAM else listener.accept()[0].close()
    except OSError:
        return False
    return True
