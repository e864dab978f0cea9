"""T14, T16: files and folders that an agent makes so that reading or removing them fails, hangs or fills the disk."""

import ast
import asyncio
import contextlib
import os
import stat
import time
from pathlib import Path

import pytest

from bot.errors import BadSettings, CannotStart
from bot.sandbox import resource_limits
from bot.sandbox.bubblewrap import SandboxRules
from bot.sandbox.host_tools import find_tools
from bot.sandbox.ownership import chown_tree
from bot.sandbox.proxy.grant import ignore_usage
from bot.sandbox.resource_limits import ProcessLimits, ResourceLimits
from bot.system.trash import Trash
from bot.system.tree_walk import FolderMoved
from tests.escape.attempts import refusals, succeeded

_TRAPS = """
set -e
ln -s {guard} stolen; ln -s / everything; ln -s {guard} .gitignore; ln -s . loop; ln -sfn /etc src/etc
ln -s /proc/self/environ env; ln -s /proc/self/fd/0 input; ln -s {other} other
mkfifo pipe; mkfifo .gitattributes
python3 -c "import socket; socket.socket(1).bind('socket')"
mkdir closed locked; echo x > closed/x; chmod 000 closed locked; echo x > shut; chmod 000 shut
touch -- -rf --help '*' '$(touch ran)' ' ' "$(printf 'new\\nline')" "$(printf '\\377')" '; touch ran'
python3 - <<END
import os
os.truncate(os.open("sparse", os.O_CREAT | os.O_RDWR), {size})
top = os.getcwd()
for _ in range(1200):
    os.mkdir("deep")
    os.chdir("deep")
open("bottom", "w").close()
os.chdir(top)
for number in range(3000):
    os.mkdir(f"many{{number}}")
END
echo laid
"""


async def test_t14_special_files_leak_nothing_block_nothing_and_are_removed(project):
    async with project.open_sandbox() as attacker:
        script = _TRAPS.format(guard=project.guard, other=project.other.path, size=1 << 29)
        assert "laid" in await attacker.run(script)
    begun = time.monotonic()
    await project.life()
    assert time.monotonic() - begun < 10
    everything = b"".join(_objects(project))
    assert project.guard.read_bytes() not in everything
    async with project.open_sandbox() as attacker:  # the next turn goes on in it
        assert "deep" in await attacker.run("ls")
    await project.end()
    assert not project.mine.path.exists()
    assert list((project.state / "trash" / "shop").iterdir()) == []
    assert project.guard.read_text() == "the guard's own words"
    assert sorted(path.name for path in project.other.path.iterdir()) == [".git", "README.md", "src"]


def _objects(project):
    import zlib

    for path in (project.mirror / "objects").glob("??/*"):
        yield zlib.decompress(path.read_bytes())


async def test_t14_a_folder_with_too_long_names_does_not_stop_the_next_turn(project):
    code = "import os\nfor _ in range(40):\n    os.mkdir('x' * 200)\n    os.chdir('x' * 200)\nopen('end', 'w').close()"
    async with project.open_sandbox() as attacker:
        await attacker.python(code)
    await project.life()
    async with project.open_sandbox() as attacker:
        assert "evil.sh" in await attacker.run("ls")
    await project.end()
    assert not project.mine.path.exists()


_IN_GIT = "import os\nos.chdir(open('.git').read().split()[1])\n"
LEFT_IN_GIT = {
    "deeper than Python can follow": "for _ in range(2500):\n    os.mkdir('d'); os.chdir('d')",
    "without permissions": "os.makedirs('shut/in'); open('shut/in/x', 'w').close(); os.chmod('shut', 0)",
}


@pytest.mark.attack("T16", "Tests leave a folder in their git directory that is deeper than Python can follow")
@pytest.mark.parametrize("code", LEFT_IN_GIT.values(), ids=LEFT_IN_GIT.keys())
async def test_t16_what_tests_leave_in_their_git_directory_holds_nobody_up(project, code):
    """Verification sees a copy of the git directory, which the host deletes at its end."""
    async with project.open_sandbox("verification") as attacker:
        assert "laid" in await attacker.python(f"{_IN_GIT}{code}\nprint('laid')")
    assert [*(project.state / "cells").iterdir()] == []
    trash = Trash(project.state / "trash" / "~cells")
    for _ in range(60):  # a slow machine takes several calls
        if trash.empty() or not trash.has_more:
            break
    assert [*(project.state / "trash" / "~cells").iterdir()] == []


@pytest.mark.attack(
    "T16", "Tests leave so many files in their git directory that deleting them holds the daemon's loop"
)
async def test_t16_deleting_what_tests_leave_does_not_hold_the_loop(project):
    async with project.open_sandbox("verification") as attacker:
        await attacker.python(f"{_IN_GIT}for number in range(20000):\n    os.mkdir(f'd{{number}}')")
        begun = time.thread_time()
    assert time.thread_time() - begun < 0.3, "deleting them takes this thread a second of the processor"


@pytest.mark.attack("T16", "What a killed daemon's sandbox left stops the next start")
async def test_t16_what_a_killed_daemon_left_does_not_stop_the_next_start(project):
    left = project.state / "cells" / "killed" / "git"
    left.mkdir(parents=True)
    opened = os.open(left, os.O_RDONLY)
    for _ in range(2500):
        os.mkdir("d", dir_fd=opened)
        inner = os.open("d", os.O_RDONLY, dir_fd=opened)
        os.close(opened)
        opened = inner
    os.close(opened)
    project.sandbox().remove_leftovers()
    assert not (project.state / "cells").exists()


@pytest.fixture
def tight(project):
    project.rules = SandboxRules(
        process_limits=ProcessLimits(memory_bytes=512 << 20, processes=64, file_bytes=8 << 20, scratch_bytes=4 << 20)
    )
    return project


@pytest.mark.parametrize("as_command", [True, False], ids=["a command", "in place of the program"])
async def test_t16_every_folder_in_memory_is_limited(tight, as_command):
    """Writes up to 32 MB into each folder, in parts."""
    code = """
import os
places = {line.split()[4] for line in open("/proc/self/mountinfo") if " - tmpfs " in line and not line.startswith("x")}
for place in sorted(places | {"/dev", "/", "/run", "/run/agent", "/tmp", "/dev/shm", "/home/agent", "/opt", "/etc"}):
    if not os.path.isdir(place) or place.startswith((os.environ["STATE"], "/opt/treehand/git")):
        continue
    written = 0
    for number in range(8):
        try:
            with open(f"{place}/fill{number}", "wb", buffering=0) as file:
                for _ in range(4):
                    written += file.write(bytes(1 << 20))
        except OSError:
            break
    print(place, written)
"""
    async with tight.open_sandbox() as attacker:
        prelude = f"import os; os.environ['STATE'] = {str(tight.state)!r}"
        printed = await attacker.python(prelude + code, as_command=as_command)
    held = {line.split()[0]: int(line.split()[1]) for line in printed.splitlines()}
    assert {"/dev", "/tmp", "/run/agent", "/dev/shm"} <= held.keys(), printed
    assert max(held.values()) <= 4 << 20, held
    assert held["/dev"] == 0


async def test_t16_files_processes_and_memory_are_limited(tight):
    attempts = {
        "a large file": "f = os.open('big', os.O_CREAT | os.O_RDWR); os.ftruncate(f, 16 << 20)",
        "a large file, written": "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); f = os.open('big2', os.O_CREAT | "
                                 "os.O_RDWR); [os.write(f, bytes(1 << 20)) for _ in range(16)]",
        "memory": "import mmap; kept = mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)",
        "a core dump": "import resource; check(-1 if resource.getrlimit(resource.RLIMIT_CORE) == (0, 0) else 0)",
        "processes": "import threading\nkept = []\ntry:\n    for _ in range(200):\n        pid = os.fork()\n        "
                     "if pid == 0: signal.pause()\n        kept.append(pid)\nfinally:\n    "
                     "[os.kill(pid, 9) for pid in kept]",
    }  # fmt: skip
    async with tight.open_sandbox() as attacker:
        assert succeeded(await refusals(attacker, attempts)) == {}
    assert max((path.stat().st_size for path in tight.mine.path.rglob("big*")), default=0) <= 8 << 20


HOARDS = {
    "in /tmp": "open('/tmp/x', 'wb').write(bytes(SIZE))",
    "in /dev/shm": "open('/dev/shm/x', 'wb').write(bytes(SIZE))",
    "in a file without a name": "f = open('/tmp/x', 'wb'); f.write(bytes(SIZE)); f.flush(); os.unlink('/tmp/x')",
    "in memory files": "for _ in range(16):\n    os.write(os.memfd_create('x'), bytes(SIZE // 16))",
    "in a memory file that is mapped and closed":
        "f = os.memfd_create('x'); os.truncate(f, SIZE); kept = mmap.mmap(f, SIZE); os.close(f); fill(kept)",
    "in shared memory": "kept = mmap.mmap(-1, SIZE); fill(kept)",
    "in private memory": "kept = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); fill(kept)",
    "in page tables of memory that is only read":
        "kept = mmap.mmap(-1, 48 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)\n"
        "for at in range(0, 48 << 30, 2 << 20):\n    kept[at]",
    "in a memory file that another process holds": "f = os.memfd_create('x'); os.write(f, bytes(SIZE))\n"
        "if os.fork() == 0:\n    os.setsid(); time.sleep(60)\nos.close(f)",
}  # fmt: skip
_HOARD = """
import mmap, os, time
SIZE = 96 << 20
def fill(kept):
    for at in range(0, SIZE, 1 << 20):
        kept[at:at + (1 << 20)] = bytes(1 << 20)
"""


@pytest.fixture
def counted(project, monkeypatch):
    """Opens a project whose programs may take 64 MB together, though each folder in memory could hold more."""
    monkeypatch.setattr(resource_limits, "_INTERVAL_SECONDS", 0.05)
    limits = ProcessLimits(memory_bytes=1 << 30, processes=64, file_bytes=1 << 30, scratch_bytes=256 << 20)
    project.rules = SandboxRules(process_limits=limits, resource_limits=ResourceLimits(memory_bytes=64 << 20))
    return project


@pytest.mark.attack("T16", "Programs fill the memory by files that live in it")
@pytest.mark.parametrize("kind", ["command", "verification"])
async def test_t16_every_kind_of_memory_counts_towards_the_limit(counted, kind):
    missed = []
    for place, code in HOARDS.items():
        async with counted.open_sandbox(kind) as attacker:
            printed = await attacker.python(f"{_HOARD}{code}\ntime.sleep(20)\nprint('not ended')", ends_well=False)
            if "not ended" in printed or "sandbox.memory_gb" not in attacker.sandbox.ended[1]:
                missed.append(place)
    assert missed == []


async def test_shared_files_of_the_machine_do_not_count_towards_the_memory_limit(counted):
    """Folders of this machine in memory, and mapped and open files, are not counted twice."""
    async with counted.open_sandbox() as attacker:
        code = "f = open('/dev/shm/x', 'wb+'); f.truncate(32 << 20); kept = mmap.mmap(f.fileno(), 32 << 20)"
        filled = "[kept.__setitem__(slice(at, at + 4096), bytes(4096)) for at in range(0, 32 << 20, 4096)]"
        printed = await attacker.python(f"{_HOARD}{code}\n{filled}\ntime.sleep(1)\nprint('not ended')")
    assert "not ended" in printed


async def test_t22_without_bubblewrap_no_agent_starts(project, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotStart, match="bubblewrap"):
        async with project.sandbox().open_turn(project.work(), "escape:x", ignore_usage):
            raise AssertionError


@pytest.mark.parametrize("place", ["/usr/lib/x/state", "/usr/local/treehand"])
def test_t17_a_state_dir_that_every_agent_could_read_is_refused(place, tmp_path):
    from pathlib import Path

    with pytest.raises(BadSettings, match="every agent can read"):
        find_tools([], Path(place))
    assert os.fspath(find_tools([], tmp_path).bwrap)


def test_t20_only_the_parts_of_etc_that_programs_need_are_shown(tmp_path):
    shown = find_tools([], tmp_path).folders
    hidden = ("passwd", "shadow", "gitconfig", "npmrc", "pip.conf", "maven/settings.xml", "ssh", "ssl/private")
    assert [name for name in hidden if any(Path(f"/etc/{name}").is_relative_to(one) for one in shown)] == []
    started = Path("/etc/maven/m2.conf")
    assert (started in shown) is started.exists()


_SWAPS = """
import os, threading, time
os.makedirs(".treehand/bait", exist_ok=True)
for number in range(800):
    os.makedirs(f".treehand/bait/{number:04}/inner", exist_ok=True)
    open(f".treehand/bait/{number:04}/inner/file", "w").close()
print("laid", flush=True)
while not os.path.exists("stop"):
    for number in range(0, 800, 7):
        at = f".treehand/bait/{number:04}"
        try:
            os.rename(at, at + "-away"); os.symlink(OUTSIDE, at); os.unlink(at); os.rename(at + "-away", at)
        except OSError:
            pass
"""


@pytest.mark.attack("T14", "A server swaps folders for links while root hands the worktree over")
async def test_t14_root_does_not_chown_files_outside_through_a_folder_replaced_by_a_link(as_root, project, tmp_path):
    outside = tmp_path / "outside"
    (outside / "inner").mkdir(parents=True)
    for path in (outside / "program", outside / "inner" / "file"):
        path.touch()
        path.chmod(0o4755)
    async with project.open_sandbox("server") as attacker:
        script = f"OUTSIDE = {str(outside)!r}\n{_SWAPS}"
        swapping = asyncio.ensure_future(attacker.python(script, ends_well=False))
        bait = project.mine.path / ".treehand" / "bait" / "0799" / "inner" / "file"
        while not bait.exists():
            await asyncio.sleep(0.02)
        for _ in range(10):
            with contextlib.suppress(FolderMoved):
                await asyncio.to_thread(chown_tree, [project.mine.path], bait.lstat().st_uid)
        (project.mine.path / "stop").touch()
        await swapping
    files = [path.lstat() for path in (outside / "program", outside / "inner" / "file")]
    assert {(status.st_uid, stat.S_IMODE(status.st_mode)) for status in files} == {(0, 0o4755)}
    assert {outside.lstat().st_uid, (outside / "inner").lstat().st_uid} == {0}


_BY_NAME = {"walk", "fwalk", "rglob", "chown", "lchown", "copytree", "move", "rmtree"}
_MAY = {
    ("sandbox/bubblewrap.py", "copytree"): "the shadow, which no sandbox writes",
    ("sandbox/none.py", "rmtree"): "our launcher: without a sandbox, programs write wherever we do",
    ("sandbox/service_process.py", "rmtree"): "runs in the sandbox itself, with the rights of a command",
    ("workspace/layer_files.py", "fwalk"): "by descriptors, after setup of the base: no program runs in the worktree",
    ("workspace/live_diff.py", "rmtree"): "an index of ours",
    ("workspace/quarantine.py", "rmtree"): "objects that the host writes",
    ("workspace/worktree.py", "rmtree"): "the mirror's record of the worktree, which no sandbox writes",
    ("workspace/mirror.py", "walk"): "the mirror, which no sandbox writes",
}


def test_t14_no_module_walks_a_worktree_by_name():
    """A path below a worktree that is used twice may be another file the second time."""
    bot, found = Path(chown_tree.__code__.co_filename).parents[1], set()
    for room in ("sandbox", "workspace", "setup", "evidence", "control", "publish_guard", "maintenance"):
        for path in (bot / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _BY_NAME:
                    found.add((str(path.relative_to(bot)), node.func.attr))
    assert found == _MAY.keys()
