"""What one sandbox shows of the machine, and what may be done there: a plan for `enter.py`. Pure.

Rule: nothing is there unless it is listed here. Later lines lie over earlier ones.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.domain.turn import Ground

HOME = "/home/agent"
OURS = "/opt/treehand"
PORT = 3128
"""Where the gate is found in there."""
GATE = f"{OURS}/gate"
PORCH = f"{OURS}/porch"
SHELL = f"{OURS}/shell"
PRIVATE = "/run/agent"
"""Where the agent's program may put what its commands are not to see: sockets that steer it, above all."""
UID = 1000
"""Who a program thinks it is."""

_NEXT_TO_NOTHING = str(1 << 16)

_OPTIONS = (
    "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
    "--uid", str(UID), "--gid", str(UID), "--hostname", "treehand", "--cap-drop", "ALL", "--die-with-parent",
    "--new-session",
)  # fmt: skip
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
"""Variables with a key for the model, the one that counts first; in a sandbox they hold a pass."""
_NOT_FOR_COMMANDS = (*KEYS, "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "XDG_RUNTIME_DIR")
_NAMES = {
    "/etc/passwd": f"root:x:0:0:root:/:/usr/sbin/nologin\nagent:x:{UID}:{UID}::{HOME}:/bin/bash\n",
    "/etc/group": f"root:x:0:\nagent:x:{UID}:\n",
    "/etc/hosts": "127.0.0.1 localhost treehand\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """0: none."""

    memory_bytes: int = 0
    """Of one program; all together are watched from outside."""
    processes: int = 0
    file_bytes: int = 0
    scratch_bytes: int = 1 << 30
    """What each of the folders that live in memory may hold."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What programs in a sandbox are run with, and by."""

    bwrap: Path
    python: Path
    inside: Path
    """Our own first program in there."""
    folders: tuple[Path, ...]
    """Of the machine, to be read."""
    links: tuple[tuple[str, str], ...] = ()
    """From and to: `/bin` is `usr/bin` on most machines."""
    search: tuple[str, ...] = ("/usr/local/bin", "/usr/bin", "/bin")

    @property
    def path(self) -> str:
        return ":".join(self.search)


@dataclass(frozen=True, slots=True)
class Furniture:
    """What one sandbox holds besides tools."""

    ground: Ground
    home: Path
    """The agent's configuration and history."""
    gate: Path
    """The socket that is the only way out."""
    program: Path
    cache: Path | None = None
    """Dependencies that were downloaded before; to be read."""
    porch: Path | None = None
    """The socket that people come in by."""


def plan_for(inside: Furniture, tools: Tools, limits: Limits, *, uid: int, system_calls: bytes) -> Mapping[str, Any]:
    ground, scratch = inside.ground, str(limits.scratch_bytes)
    program = f"{OURS}/{inside.program.name}"
    steps = [
        *(("read", str(folder), str(folder)) for folder in tools.folders),
        *(("link", target, place) for place, target in tools.links),
        *(("text", text, place) for place, text in _NAMES.items()),
        ("--proc", "/proc"), ("--dev", "/dev"),
        *(("empty", scratch, place) for place in ("/dev/shm", "/tmp", HOME, PRIVATE)),  # noqa: S108 - the sandbox's own
        ("--remount-ro", "/dev"),
        ("read", str(tools.bwrap), f"{OURS}/bwrap"), ("read", str(tools.inside), f"{OURS}/inside.py"),
        ("read", str(inside.program), program), ("read", str(inside.gate), GATE),
        *([("read", str(inside.cache), str(inside.cache))] if inside.cache else []),
        *([("read", str(inside.porch), PORCH)] if inside.porch else []),
        ("program", _shell(inside.home), SHELL),
        ("read", str(ground.objects), str(ground.objects)), ("write", str(ground.shadow), str(ground.shadow)),
        ("write", str(inside.home), str(inside.home)), ("write", str(ground.folder), str(ground.folder)),
        ("read", str(ground.folder / ".git"), str(ground.folder / ".git")),
        ("--remount-ro", "/"), ("--chdir", str(ground.folder)),
    ]  # fmt: skip
    numbers = (limits.processes, limits.file_bytes, limits.memory_bytes)
    return {
        "bwrap": str(tools.bwrap),
        "options": _OPTIONS,
        "uid": uid,
        "filter": system_calls.hex(),
        "steps": steps,
        "command": _first(tools, PORCH if inside.porch else "", *map(str, numbers), program),
    }


def _first(tools: Tools, porch: str, *limits_and_program: str) -> Sequence[str]:
    return (str(tools.python), "-I", "-S", f"{OURS}/inside.py", str(PORT), GATE, porch, *limits_and_program)


def _shell(home: Path) -> str:
    """What runs each command of the agent: among processes of its own only, so that it can write into none of the
    program that it serves, with no way to become more, and without that program's pass for the gate.
    """
    words = (
        f"{OURS}/bwrap", "--dev-bind", "/", "/", "--ro-bind", str(home), str(home), "--size", _NEXT_TO_NOTHING,
        "--tmpfs", PRIVATE,
        "--proc", "/proc",
        "--unshare-user", "--unshare-pid", "--disable-userns", "--cap-drop", "ALL", "--die-with-parent",
    )  # fmt: skip
    return f'#!/bin/sh\nunset {" ".join(_NOT_FOR_COMMANDS)}\nexec {shlex.join(words)} -- /bin/bash -c "$1"\n'
