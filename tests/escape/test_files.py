"""T14, T16: files and folders made to trip, to hang or to fill whoever reads or removes them."""

import os
import time
from pathlib import Path

import pytest

from bot.errors import BadSettings, CannotStart
from bot.sandbox.bubblewrap import Rules
from bot.sandbox.host_tools import find_tools
from bot.sandbox.mount_plan import Limits
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


async def test_t14_nothing_leaks_nothing_hangs_and_nothing_stays(prison):
    async with prison.cell() as inmate:
        script = _TRAPS.format(guard=prison.guard, other=prison.other.path, size=1 << 29)
        assert "laid" in await inmate.run(script)
    begun = time.monotonic()
    await prison.life()
    assert time.monotonic() - begun < 10
    everything = b"".join(_objects(prison))
    assert prison.guard.read_bytes() not in everything
    async with prison.cell() as inmate:  # the next turn goes on in it
        assert "deep" in await inmate.run("ls")
    await prison.end()
    assert not prison.mine.path.exists()
    assert list((prison.state / "trash" / "shop").iterdir()) == []
    assert prison.guard.read_text() == "the guard's own words"
    assert sorted(path.name for path in prison.other.path.iterdir()) == [".git", "README.md", "src"]


def _objects(prison):
    import zlib

    for path in (prison.mirror / "objects").glob("??/*"):
        yield zlib.decompress(path.read_bytes())


async def test_t14_a_folder_of_names_too_long_to_write_down_does_not_stop_the_next_turn(prison):
    code = "import os\nfor _ in range(40):\n    os.mkdir('x' * 200)\n    os.chdir('x' * 200)\nopen('end', 'w').close()"
    async with prison.cell() as inmate:
        await inmate.python(code)
    await prison.life()
    async with prison.cell() as inmate:
        assert "evil.sh" in await inmate.run("ls")
    await prison.end()
    assert not prison.mine.path.exists()


@pytest.fixture
def tight(prison):
    prison.rules = Rules(limits=Limits(memory_bytes=512 << 20, processes=64, file_bytes=8 << 20, scratch_bytes=4 << 20))
    return prison


@pytest.mark.parametrize("as_command", [True, False], ids=["a command", "in place of the program"])
async def test_t16_every_folder_that_lives_in_memory_has_an_end(tight, as_command):
    """Thirty-two megabytes are tried in each, in pieces."""
    code = """
import os
places = {line.split()[4] for line in open("/proc/self/mountinfo") if " - tmpfs " in line and not line.startswith("x")}
for place in sorted(places | {"/dev", "/", "/run", "/run/agent", "/tmp", "/dev/shm", "/home/agent", "/opt", "/etc"}):
    if not os.path.isdir(place) or place.startswith(os.environ["STATE"]):
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
    async with tight.cell() as inmate:
        prelude = f"import os; os.environ['STATE'] = {str(tight.state)!r}"
        printed = await inmate.python(prelude + code, as_command=as_command)
    held = {line.split()[0]: int(line.split()[1]) for line in printed.splitlines()}
    assert {"/dev", "/tmp", "/run/agent", "/dev/shm"} <= held.keys(), printed
    assert max(held.values()) <= 4 << 20, held
    assert held["/dev"] == 0


async def test_t16_files_processes_and_memory_have_an_end(tight):
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
    async with tight.cell() as inmate:
        assert succeeded(await refusals(inmate, attempts)) == {}
    assert max((path.stat().st_size for path in tight.mine.path.rglob("big*")), default=0) <= 8 << 20


async def test_t22_without_bubblewrap_no_agent_starts(prison, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotStart, match="bubblewrap"):
        async with prison.sandbox().open(prison.work(), "escape:x"):
            raise AssertionError


@pytest.mark.parametrize("place", ["/usr/lib/x/state", "/usr/local/treehand"])
def test_t17_a_state_dir_that_every_agent_could_read_is_refused(place, tmp_path):
    from pathlib import Path

    with pytest.raises(BadSettings, match="every agent can read"):
        find_tools([], Path(place))
    assert os.fspath(find_tools([], tmp_path).bwrap)


def test_t20_of_etc_only_what_programs_do_not_start_without_is_shown(tmp_path):
    shown = find_tools([], tmp_path).folders
    hidden = ("passwd", "shadow", "gitconfig", "npmrc", "pip.conf", "maven/settings.xml", "ssh", "ssl/private")
    assert [name for name in hidden if any(Path(f"/etc/{name}").is_relative_to(one) for one in shown)] == []
    started = Path("/etc/maven/m2.conf")
    assert (started in shown) is started.exists()
