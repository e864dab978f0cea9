"""Tries to get out of a sandbox, from inside: what `selftest.py` has run in one before any agent is. A script of its
own that imports nothing of the bot.

`probes.py ROLE SCENE`: as the agent's program, which then has a command run as that program would; or as that command.

Rule: it acts on nothing but what the self-test planted, and stops at once where it can read what was planted outside.
"""

import ctypes
import errno
import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

PROGRAM, COMMAND = "program", "command"
GUARDS = "files outside cannot be read"

_SECONDS = 3.0
_CLONE_NEWUSER, _CLONE_NEWNS = 0x10000000, 0x20000
_PASSES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
_DEVICES = frozenset(
    "console core fd full null ptmx pts random shm stderr stdin stdout tty urandom zero".split()  # noqa: SIM905
)
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
_FOREIGN_FAMILIES = {"AF_VSOCK": 40, "AF_PACKET": 17, "AF_ALG": 38, "AF_BLUETOOTH": 31}

Scene = dict[str, Any]
Probe = Callable[[Scene], str]
"""What got out, or why it cannot be told; empty: it held."""


def main(role: str, file: str) -> None:
    scene = json.loads(Path(file).read_text())
    if leak := _guards_unread(scene):
        print(json.dumps([role, GUARDS, leak]))  # noqa: T201 - this is how it tells
        return
    for name, (roles, probe) in PROBES.items():
        if role in roles:
            print(json.dumps([role, name, _tried(probe, scene)]), flush=True)  # noqa: T201 - as above
    if role == PROGRAM:
        scene |= {"outer": str(Path("/proc/self/ns/pid").readlink())}
        Path(file).write_text(json.dumps(scene))
        subprocess.run([scene["shell"], scene["command"]], check=False)


def _tried(probe: Probe, scene: Scene) -> str:
    try:
        return probe(scene)
    except (OSError, ValueError, LookupError) as exc:  # what could not be tried does not hold
        return f"could not be tried: {type(exc).__name__}: {exc}"


# Files


def _guards_unread(scene: Scene) -> str:
    return " and ".join(guard for guard in scene["guards"] if _works(Path(guard).read_text))


def _guards_unwritten(scene: Scene) -> str:
    opened = [guard for guard in scene["guards"] if _works(partial(_open_to_write, guard))]
    made = [place for place in scene["neighbours"] if _works(Path(place, "made").touch)]
    return " and ".join((*opened, *made))


def _worktree_is_ours(scene: Scene) -> str:
    file = Path(scene["worktree"], "made")
    file.write_text("here")
    return "" if file.read_text() == "here" else "what is written is not there"


def _git_stays(scene: Scene) -> str:
    pointer = Path(scene["worktree"], ".git")
    tries: dict[str, Callable[[], object]] = {
        "be written": partial(_open_to_write, pointer),
        "be renamed": lambda: pointer.rename(pointer.with_name("moved")),
        "be removed": pointer.unlink,
    }
    return _those_that_work(tries, "it can ")


def _objects_stay(scene: Scene) -> str:
    folder = Path(scene["objects"])
    (folder / "object").read_text()
    tries: dict[str, Callable[[], object]] = {
        "be added to": (folder / "made").touch,
        "be changed": partial(_open_to_write, folder / "object"),
    }
    return _those_that_work(tries, "they can ")


def _system_stays(_scene: Scene) -> str:
    """Asked, not tried: nothing there was planted."""
    return " and ".join(
        f"{place} may be written" for place in ("/", "/usr", "/etc") if not os.statvfs(place).f_flag & os.ST_RDONLY
    )


def _home_is_bare(scene: Scene) -> str:
    return " ".join(sorted(os.listdir(scene["home"])))  # noqa: PTH208 - names are enough


def _configuration_stays(scene: Scene) -> str:
    made = Path(scene["configuration"], "made")
    return "a command can write what the program obeys" if _works(made.touch) else ""


def _devices(_scene: Scene) -> str:
    return " ".join(sorted(set(os.listdir("/dev")) - _DEVICES))  # noqa: PTH208 - as above


# Rights


def _no_rights(_scene: Scene) -> str:
    status = _status()
    held = [f"{name} {status[name]}" for name in ("CapEff", "CapPrm", "CapInh", "CapAmb") if int(status[name], 16)]
    return " ".join([*held, *([] if status["NoNewPrivs"] == "1" else ["new ones can be had"])])


def _filtered(_scene: Scene) -> str:
    opened = [name for name, family in _FOREIGN_FAMILIES.items() if not _is_no_family(family)]
    return " ".join([*opened, *([] if _status()["Seccomp"] == "2" else ["no filter is in force"])])


def _limited(scene: Scene) -> str:
    kinds = (resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE, resource.RLIMIT_DATA)
    names = ("processes", "size of files", "memory")
    loose = [
        name
        for name, kind, most in zip(names, kinds, scene["limits"], strict=True)
        if most and not 0 <= resource.getrlimit(kind)[1] <= most
    ]
    return " ".join([*loose, *(["memory dumps"] if resource.getrlimit(resource.RLIMIT_CORE)[1] else [])])


def _no_worlds_of_its_own(_scene: Scene) -> str:
    """Last: where it works, this process is elsewhere."""
    libc = ctypes.CDLL(None, use_errno=True)
    kinds = {"mount": _CLONE_NEWNS, "user": _CLONE_NEWUSER}
    return " ".join(f"a new {name} namespace" for name, flag in kinds.items() if libc.unshare(flag) == 0)


# Processes


def _apart(scene: Scene) -> str:
    own = {name: str(Path(f"/proc/self/ns/{name}").readlink()) for name in _NAMESPACES}
    shared = [name for name in _NAMESPACES if own[name] == scene["namespaces"].get(name)]
    return " ".join([*shared, *(["pid, with the program"] if own["pid"] == scene.get("outer") else [])])


def _environments_are_clean(scene: Scene) -> str:
    """Of every process that can be seen, the first one's above all."""
    return " ".join(str(place) for place, held in _environments() if scene["canary"].encode() in held)


def _pass_is_hidden(_scene: Scene) -> str:
    named = [name for name in _PASSES if name in os.environ]  # noqa: TID251 - its own
    return " ".join([*named, *(str(place) for place, held in _environments() if b"=sk-treehand-" in held)])


def _private_folder_is_hidden(scene: Scene) -> str:
    return " ".join(os.listdir(scene["private"]))  # noqa: PTH208 - as above


# The network


def _no_network(_scene: Scene) -> str:
    return " ".join(name for _, name in socket.if_nameindex() if name != "lo")


def _no_ports(scene: Scene) -> str:
    tries: dict[str, Callable[[], object]] = {
        "over IPv4": lambda: socket.create_connection(("127.0.0.1", scene["tcp"]), _SECONDS),
        "over IPv6": lambda: socket.create_connection(("::1", scene["tcp6"]), _SECONDS),
    }
    return _those_that_work(tries)


def _no_datagrams(scene: Scene) -> str:
    """Sending tells nothing: whether it arrives is seen on the other side."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"out", ("127.0.0.1", scene["udp"]))
    return ""


def _no_abstract_sockets(scene: Scene) -> str:
    with socket.socket(socket.AF_UNIX) as caller:
        caller.settimeout(_SECONDS)
        return "the host's can be reached" if _works(lambda: caller.connect("\0" + scene["abstract"])) else ""


def _gate_serves(scene: Scene) -> str:
    answer = _asked(scene, "HEAD / HTTP/1.1", key=_own_pass())
    return "" if answer == "200" else f"it answers {answer}"


def _gate_refuses(scene: Scene) -> str:
    """A command has no pass to show, so it is refused as a stranger is."""
    messages = "POST /v1/messages HTTP/1.1"
    tries = {
        "messages without the pass": _asked(scene, messages),
        "messages with another's": _asked(scene, messages, key="sk-treehand-another"),
        "other addresses": _asked(scene, "GET /v1/files HTTP/1.1", key=_own_pass()),
        "tunnels": _asked(scene, f"CONNECT localhost:{scene['tcp']} HTTP/1.1"),
    }
    return ", ".join(f"{what}: {answer}" for what, answer in tries.items() if answer != "403")


BOTH = (PROGRAM, COMMAND)
PROBES: dict[str, tuple[tuple[str, ...], Probe]] = {
    GUARDS: (BOTH, _guards_unread),
    "files outside cannot be written": (BOTH, _guards_unwritten),
    "the worktree can be written": (BOTH, _worktree_is_ours),
    "the worktree's .git stays": (BOTH, _git_stays),
    "the repository's objects stay": (BOTH, _objects_stay),
    "the system is read-only": (BOTH, _system_stays),
    "the home is empty": (BOTH, _home_is_bare),
    "commands cannot change the program's configuration": ((COMMAND,), _configuration_stays),
    "no devices": (BOTH, _devices),
    "no capabilities, and none to be had": (BOTH, _no_rights),
    "system calls are filtered": (BOTH, _filtered),
    "limits are in force": (BOTH, _limited),
    "namespaces of its own": (BOTH, _apart),
    "no environment of the host": (BOTH, _environments_are_clean),
    "commands do not see the program's pass": ((COMMAND,), _pass_is_hidden),
    "commands do not see the program's sockets": ((COMMAND,), _private_folder_is_hidden),
    "no network": (BOTH, _no_network),
    "no ports of this machine": (BOTH, _no_ports),
    "no datagrams to this machine": (BOTH, _no_datagrams),
    "no abstract sockets of this machine": (BOTH, _no_abstract_sockets),
    "the gate serves the program": ((PROGRAM,), _gate_serves),
    "the gate refuses what it should": (BOTH, _gate_refuses),
    "commands make no namespaces": ((COMMAND,), _no_worlds_of_its_own),
}
"""By name: who tries it, and how."""


def _works(deed: Callable[[], object]) -> bool:
    try:
        deed()
    except OSError:
        return False
    return True


def _open_to_write(path: Path | str) -> None:
    """And write nothing."""
    os.close(os.open(path, os.O_WRONLY))


def _those_that_work(tries: dict[str, Callable[[], object]], prefix: str = "") -> str:
    return " and ".join(prefix + name for name, deed in tries.items() if _works(deed))


def _is_no_family(family: int) -> bool:
    try:
        socket.socket(family, socket.SOCK_RAW).close()
    except OSError as exc:
        return exc.errno == errno.EAFNOSUPPORT
    return False


def _status() -> dict[str, str]:
    lines = (line.partition(":") for line in Path("/proc/self/status").read_text().splitlines())
    return {name: value.strip() for name, _, value in lines}


def _environments() -> list[tuple[Path, bytes]]:
    """Of those that let themselves be read."""
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            found.append((place, place.read_bytes()))
        except OSError:
            continue
    return found


def _own_pass() -> str:
    return next((os.environ[name] for name in _PASSES if name in os.environ), "")  # noqa: TID251 - its own


def _asked(scene: Scene, line: str, key: str = "") -> str:
    """The status of the gate's answer."""
    shown = f"x-api-key: {key}\r\n" if key else ""
    with socket.create_connection(("127.0.0.1", scene["gate"]), _SECONDS) as caller:
        caller.sendall(f"{line}\r\nhost: gate\r\ncontent-length: 0\r\n{shown}\r\n".encode())
        with caller.makefile("rb") as answer:
            return answer.readline().split()[1].decode()


if __name__ == "__main__":
    main(*sys.argv[1:])
