"""Mount plan: which files of the machine a sandbox shows, where, and whether writable; for `enter.py`. Pure.

Rule: a file that is not listed here is not in the sandbox. Later mounts cover earlier ones.
"""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bot.domain.service import ServiceMounts, ServiceProgram
from bot.domain.turn import WorktreeMounts
from bot.sandbox.resource_limits import ProcessLimits

HOME = "/home/agent"
OURS = "/opt/treehand"
PROXY_PORT = 3128
"""Port of the proxy in the sandbox."""
PROXY_SOCKET = f"{OURS}/proxy"
PORTS_SOCKET = f"{OURS}/ports"
AUTHORITIES = f"{OURS}/authorities.pem"
"""Certificates of the authorities that tools trust."""
JAVA_AUTHORITIES = f"{OURS}/authorities.p12"
SHELL = f"{OURS}/shell"
SERVICES = "/var/lib/services"
"""Folder with the data and the logs of the services."""
AGENT_GIT = f"{OURS}/git"
"""Git directory of the agent's commands, which see it in the place of the shadow."""
PRIVATE = "/run/agent"
"""Folder of the agent's program that its commands do not see; above all for sockets that control the program."""
_SERVICE_PLAN = f"{OURS}/services.json"
_SERVICE_SHELL = f"{OURS}/service"
UID = 1000
"""User id as programs in the sandbox see it."""

TOOLS = f"{OURS}/tools"
"""Folder of single programs."""
SYSTEM_SEARCH = ("/usr/local/bin", "/usr/bin", "/bin")
_SMALL = str(1 << 16)

_OPTIONS = (
    "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
    "--uid", str(UID), "--gid", str(UID), "--hostname", "treehand", "--cap-drop", "ALL", "--die-with-parent",
    "--new-session",
)  # fmt: skip
MODEL_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
"""Variables with a key for the model, in order of precedence; in a sandbox they hold its token for the proxy."""
_NOT_FOR_COMMANDS = (*MODEL_KEYS, "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "XDG_RUNTIME_DIR")
_INNER_OPTIONS = (
    "--proc", "/proc", "--unshare-user", "--unshare-pid", "--disable-userns", "--cap-drop", "ALL", "--die-with-parent",
)  # fmt: skip
_ETC_FILES = {
    "/etc/passwd": f"root:x:0:0:root:/:/usr/sbin/nologin\nagent:x:{UID}:{UID}::{HOME}:/bin/bash\n",
    "/etc/group": f"root:x:0:\nagent:x:{UID}:\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


Step = tuple[str, ...]
"""One mount of `enter.py`: its kind, source and place."""


@dataclass(frozen=True, slots=True)
class HostTools:
    """Programs and folders of the machine that every sandbox shows, and the programs that set it up."""

    bwrap: Path
    python: Path
    init_process: Path
    """Our script that is the first program in the sandbox."""
    service_process: Path
    """Our script that runs one service."""
    folders: tuple[Path, ...]
    """Read-only in the sandbox, at the same path."""
    links: tuple[tuple[str, str], ...] = ()
    """Link and target: `/bin` is `usr/bin` on most machines."""
    programs: tuple[tuple[str, Path], ...] = ()
    """Names in `TOOLS` of single programs, which are shown without their folders."""
    search: tuple[str, ...] = SYSTEM_SEARCH

    @property
    def path(self) -> str:
        return ":".join(self.search)


@dataclass(frozen=True, slots=True)
class MountPlan:
    """Files and folders of one sandbox, besides the tools."""

    mounts: WorktreeMounts
    worktree: Path
    """Folder that is seen in the place of the worktree."""
    git: Path
    """Git directory that is seen in the place of the shadow."""
    home: Path
    """Writable: the agent's configuration and history, or the downloads of setup."""
    proxy_socket: Path
    """The only way out."""
    program: Path
    cache: Path | None = None
    """Downloaded dependencies, read-only."""
    ports_socket: Path | None = None
    """Through it people reach the servers in the sandbox."""
    authorities: tuple[Path, ...] = ()
    """Files with the certificates of authorities, read-only."""
    layer: Path | None = None
    """Dependencies that show beneath the worktree. What programs change of them lies in the worktree."""
    work: Path | None = None
    """Empty folder for the kernel, if there is a layer."""
    is_command: bool = False
    """The host orders the program, which runs in a second sandbox and sees no process that reports its exit status.
    Else it is an agent's, which runs its commands in second sandboxes and obeys no git of a command."""


_TEMPORARY = Path("/tmp")  # noqa: S108 - the sandbox's own: it covers what is shown before


def build_plan(
    inside: MountPlan, tools: HostTools, limits: ProcessLimits, *, uid: int, seccomp: bytes
) -> Mapping[str, Any]:
    mounts, scratch = inside.mounts, str(limits.scratch_bytes)
    program = f"{OURS}/{inside.program.name}"
    steps = [
        *(("read", str(folder), str(folder)) for folder in tools.folders),
        *(("link", target, place) for place, target in tools.links),
        *(("text", text, place) for place, text in {**_ETC_FILES, "/etc/hosts": _hosts(mounts.services)}.items()),
        ("--proc", "/proc"), ("--dev", "/dev"),
        *(("empty", scratch, place) for place in ("/dev/shm", "/tmp", HOME, PRIVATE)),  # noqa: S108 - the sandbox's own
        *(("read", str(folder), str(folder)) for folder in tools.folders if _TEMPORARY in folder.parents),
        ("--remount-ro", "/dev"),
        ("read", str(tools.bwrap), f"{OURS}/bwrap"), ("read", str(tools.init_process), f"{OURS}/init_process.py"),
        ("read", str(inside.program), program), ("read", str(inside.proxy_socket), PROXY_SOCKET),
        *(_tool_step(tools, name, file) for name, file in tools.programs),
        *([("read", str(inside.cache), str(inside.cache))] if inside.cache else []),
        *([("read", str(inside.ports_socket), PORTS_SOCKET)] if inside.ports_socket else []),
        *(("read", str(file), f"{OURS}/{file.name}") for file in inside.authorities),
        ("program", _command_shell(inside.home, mounts.shadow), SHELL),
        ("read", str(mounts.objects), str(mounts.objects)), *_git_steps(inside), *_service_steps(inside, tools),
        ("write", str(inside.home), str(inside.home)), ("write", str(inside.worktree), str(mounts.folder)),
        ("read", str(mounts.folder / ".git"), str(mounts.folder / ".git")),
        ("--remount-ro", "/"), ("--chdir", str(mounts.folder)),
    ]  # fmt: skip
    numbers = (limits.processes, limits.file_bytes, limits.memory_bytes)
    inner = (f"{OURS}/bwrap", "--dev-bind", "/", "/", *_INNER_OPTIONS, "--as-pid-1", "--") if inside.is_command else ()
    sockets = (PORTS_SOCKET if inside.ports_socket else "", _SERVICE_PLAN if _programs(mounts.services) else "")
    return {
        "bwrap": str(tools.bwrap),
        "options": _OPTIONS,
        "uid": uid,
        "filter": seccomp.hex(),
        "steps": steps,
        "layer": _overlay(inside),
        "command": _init_command(tools, *sockets, *map(str, numbers), *inner, program),
    }


def _overlay(inside: MountPlan) -> Mapping[str, str] | None:
    if not (inside.layer and inside.work):
        return None
    return {"lowerdir": str(inside.layer), "upperdir": str(inside.worktree), "workdir": str(inside.work)}


def _programs(services: ServiceMounts | None) -> Sequence[ServiceProgram]:
    return services.programs if services else ()


def _hosts(services: ServiceMounts | None) -> str:
    """Names of the sandbox itself: those of its services lead nowhere else."""
    names = " ".join(("localhost", "treehand", *(services.hosts if services else ())))
    return f"127.0.0.1 {names}\n::1 localhost\n"


def _service_steps(inside: MountPlan, tools: HostTools) -> Iterator[Step]:
    """Services have the rights of a command, and not those of the program that orders commands."""
    services = inside.mounts.services
    if services is None:
        return
    yield ("write", str(services.data), SERVICES)
    if not services.programs:
        return
    yield ("link", "/run", "/var/run")
    yield from (("empty", _SMALL, one.sockets) for one in services.programs if one.sockets)
    described = {"services": [asdict(one) for one in services.programs], "shell": _SERVICE_SHELL}
    yield ("text", json.dumps({**described, "are_needed": inside.is_command}), _SERVICE_PLAN)
    yield ("read", str(tools.service_process), f"{OURS}/service_process.py")
    yield ("program", _service_shell(inside, tools), _SERVICE_SHELL)


def _service_shell(inside: MountPlan, tools: HostTools) -> str:
    """Script that runs one service in namespaces of its own, as a command is run."""
    words = (
        *_command_sandbox(inside.home if not inside.is_command else None, inside.mounts.shadow), "--",
        str(tools.python), "-I", "-S", f"{OURS}/service_process.py", _SERVICE_PLAN, SERVICES,
    )  # fmt: skip
    return _shell_script(f'{shlex.join(words)} "$1"')


def _tool_step(tools: HostTools, name: str, file: Path) -> Step:
    """A link, if the file is shown at its own path because it needs what is beside it."""
    is_shown = any(file.is_relative_to(folder) for folder in tools.folders)
    return ("link" if is_shown else "read", str(file), f"{TOOLS}/{name}")


def _git_steps(inside: MountPlan) -> Iterator[Step]:
    if inside.is_command:
        yield ("write", str(inside.git), str(inside.mounts.shadow))
    else:
        yield ("read", str(inside.git), str(inside.mounts.shadow))
        yield ("write", str(inside.mounts.agent_git), AGENT_GIT)


def _init_command(tools: HostTools, *arguments: str) -> Sequence[str]:
    script = f"{OURS}/init_process.py"
    return (str(tools.python), "-I", "-S", script, str(PROXY_PORT), PROXY_SOCKET, *arguments)


def _command_shell(home: Path, shadow: Path) -> str:
    """Script that runs each command of the agent in namespaces of its own: the command sees no process of the agent's
    program, cannot write that program's home or git directory, gains no rights, and does not get its token for the
    proxy.
    """
    return _shell_script(f'{shlex.join(_command_sandbox(home, shadow))} -- /bin/bash -c "$1"')


def _shell_script(command: str) -> str:
    return f"#!/bin/sh\nunset {' '.join(_NOT_FOR_COMMANDS)}\nexec {command}\n"


def _command_sandbox(home: Path | None, shadow: Path) -> Sequence[str]:
    """`home` is that of the agent's program; None: the host orders the command, and there is none."""
    hidden: tuple[str, ...] = ()
    if home:
        hidden = (
            "--ro-bind", str(home), str(home), "--bind", AGENT_GIT, str(shadow), "--size", _SMALL,
            "--tmpfs", PRIVATE,
        )  # fmt: skip
    return (f"{OURS}/bwrap", "--dev-bind", "/", "/", *hidden, *_INNER_OPTIONS)
