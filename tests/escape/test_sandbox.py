"""T6, T8, T10, T11, T17, privileges: the program of an attacker tries every way out of the sandbox."""

import asyncio
import base64
import json
import os
import secrets
import shlex
import socket
import sys
import tempfile
import urllib.parse
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from bot.sandbox.mount_plan import PROXY_PORT
from tests.escape.attempts import refusals, succeeded
from tests.workspace.conftest import run_git

pytestmark = pytest.mark.attack("T6", "A program tries every way out of the sandbox")

BOTH = pytest.mark.parametrize("as_command", [True, False], ids=["a command", "in place of the program"])

_READ_ALL = """
import os, sys
skipped = {"/usr", "/proc", sys.argv[1]}
out = open("read", "wb")
def take(path):
    try:
        out.write(b"\\n" + path.encode(errors="surrogateescape") + b"\\n")
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            out.write(file.read(8_000_000))
    except OSError:
        pass
for here, folders, files in os.walk("/"):
    folders[:] = [name for name in folders if os.path.join(here, name) not in skipped]
    for name in (*folders, *files):
        path = os.path.join(here, name)
        if os.path.islink(path):
            out.write(os.readlink(path).encode(errors="surrogateescape"))
        elif os.path.isfile(path) and path != os.path.abspath("read"):
            take(path)
for process in os.listdir("/proc"):
    if process.isdigit() or process == "self":
        for name in ("environ", "cmdline", "mountinfo", "maps"):
            take(f"/proc/{process}/{name}")
        for folder in ("fd", "root/root", "cwd/.."):
            try:
                names = os.listdir(f"/proc/{process}/{folder}")
            except OSError:
                continue
            for name in names:
                if os.path.isfile(f"/proc/{process}/{folder}/{name}"):
                    take(f"/proc/{process}/{folder}/{name}")
for name in ("version", "cmdline", "mounts", "net/unix", "net/tcp", "keys", "sched_debug", "kallsyms", "kmsg"):
    take(f"/proc/{name}")
print("read")
"""
"""All files except the tools of the machine, where no test planted anything."""


def encodings_of(secret: str) -> dict[str, bytes]:
    raw = secret.encode()
    return {
        "plain": raw,
        "base64": base64.b64encode(raw)[:-4],
        "hex": raw.hex().encode(),
        "reversed": raw[::-1],
        "base32": base64.b32encode(raw)[:-8],
        "in a URL": "".join(f"%{byte:02X}" for byte in raw).encode(),
        "quoted": urllib.parse.quote(secret).encode(),
    }


@pytest.fixture
def canaries(project, tmp_path, monkeypatch) -> dict[str, str]:
    """Secrets of the daemon, by place. The files are readable for every user of this machine: their modes must not be
    what protects them."""
    person = tmp_path / "person"
    person.mkdir()
    planted = {where: f"canary-{secrets.token_hex(12)}" for where in ("env", "state", "home", "worktree", "mirror")}
    monkeypatch.setenv("TREEHAND_CANARY", planted["env"])
    monkeypatch.setenv("HOME", str(person))
    files = {"state": project.state / "credentials", "home": person / ".netrc",
             "worktree": project.other.path / "notes.txt", "mirror": project.mirror / "description"}  # fmt: skip
    for where, file in files.items():
        file.write_text(planted[where])
        file.chmod(0o644)
    for folder in (tmp_path, project.state, person):
        folder.chmod(0o755)
    return planted


@BOTH
async def test_t6_none_of_the_hosts_secrets_can_be_read_in_any_encoding(project, canaries, as_command):
    async with project.open_sandbox() as attacker:
        assert "read" in await attacker.python(_READ_ALL, sys.base_prefix, as_command=as_command)
    found = (project.mine.path / "read").read_bytes()
    assert b"hello\n" in found, "it read nothing at all"
    assert b"/opt/treehand/init_process.py" in found
    secrets_here = {**canaries, "key": "sk-ant-REAL-KEY", "guard": project.guard.read_text()}
    hits = {(where, how) for where, secret in secrets_here.items()
            for how, text in encodings_of(secret).items() if text in found}  # fmt: skip
    assert hits == set()


@BOTH
async def test_t17_files_of_other_runs_and_of_the_daemon_are_absent(project, as_command):
    (project.state / "homes" / "shop-2").mkdir(parents=True)
    for name in ("treehand.db", "treehand.log", "transcripts", "told"):
        (project.state / name).write_text("x")
    known = (project.other.path, project.other.mounts.shadow, project.state / "homes" / "shop-2",
             project.mirror / "HEAD", project.mirror / "config", project.mirror / "refs",
             project.mirror / "packed-refs", project.state / "cells",
             project.mirror / "worktrees", project.state / "treehand.db", project.state / "treehand.log", project.guard,
             project.state / "transcripts", project.origin.bare, Path("/etc/shadow"), Path("/etc/hostname"),
             Path("/etc/machine-id"), Path("/var"), Path("/sys"), Path("/boot"), Path("/srv"), Path("/root/.ssh"),
             Path("/etc/resolv.conf"), Path("/etc/ssl/private"), Path("/run/systemd"), Path("/run/user"))  # fmt: skip
    missing = {str(path): f"os.lstat({str(path)!r})" for path in known}
    async with project.open_sandbox() as attacker:
        told = await refusals(attacker, missing, as_command=as_command)
        there = await attacker.run(f"cd {project.state} && find . -maxdepth 3 | sort", as_command=as_command)
    assert set(told.values()) == {"ENOENT"}, told
    assert set(there.split()) == {
        ".", "./homes", "./homes/shop-1", "./mirrors", "./mirrors/shop.git", "./mirrors/shop.git/objects", "./shadows",
        "./shadows/shop", "./shadows/shop/shop-1", "./worktrees", "./worktrees/shop", "./worktrees/shop/shop-1",
    }  # fmt: skip


@BOTH
async def test_t11_objects_of_the_mirror_are_readable_and_read_only(project, as_command):
    objects = project.mirror / "objects"
    loose = next((path for path in objects.rglob("*") if path.is_file()), objects)
    before = {path: path.read_bytes() for path in objects.rglob("*") if path.is_file()}
    async with project.open_sandbox() as attacker:
        told = await refusals(attacker, {
            "overwrite": f"open({str(loose)!r}, 'wb')",
            "append": f"open({str(loose)!r}, 'ab')",
            "remove": f"os.unlink({str(loose)!r})",
            "add": f"open({str(objects / 'new')!r}, 'wb')",
            "alternates": f"open({str(objects / 'info' / 'alternates')!r}, 'wb')",
            "pack": f"os.mkdir({str(objects / 'pack' / 'x')!r})",
            "mode": f"os.chmod({str(loose)!r}, 0o777)",
            "link out": f"os.link({str(loose)!r}, 'linked')",
            "rename": f"os.rename({str(objects)!r}, {str(objects) + '2'!r})",
            "remount": f"mount('none', {str(objects)!r}, '', 0x20 | 0x1000)",
            "through a descriptor": f"fd = os.open({str(loose)!r}, 0); open(f'/proc/self/fd/{{fd}}', 'wb')",
        }, as_command=as_command)  # fmt: skip
        await attacker.run("git log -1 && git add -A && git commit -qm x && git stash list", as_command=True)
    assert succeeded(told) == {}
    assert {path: path.read_bytes() for path in objects.rglob("*") if path.is_file()} == before
    assert run_git(project.mirror, "fsck", "--strict") == ""


POINTER = {
    "write": "open('.git', 'w')",
    "append": "open('.git', 'a')",
    "remove": "os.unlink('.git')",
    "replace": "open('x', 'w').close(); os.replace('x', '.git')",
    "move": "os.rename('.git', 'y')",
    "mode": "os.chmod('.git', 0o777)",
    "its time": "os.utime('.git')",
    "mount over": "mount('x', '.git', '', 0x1000)",
    "unmount": "check(libc.umount2(b'.git', 2))",
    "move the worktree": "os.rename(os.getcwd(), os.getcwd() + '2')",
    "remove the worktree": "os.rmdir(os.getcwd())",
}


@BOTH
async def test_t10_the_pointer_to_git_cannot_be_changed(project, as_command):
    before = (project.mine.path / ".git").read_text()
    async with project.open_sandbox() as attacker:
        assert succeeded(await refusals(attacker, POINTER, as_command=as_command)) == {}
        # if a state_dir is below a folder of the sandbox, such as /tmp, this works and concerns its own folder
        await attacker.run("touch ../x ../../x; mkdir ../y", as_command=as_command, ends_well=False)
    assert (project.mine.path / ".git").read_text() == before
    assert {path.name for path in project.mine.path.parent.iterdir()} == {"shop-1", "shop-2"}


MORE = {
    "mount a tmpfs": "mount('tmpfs', '/tmp', 'tmpfs', 0)",
    "mount proc": "os.makedirs('/tmp/p', exist_ok=True); mount('proc', '/tmp/p', 'proc', 0)",
    "bind": "os.makedirs('/tmp/b', exist_ok=True); mount('/', '/tmp/b', '', 0x1000)",
    "remount the root": "mount('none', '/', '', 0x20 | 0x1000)",
    "remount /usr": "mount('none', '/usr', '', 0x20 | 0x1000)",
    "unmount /tmp": "check(libc.umount2(b'/tmp', 2))",
    "unmount /proc": "check(libc.umount2(b'/proc', 2))",
    "the new way to mount": "call(428, -100, b'/', 1)",
    "pivot": "call(155, b'/tmp', b'/tmp')",
    "chroot": "os.chroot('/tmp')",
    "the first process's namespaces": "[check(libc.setns(os.open(f'/proc/1/ns/{n}', 0), 0)) for n in ('mnt', 'user')]",
    "a device": "os.mknod('/tmp/mem', 0o20666, os.makedev(1, 1))",
    "a device in the worktree": "os.mknod('disk', 0o60666, os.makedev(8, 0))",
    "memory": "open('/dev/mem', 'rb')",
    "the kernel's memory": "open('/proc/kcore', 'rb').read(10)",
    "the kernel's log": "open('/dev/kmsg', 'rb')",
    "/sys": "os.listdir('/sys')",
    "core_pattern": "open('/proc/sys/kernel/core_pattern', 'w')",
    "sysrq": "open('/proc/sysrq-trigger', 'w')",
    "forwarding": "put('/proc/sys/net/ipv4/ip_forward', b'1')",
    "become root": "os.setuid(0)",
    "become another": "os.setuid(1)",
    "groups": "os.setgroups([0])",
    "another's file": "os.chown('README.md', 0, 0)",
    "sudo": "run('sudo', '-n', 'true')",
    "su": "run('su', '-c', 'true')",
    "raise the limit of processes":
        "check(libc.setrlimit(6, struct.pack('QQ', 1 << 20, 1 << 20)))",
    "keyring": "call(248, b'user', b'x', b'x', 1, -2)",
    "join a keyring": "call(250, 1, None)",
    "io_uring": "call(425, 8, ctypes.create_string_buffer(256))",
    "bpf": "call(321, 0, None, 0)",
    "perf": "call(298, None, 0, -1, -1, 0)",
    "userfaultfd": "call(323, 0)",
    "open by handle": "call(304, -100, ctypes.create_string_buffer(64), 0)",
    "a kernel module": "call(313, 0, b'', 0)",
    "another kernel": "call(246, 0, 0, None, 0)",
    "reboot": "call(169, 0xfee1dead, 672274793, 0, None)",
    "the clock": "call(227, 0, ctypes.create_string_buffer(16))",
    "type on a terminal": "fcntl.ioctl(os.open('/dev/tty', os.O_RDWR), termios.TIOCSTI, b'x')",
    "type on the input": "fcntl.ioctl(0, termios.TIOCSTI, b'x')",
    "a vsock": "socket.socket(40, socket.SOCK_STREAM)",
    "packets": "socket.socket(17, socket.SOCK_RAW, 3)",
    "the kernel's crypto": "socket.socket(38, socket.SOCK_SEQPACKET)",
    "bluetooth": "socket.socket(31, socket.SOCK_RAW, 1)",
    "xdp": "socket.socket(44, socket.SOCK_RAW)",
    "keys": "socket.socket(15, socket.SOCK_RAW, 2)",
    "tipc": "socket.socket(30, socket.SOCK_DGRAM)",
    "a pair of vsocks": "socket.socketpair(40, socket.SOCK_STREAM)",
    "raw": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "raw 6": "socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58)",
    "the tools": "open('/usr/x', 'w')",
    "our own programs": "open('/opt/treehand/shell', 'w')",
    "the names": "open('/etc/passwd', 'a')",
    "/dev": "open('/dev/x', 'w')",
    "the root": "os.mkdir('/x')",
    "/root": "open('/root/x', 'w')",
    "a file of the host by the first process's root": "os.lstat('/proc/1/root/var')",
}  # fmt: skip
ONLY_COMMANDS = {
    "a user namespace": "run('unshare', '-U', 'true')",
    "all namespaces": "run('unshare', '-Urmpnf', 'true')",
    "a bubblewrap": "run('/opt/treehand/bwrap', '--bind', '/', '/', '--unshare-user', 'true')",
    "clone3": "call(272, 0x10000000)",
    "the agent's history": "open(os.environ['CLAUDE_CONFIG_DIR'] + '/x', 'w')",
    "the program's inner room": "[os.lstat(one) for one in glob.glob('/run/agent/*')][0] if glob.glob('/run/agent/*') "
    "else os.lstat('/run/agent/x')",
    "another of the outer processes": "[os.kill(one, 0) for one in range(3, 40) if one != os.getpid() and not "
    "os.path.exists(f'/proc/{one}')] and os.kill(1 << 20, 0)",
}


@BOTH
async def test_no_privilege_can_be_gained(project, as_command):
    attempts = {**MORE, **(ONLY_COMMANDS if as_command else {})}
    async with project.open_sandbox() as attacker:
        told = await refusals(attacker, attempts, as_command=as_command)
        status = await attacker.run("grep -E 'Cap|NoNew|Seccomp:' /proc/self/status", as_command=as_command)
    assert succeeded(told) == {}
    assert told["io_uring"] == "ENOSYS"
    assert {told[name] for name in ("a vsock", "packets", "the kernel's crypto", "xdp", "tipc")} == {"EAFNOSUPPORT"}
    facts = dict(line.split(":") for line in status.splitlines())
    assert {facts[name].strip("\t0") for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {""}
    assert (facts["NoNewPrivs"].strip(), facts["Seccomp"].strip()) == ("1", "2")


async def test_a_setuid_program_gains_no_privilege(project):
    async with project.open_sandbox() as attacker:
        who = await attacker.run("cp /usr/bin/id ./id && chmod 6755 id && ./id -u && id -u")
        assert who.split() == ["1000", "1000"]
        script = "for one in /usr/bin/su /usr/bin/passwd /usr/bin/mount; do [ -u $one ] && $one --help >/dev/null; done"
        found = await attacker.run(f"{script}; grep NoNewPrivs /proc/self/status")
        assert found.split()[-1] == "1"


@pytest.fixture
def in_groups(as_root):
    """Returns groups like those of root's processes."""
    before = os.getgroups()
    os.setgroups([0, 4])
    yield
    os.setgroups(before)


async def test_as_root_files_of_an_agent_belong_to_an_unused_user_id(project, in_groups):
    async with project.open_sandbox() as attacker:
        await attacker.run("touch made; mkdir folder; id -u")
        assert (await attacker.run("grep Groups: /proc/self/status")).split() == ["Groups:"]
    owners = {(project.mine.path / name).stat().st_uid for name in ("made", "folder")}
    assert len(owners) == 1
    assert owners.pop() >= 59_000
    assert project.mirror.stat().st_uid == 0


async def test_when_memory_runs_out_the_kernel_kills_an_agent_first(project):
    async with project.open_sandbox() as attacker:
        assert (await attacker.run("cat /proc/self/oom_score_adj")).strip() == "1000"


@pytest.fixture
def listening(tmp_path):
    """Servers of the test on this machine, in place of those of the daemon and of others."""
    with ExitStack() as stack:

        def server(family: int, kind: int, address: object) -> socket.socket:
            made = stack.enter_context(socket.socket(family, kind))
            made.bind(address)
            made.settimeout(0)
            if kind == socket.SOCK_STREAM:
                made.listen()
            return made

        yield {
            "tcp": server(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            "everywhere": server(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.2", 0)),
            "tcp6": server(socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0)),
            "udp": server(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            "udp6": server(socket.AF_INET6, socket.SOCK_DGRAM, ("::1", 0)),
            "abstract": server(socket.AF_UNIX, socket.SOCK_STREAM, f"\0treehand-{secrets.token_hex(4)}"),
            "path": server(socket.AF_UNIX, socket.SOCK_STREAM, str(tmp_path / "s")),
        }


_CALL_OUT = """
import json, socket, sys
ways = [line.split()[0] for line in open("/proc/net/route").read().splitlines()[1:]]
cards = [line.split(":")[0].strip() for line in open("/proc/net/dev").read().splitlines()[2:]]
print(json.dumps({"routes": ways, "cards": cards}), flush=True)
if ways or cards != ["lo"]:
    sys.exit(1)  # this is no sandbox: not a packet more
for name, family, kind, address in json.loads(sys.argv[1]):
    address = tuple(address) if isinstance(address, list) else address
    try:
        with socket.socket(family, kind) as way:
            way.settimeout(2)
            way.connect(address)
            way.send(b"canary")
            how = "sent"
    except OSError as exc:
        how = type(exc).__name__
    print(json.dumps({name: how}), flush=True)
try:
    socket.getaddrinfo("example.invalid", 443)
    print(json.dumps({"names": "found"}))
except OSError as exc:
    print(json.dumps({"names": "none"}))
listeners = [line.split()[1] for line in open("/proc/net/tcp").read().splitlines()[1:] if line.split()[3] == "0A"]
print(json.dumps({"listeners": listeners}))
"""


@BOTH
async def test_t8_only_the_proxy_is_reachable(project, listening, as_command):
    asked = [(name, int(one.family), int(one.type), one.getsockname()) for name, one in listening.items()]
    asked = [(name, family, kind, address.decode() if isinstance(address, bytes) else list(address)
              if isinstance(address, tuple) else address) for name, family, kind, address in asked]  # fmt: skip
    stream, datagram = int(socket.SOCK_STREAM), int(socket.SOCK_DGRAM)
    asked += [
        ("documentation's own network", 2, stream, ["192.0.2.1", 443]),
        ("name server", 2, datagram, ["192.0.2.53", 53]),
        ("metadata", 2, stream, ["169.254.169.254", 80]),
        ("private", 2, stream, ["10.0.0.1", 80]),
        ("IPv6", 10, stream, ["2001:db8::1", 443]),
        ("multicast", 2, datagram, ["224.0.0.251", 5353]),
        ("everyone", 2, datagram, ["255.255.255.255", 68]),
    ]
    async with project.open_sandbox() as attacker:
        printed = await attacker.python(_CALL_OUT, json.dumps(asked), as_command=as_command)
    told = {name: how for line in printed.splitlines() for name, how in json.loads(line).items()}
    assert (told.pop("routes"), told.pop("cards"), told.pop("names")) == ([], ["lo"], "none")
    assert told.pop("listeners") == [f"0100007F:{PROXY_PORT:04X}"]
    datagrams = {told.pop("udp"), told.pop("udp6")}  # sent into a network where nobody is
    assert "sent" not in told.values(), told
    assert datagrams <= {"sent", "ConnectionRefusedError", "OSError"}
    for server in listening.values():
        with pytest.raises(BlockingIOError):
            server.accept() if server.type == socket.SOCK_STREAM else server.recv(10)


async def test_tools_below_the_temporary_folder_can_be_run_and_not_be_changed(project):
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        tool = Path(folder, "tool")
        tool.write_text("#!/bin/sh\necho works\n")
        for path in (tool, tool.parent):
            path.chmod(0o755)
        project.rules = replace(project.rules, tools=(tool.parent,))
        async with project.open_sandbox() as attacker:
            assert (await attacker.run("tool")).strip() == "works"
            refused = await attacker.run(f"echo evil > {shlex.quote(str(tool))}", ends_well=False)
            assert "Read-only file system" in refused
            assert "tool" in await attacker.run(f"touch /tmp/mine && ls {shlex.quote(folder)}")


async def test_two_simultaneous_sandboxes_do_not_see_each_other(project):
    async with project.open_sandbox() as one, project.open_sandbox() as two:
        name = f"treehand-{secrets.token_hex(4)}"
        serve = (f"import socket, os\ns = socket.socket(1); s.bind(b'\\0{name}'); s.listen()\nopen('up', 'w')\n"
                 "while not os.path.exists('/tmp/never') and not os.path.exists('stop'): os.sched_yield()")  # fmt: skip
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(one.python(serve))
            while not (project.mine.path / "up").exists():
                await asyncio.sleep(0.01)
            found = await refusals(two, {
                "its socket": f"socket.socket(1).connect(b'\\0{name}')",
                "its processes": "[os.kill(int(p), 9) for p in os.listdir('/proc') if p.isdigit() and b'os.sched' in "
                                 "open(f'/proc/{p}/cmdline', 'rb').read() and int(p) not in (os.getpid(), 1, "
                                 "os.getppid())] or os.kill(1 << 20, 0)",
            })  # fmt: skip
            (project.mine.path / "stop").touch()
        assert serving.done()
    assert succeeded(found) == {}


async def test_a_link_in_place_of_a_visible_file_is_refused(project, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("not for the agent")
    (project.mine.path / ".git").unlink()
    (project.mine.path / ".git").symlink_to(secret)
    async with project.open_sandbox() as attacker:
        printed = await attacker.run("cat .git", as_command=False, ends_well=False)
    assert "is a link" in printed
    assert "not for the agent" not in printed


async def test_detached_programs_end_with_their_sandbox(project):
    async with project.open_sandbox() as attacker:
        await attacker.run("(setsid nohup python3 -c 'import time; time.sleep(60)' >/dev/null 2>&1 &) ; "
                         "(sleep 61 & disown); true")  # fmt: skip
        async with asyncio.timeout(2):  # a busy kernel takes a moment over the last of them
            while _running_for(attacker.marker):
                await asyncio.sleep(0.02)


def _running_for(marker: str) -> list[str]:
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if f"TREEHAND_TURN={marker}".encode() in (Path(entry) / "environ").read_bytes():
                    found.append((Path(entry) / "cmdline").read_bytes().decode())
            except OSError:
                continue
    return found


async def test_t15_a_command_does_not_see_the_private_files_of_the_program(project):
    async with project.open_sandbox() as attacker:
        script = f"echo 1 > /run/agent/room && {attacker.sandbox.shell} 'ls -A /run/agent; echo seen'; ls /run/agent"
        assert (await attacker.run(script, as_command=False)).split() == ["seen", "room"]


async def test_t20_files_of_a_build_at_home_are_removed_with_the_sandbox(project):
    async with project.open_sandbox() as attacker:
        await attacker.run("mkdir -p ~/.cache && touch ~/.cache/poisoned /tmp/poisoned && ls ~/.cache")
    async with project.open_sandbox() as attacker:
        assert "poisoned" not in await attacker.run("find ~ /tmp -name poisoned; true")
