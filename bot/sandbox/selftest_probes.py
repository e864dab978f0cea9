"""Self-test probes: try to get out of a sandbox from inside, as each kind of program that runs in one.

A script of its own that imports nothing of the bot. `probes.py ROLE SCENE`: the role `program` then starts the
role `command`, as the agent's program starts its commands.

Rule: probes touch only files that the self-test planted, and stop at once if they can read a file outside.
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

PROGRAM, COMMAND = "the agent's program", "the agent's command"
ORDERED = (SETUP, VERIFICATION, SERVER) = ("setup", "verification", "a server")
GUARDS = "files outside cannot be read"

_SECONDS = 3.0
_CLONE_NEWUSER, _CLONE_NEWNS = 0x10000000, 0x20000
_TOKEN_VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
_DEVICES = frozenset(
    "console core fd full null ptmx pts random shm stderr stdin stdout tty urandom zero".split()  # noqa: SIM905
)
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
_MEMFD_SECRET, _SEMAPHORES = 447, 65
_FOREIGN_FAMILIES = {"AF_VSOCK": 40, "AF_PACKET": 17, "AF_ALG": 38, "AF_BLUETOOTH": 31}

ProbeScene = dict[str, Any]
RunProbe = Callable[[ProbeScene], str]
"""Returns what the probe could reach, or why it could not be tried; empty if the sandbox holds."""


def main(role: str, file: str) -> None:
    scene = json.loads(Path(file).read_text())
    if leak := _outside_is_unreadable(scene):
        print(json.dumps([role, GUARDS, leak]))  # noqa: T201 - the result goes to standard output
        return
    for name, (roles, probe) in PROBES.items():
        if role in roles:
            print(json.dumps([role, name, _run_probe(probe, scene)]), flush=True)  # noqa: T201 - as above
    if role == PROGRAM:
        outer = str(Path("/proc/self/ns/pid").readlink())
        Path(file).write_text(json.dumps(scene | {"outer": outer}))
        subprocess.run([scene["shell"], scene["command"]], check=False)
        Path(file).write_text(json.dumps(scene))  # a later sandbox may get the number of a namespace that has ended


def _run_probe(probe: RunProbe, scene: ProbeScene) -> str:
    try:
        return probe(scene)
    except (OSError, ValueError, LookupError) as exc:  # a probe that could not be tried counts as failed
        return f"could not be tried: {type(exc).__name__}: {exc}"


# Files


def _outside_is_unreadable(scene: ProbeScene) -> str:
    return " and ".join(guard for guard in scene["guards"] if _succeeds(Path(guard).read_text))


def _outside_is_unwritable(scene: ProbeScene) -> str:
    opened = [guard for guard in scene["guards"] if _succeeds(partial(_open_to_write, guard))]
    made = [place for place in scene["neighbours"] if _succeeds(Path(place, "made").touch)]
    return " and ".join((*opened, *made))


def _worktree_is_writable(scene: ProbeScene) -> str:
    file = Path(scene["worktree"], "made")
    file.write_text("here")
    return "" if file.read_text() == "here" else "what is written is not there"


def _git_is_protected(scene: ProbeScene) -> str:
    pointer = Path(scene["worktree"], ".git")
    _succeeds(Path(scene["shadow"], "made").touch)  # the host searches for this file in writable places
    tries: dict[str, Callable[[], object]] = {
        "be written": partial(_open_to_write, pointer),
        "be renamed": lambda: pointer.rename(pointer.with_name("moved")),
        "be removed": pointer.unlink,
    }
    return _successful(tries, "it can ")


def _objects_are_protected(scene: ProbeScene) -> str:
    folder = Path(scene["objects"])
    (folder / "object").read_text()
    tries: dict[str, Callable[[], object]] = {
        "be added to": (folder / "made").touch,
        "be changed": partial(_open_to_write, folder / "object"),
    }
    return _successful(tries, "they can ")


def _dependencies_are_shown(scene: ProbeScene) -> str:
    """Changes them as far as it can: the host sees whether the others' have changed."""
    if not scene["dependencies"]:
        return ""  # this machine cannot share them
    folder = Path(scene["dependencies"])
    for file in folder.iterdir():
        tries = (partial(file.write_text, "changed"), partial(file.chmod, 0o4777), (folder / "made").touch)
        return "" if all(_succeeds(attempt) for attempt in tries) else "they cannot be changed here"
    return "they are not there"


def _system_is_read_only(_scene: ProbeScene) -> str:
    """Checks mount flags and writes nothing: none of these folders was planted."""
    return " and ".join(
        f"{place} may be written" for place in ("/", "/usr", "/etc") if not os.statvfs(place).f_flag & os.ST_RDONLY
    )


def _home_is_empty(scene: ProbeScene) -> str:
    return " ".join(sorted(os.listdir(scene["home"])))  # noqa: PTH208 - names are enough


def _configuration_is_protected(scene: ProbeScene) -> str:
    made = Path(scene["configuration"], "made")
    return "a command can write the program's configuration" if _succeeds(made.touch) else ""


def _only_harmless_devices(_scene: ProbeScene) -> str:
    return " ".join(sorted(set(os.listdir("/dev")) - _DEVICES))  # noqa: PTH208 - as above


# Rights


def _no_capabilities(_scene: ProbeScene) -> str:
    status = _status()
    held = [f"{name} {status[name]}" for name in ("CapEff", "CapPrm", "CapInh", "CapAmb") if int(status[name], 16)]
    return " ".join([*held, *([] if status["NoNewPrivs"] == "1" else ["new ones can be had"])])


def _calls_are_filtered(_scene: ProbeScene) -> str:
    opened = [name for name, family in _FOREIGN_FAMILIES.items() if not _is_unsupported_family(family)]
    return " ".join(
        [*opened, *_uncounted_memory(), *([] if _status()["Seccomp"] == "2" else ["no filter is in force"])]
    )


def _uncounted_memory() -> list[str]:
    """Kinds of memory that no limit counts."""
    libc = ctypes.CDLL(None, use_errno=True)
    calls: dict[str, Callable[[], int]] = {
        "secret memory": lambda: int(libc.syscall(_MEMFD_SECRET, 0)),
        "large sets of semaphores": lambda: int(libc.semget(0, _SEMAPHORES, 0o600)),
    }
    return [name for name, call in calls.items() if call() >= 0]


def _limits_are_set(scene: ProbeScene) -> str:
    kinds = (resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE, resource.RLIMIT_DATA)
    names = ("processes", "size of files", "memory")
    loose = [
        name
        for name, kind, most in zip(names, kinds, scene["limits"], strict=True)
        if most and not 0 <= resource.getrlimit(kind)[1] <= most
    ]
    return " ".join([*loose, *(["memory dumps"] if resource.getrlimit(resource.RLIMIT_CORE)[1] else [])])


def _no_new_namespaces(_scene: ProbeScene) -> str:
    """Must be the last probe: if it succeeds, this process is in another namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    kinds = {"mount": _CLONE_NEWNS, "user": _CLONE_NEWUSER}
    return " ".join(f"a new {name} namespace" for name, flag in kinds.items() if libc.unshare(flag) == 0)


# Processes


def _own_namespaces(scene: ProbeScene) -> str:
    own = {name: str(Path(f"/proc/self/ns/{name}").readlink()) for name in _NAMESPACES}
    shared = [name for name in _NAMESPACES if own[name] == scene["namespaces"].get(name)]
    return " ".join([*shared, *(["pid, with the program"] if own["pid"] == scene.get("outer") else [])])


def _environments_are_clean(scene: ProbeScene) -> str:
    """Checks every visible process, above all the first."""
    return " ".join(str(place) for place, held in _readable_environments() if scene["canary"].encode() in held)


def _token_is_hidden(_scene: ProbeScene) -> str:
    named = [name for name in _TOKEN_VARIABLES if name in os.environ]  # noqa: TID251 - read inside the sandbox
    return " ".join([*named, *(str(place) for place, held in _readable_environments() if b"=sk-treehand-" in held)])


def _private_folder_is_hidden(scene: ProbeScene) -> str:
    return " ".join(os.listdir(scene["private"]))  # noqa: PTH208 - as above


# The network


def _no_network(_scene: ProbeScene) -> str:
    return " ".join(name for _, name in socket.if_nameindex() if name != "lo")


def _no_ports(scene: ProbeScene) -> str:
    tries: dict[str, Callable[[], object]] = {
        "over IPv4": lambda: socket.create_connection(("127.0.0.1", scene["tcp"]), _SECONDS),
        "over IPv6": lambda: socket.create_connection(("::1", scene["tcp6"]), _SECONDS),
    }
    return _successful(tries)


def _no_datagrams(scene: ProbeScene) -> str:
    """Sends only: the host sees whether the datagram arrives."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"out", ("127.0.0.1", scene["udp"]))
    return ""


def _no_abstract_sockets(scene: ProbeScene) -> str:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_SECONDS)
        return "the host's can be reached" if _succeeds(lambda: connection.connect("\0" + scene["abstract"])) else ""


def _proxy_serves(scene: ProbeScene) -> str:
    answer = _proxy_status(scene, "HEAD / HTTP/1.1", key=_own_token())
    return "" if answer == "200" else f"it answers {answer}"


def _proxy_refuses(scene: ProbeScene) -> str:
    """Only the agent's program has a token, so the proxy refuses all others."""
    messages = "POST /v1/messages HTTP/1.1"
    tries = {
        "messages without the token": _proxy_status(scene, messages),
        "messages with another's": _proxy_status(scene, messages, key="sk-treehand-another"),
        "other addresses": _proxy_status(scene, "GET /v1/files HTTP/1.1", key=_own_token()),
        "tunnels": _proxy_status(scene, f"CONNECT localhost:{scene['tcp']} HTTP/1.1"),
    }
    return ", ".join(f"{what}: {answer}" for what, answer in tries.items() if answer != "403")


COMMANDS = (COMMAND, *ORDERED)
"""Roles that the agent's work may play."""
ALL_ROLES = (PROGRAM, *COMMANDS)
PROBES: dict[str, tuple[tuple[str, ...], RunProbe]] = {
    GUARDS: (ALL_ROLES, _outside_is_unreadable),
    "files outside cannot be written": (ALL_ROLES, _outside_is_unwritable),
    "the worktree can be written": (ALL_ROLES, _worktree_is_writable),
    "the worktree's .git cannot be changed": (ALL_ROLES, _git_is_protected),
    "the repository's objects cannot be changed": (ALL_ROLES, _objects_are_protected),
    "shared dependencies can be changed here only": (ALL_ROLES, _dependencies_are_shown),
    "the system is read-only": (ALL_ROLES, _system_is_read_only),
    "the home is empty": (ALL_ROLES, _home_is_empty),
    "commands cannot change the program's configuration": ((COMMAND,), _configuration_is_protected),
    "no devices": (ALL_ROLES, _only_harmless_devices),
    "no capabilities, and no way to gain any": (ALL_ROLES, _no_capabilities),
    "system calls are filtered": (ALL_ROLES, _calls_are_filtered),
    "limits are in force": (ALL_ROLES, _limits_are_set),
    "namespaces of its own": (ALL_ROLES, _own_namespaces),
    "no environment of the host": (ALL_ROLES, _environments_are_clean),
    "commands do not see the program's token": (COMMANDS, _token_is_hidden),
    "commands do not see the program's sockets": (COMMANDS, _private_folder_is_hidden),
    "no network": (ALL_ROLES, _no_network),
    "no ports of this machine": (ALL_ROLES, _no_ports),
    "no datagrams to this machine": (ALL_ROLES, _no_datagrams),
    "no abstract sockets of this machine": (ALL_ROLES, _no_abstract_sockets),
    "the proxy serves the program": ((PROGRAM,), _proxy_serves),
    "the proxy refuses everything else": (ALL_ROLES, _proxy_refuses),
    "commands make no namespaces": (COMMANDS, _no_new_namespaces),
}
"""Probes by name: the roles that run it, and its function."""


def _succeeds(action: Callable[[], object]) -> bool:
    try:
        action()
    except OSError:
        return False
    return True


def _open_to_write(path: Path | str) -> None:
    """Writes nothing."""
    os.close(os.open(path, os.O_WRONLY))


def _successful(tries: dict[str, Callable[[], object]], prefix: str = "") -> str:
    return " and ".join(prefix + name for name, action in tries.items() if _succeeds(action))


def _is_unsupported_family(family: int) -> bool:
    try:
        socket.socket(family, socket.SOCK_RAW).close()
    except OSError as exc:
        return exc.errno == errno.EAFNOSUPPORT
    return False


def _status() -> dict[str, str]:
    lines = (line.partition(":") for line in Path("/proc/self/status").read_text().splitlines())
    return {name: value.strip() for name, _, value in lines}


def _readable_environments() -> list[tuple[Path, bytes]]:
    """Skips processes that this one may not read."""
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            found.append((place, place.read_bytes()))
        except OSError:
            continue
    return found


def _own_token() -> str:
    return next((os.environ[name] for name in _TOKEN_VARIABLES if name in os.environ), "")  # noqa: TID251 - read inside the sandbox


def _proxy_status(scene: ProbeScene, line: str, key: str = "") -> str:
    """Returns the status of the proxy's answer."""
    shown = f"x-api-key: {key}\r\n" if key else ""
    with socket.create_connection(("127.0.0.1", scene["proxy"]), _SECONDS) as connection:
        connection.sendall(f"{line}\r\nhost: proxy\r\ncontent-length: 0\r\n{shown}\r\n".encode())
        with connection.makefile("rb") as answer:
            return answer.readline().split()[1].decode()


if __name__ == "__main__":
    main(*sys.argv[1:])
