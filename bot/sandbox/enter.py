"""Starts bubblewrap with a mount plan: drops root, passes only allow-listed variables, dies with the bot.

A script of its own that imports nothing of the bot. `enter.py PLAN ARGUMENT...`, with KEEP (names of variables,
separated by commas) and PARENT in the environment.

Root first mounts the folders, in a mount namespace of its own, at paths that an ordinary user can reach, and then
becomes that user: a program that breaks out of the sandbox has no rights, and sees only those folders.

A worktree with a layer is an overlay: the layer below is only read, and what programs write lies in the worktree. An
ordinary user mounts it in a user namespace, which has no rights outside.
"""

import contextlib
import ctypes
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

KEEP = "TREEHAND_KEEP"
PARENT = "TREEHAND_PARENT"

_CLONE_NEWNS, _CLONE_NEWUSER = 0x20000, 0x10000000
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_PRIVATE = 0x2, 0x4, 0x1000, 0x4000, 0x40000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SYS_OPEN_TREE, _SYS_MOVE_MOUNT, _SYS_MOUNT_SETATTR = 428, 429, 442
_OPEN_TREE_CLONE, _MOVE_MOUNT_F_EMPTY_PATH, _AT_EMPTY_PATH = 0x1, 0x4, 0x1000
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV, _ATTR_IDMAP = 0x1, 0x2, 0x4, 0x100000
_AT_FDCWD = -100
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_STAGING_FOLDERS = ("/mnt", "/media", "/run")

_libc = ctypes.CDLL(None, use_errno=True)

_Layer = dict[str, str]
"""Folders of an overlay by the names that the kernel has for them; the `upperdir` is the worktree."""


def main(file: str, *arguments: str) -> None:
    with Path(file).open(encoding="utf-8") as stream:
        plan = json.load(stream)
    environment = dict(os.environ)  # noqa: TID251 - handed on, not read
    keep = set(environment.get(KEEP, "").split(","))
    parent = int(environment[PARENT])
    os.setsid()
    os.umask(0o022)  # files of agents get the usual permissions, although files of the daemon are private
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    _prefer_oom_kill()
    sources = [step[1] for step in plan["steps"] if step[0] in {"read", "write"}]
    _refuse_symlinks(sources)
    layer = plan["layer"]
    if os.geteuid() == 0:
        staged = dict(zip(sources, _stage_sources(sources, layer, plan["uid"]), strict=True))
        _drop_root(plan["uid"])
    else:
        staged = dict(zip(sources, sources, strict=True))
        if layer:
            _mount_as_user(layer)
    _die_with_parent(parent)
    command = [*_bwrap_arguments(plan, staged), "--", *plan["command"], *arguments]
    os.execve(plan["bwrap"], ["bwrap", *command], {name: value for name, value in environment.items() if name in keep})  # noqa: S606


def _prefer_oom_kill() -> None:
    """The kernel kills the sandbox's programs first when memory runs out, and not the bot."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _refuse_symlinks(sources: Sequence[str]) -> None:
    """An agent may have replaced a file of the plan by a symlink, which would show its target."""
    for source in sources:
        if Path(source).is_symlink():
            sys.exit(f"{source} is a link")


def _stage_sources(sources: Sequence[str], layer: _Layer | None, uid: int) -> list[str]:
    """Mounts each source at a path that needs no rights to the folders above it; returns these paths."""
    _check(_libc.unshare(_CLONE_NEWNS), "a mount namespace")
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    opened = [os.open(source, os.O_PATH | os.O_NOFOLLOW) for source in sources]
    of_layer = _open_folders(layer) if layer else {}
    stage = next(folder for folder in _STAGING_FOLDERS if Path(folder).is_dir())
    _mount("tmpfs", stage, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=0755")
    places = [f"{stage}/{number}" for number in range(len(sources))]
    for source, place, descriptor in zip(sources, places, opened, strict=True):
        if Path(source).is_dir():
            Path(place).mkdir()
        else:
            os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o644))
        _mount(f"/proc/self/fd/{descriptor}", place, None, _MS_BIND | _MS_REC)
        os.close(descriptor)
    if layer:
        _mount_as_root(of_layer, f"{stage}/layer", places[sources.index(layer["upperdir"])], uid)
    return places


def _open_folders(layer: _Layer) -> dict[str, int]:
    return {name: os.open(folder, _FOLDER) for name, folder in layer.items()}


def _mount_as_user(layer: _Layer) -> None:
    """Mounts it over the worktree, in namespaces of this process. Its user stays the same."""
    uid, gid = os.geteuid(), os.getegid()
    _check(_libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS), "a user namespace")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    _mount_overlay(_open_folders(layer), layer["upperdir"], "userxattr")


def _mount_as_root(folders: dict[str, int], stage: str, place: str, uid: int) -> None:
    """Shows the layer's files as the property of the sandbox's user. Agents cannot forge the marks of this overlay."""
    below = folders["lowerdir"]
    owner = os.fstat(below)
    Path(stage).mkdir()
    clone = _libc.syscall(_SYS_OPEN_TREE, below, b"", _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_EMPTY_PATH)
    _check(min(clone, 0), "a mount of the layer")
    with _user_namespace((owner.st_uid, owner.st_gid), uid) as namespace:
        attributes = (ctypes.c_uint64 * 4)(_ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV | _ATTR_IDMAP, 0, 0, namespace)
        size = ctypes.c_size_t(ctypes.sizeof(attributes))
        _check(_libc.syscall(_SYS_MOUNT_SETATTR, clone, b"", _AT_EMPTY_PATH, attributes, size), "the layer's owner")
    _check(_libc.syscall(_SYS_MOVE_MOUNT, clone, b"", _AT_FDCWD, stage.encode(), _MOVE_MOUNT_F_EMPTY_PATH), stage)
    os.close(clone)
    os.close(below)
    _mount_overlay({**folders, "lowerdir": os.open(stage, _FOLDER)}, place, "redirect_dir=nofollow,metacopy=off")


@contextlib.contextmanager
def _user_namespace(owner: tuple[int, int], shown: int) -> Iterator[int]:
    """Yields a user namespace in which the files of one user are another's."""
    (heard, says), (waits, ends) = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        os.close(ends)
        os.write(says, b"0" if _libc.unshare(_CLONE_NEWUSER) else b"1")
        os.read(waits, 1)
        os._exit(0)
    try:
        if os.read(heard, 1) != b"1":
            sys.exit("a user namespace for the layer cannot be made")
        for kind, inside in zip(("uid_map", "gid_map"), owner, strict=True):
            Path(f"/proc/{child}/{kind}").write_text(f"{inside} {shown} 1")
        namespace = os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        for end in (heard, says, waits, ends):
            os.close(end)
        os.waitpid(child, 0)
    yield namespace
    os.close(namespace)


def _mount_overlay(folders: dict[str, int], place: str, options: str) -> None:
    """Names folders by descriptors: a path may have any character."""
    named = [f"{name}=/proc/self/fd/{opened}" for name, opened in folders.items()]
    _mount("overlay", place, "overlay", _MS_NOSUID | _MS_NODEV, ",".join((*named, options)))
    for opened in folders.values():
        os.close(opened)


def _drop_root(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _die_with_parent(parent: int) -> None:
    """Must be called after the user has changed, which makes the kernel forget it."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the daemon has ended")


def _bwrap_arguments(plan: dict[str, Any], staged: dict[str, str]) -> list[str]:
    filtered = ["--seccomp", str(_memory_file(bytes.fromhex(plan["filter"])))] if plan["filter"] else []
    return [*plan["options"], *filtered, *(word for step in plan["steps"] for word in _bwrap_options(step, staged))]


def _bwrap_options(step: Sequence[str], staged: dict[str, str]) -> Iterator[str]:
    match step:
        case ["read", source, place]:
            yield from ("--ro-bind", staged[source], place)
        case ["write", source, place]:
            yield from ("--bind", staged[source], place)
        case ["text", text, place]:
            yield from ("--perms", "0444", "--ro-bind-data", str(_memory_file(text.encode())), place)
        case ["program", text, place]:
            yield from ("--perms", "0555", "--ro-bind-data", str(_memory_file(text.encode())), place)
        case ["empty", size, place]:
            yield from ("--perms", "0755", "--size", size, "--tmpfs", place)
        case ["link", target, place]:
            yield from ("--symlink", target, place)
        case [option, place]:
            yield from (option, place)


def _memory_file(content: bytes) -> int:
    """Returns a descriptor that bubblewrap inherits and reads the content from."""
    descriptor = os.memfd_create("treehand", 0)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _mount(source: str, place: str, kind: str | None, flags: int, data: str | None = None) -> None:
    words = [word.encode() if word else None for word in (source, place, kind)]
    _check(_libc.mount(*words, ctypes.c_ulong(flags), data.encode() if data else None), place)


def _check(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


if __name__ == "__main__":
    main(*sys.argv[1:])
