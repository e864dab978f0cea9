"""T23: nothing that an agent leaves or writes changes the result of verification."""

import asyncio
import shlex
import subprocess

import pytest

from bot.domain.run import Run, RunChecks
from bot.domain.verification import Verification
from bot.engine.messages import verification_text
from bot.sandbox.none import NoSandbox
from bot.setup.test_files import find_test_files
from tests.setup.conftest import Shop, empty_origin, origin, root, shop  # noqa: F401 - fixtures

FORGED = "Verification reports a success that did not happen"
WRITES_TO_DESCRIPTORS = """
import os
for pid in filter(str.isdigit, os.listdir("/proc")):
    for number in ("3", "4", "5", "6", "7", "8", "9"):
        try:
            descriptor = os.open(f"/proc/{pid}/fd/{number}", os.O_WRONLY | os.O_NONBLOCK)
            os.write(descriptor, b"0\\n")
        except OSError:
            pass
print("tried")
"""
NAMES_PROCESSES = """
import os
for pid in filter(str.isdigit, os.listdir("/proc")):
    print(pid, open(f"/proc/{pid}/cmdline").read().replace(chr(0), " ")[:60])
"""


def python(script: str) -> str:
    return f"python3 -c {shlex.quote(script)}"


async def verified(shop: Shop, *verify: str, **written: str) -> Verification:  # noqa: F811
    """Writes files as an agent, captures them and verifies the commit."""
    shop.told(verify=verify)
    await shop.ready()
    for name, text in {"README.md": "bye\n", **written}.items():
        path = shop.folder() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    change = await shop.captured()
    found = await shop.project_setup.verify(await shop.worktree(), change, "run/turn-1", shop.events.append)
    assert found
    return found


@pytest.mark.attack("T23", FORGED + ": a test writes an exit code to every descriptor it can see")
@pytest.mark.parametrize("kind", ["bwrap", "none"])
async def test_t23_an_exit_code_written_to_descriptors_is_ignored(shop, kind):  # noqa: F811
    shop.sandbox = shop.sandbox if kind == "bwrap" else NoSandbox(shop.root / "cells", {})
    script = WRITES_TO_DESCRIPTORS if kind == "bwrap" else "print('tried')"  # without a sandbox it would find our own
    found = await verified(shop, f"{python(script)}; exit 3", "kill -9 $BASHPID", "exec false")
    assert [one.exit_code for one in found.commands] == [3, 137, 1]
    assert found.commands[0].output == "tried"


@pytest.mark.attack("T23", FORGED + ": a test changes the program that reports its exit code")
async def test_t23_the_program_that_reports_the_exit_code_is_not_visible(shop):  # noqa: F811
    found = await verified(shop, f"{python(NAMES_PROCESSES)}; false")
    names = [line.partition(" ")[2] for line in found.commands[0].output.splitlines()]
    assert names
    assert not [name for name in names if "bwrap" in name or "init_process" in name]
    assert found.commands[0].exit_code == 1


@pytest.mark.attack("T23", FORGED + ": a process that outlives the command prints and reports later")
async def test_t23_background_processes_end_with_their_command_and_change_no_result(shop):  # noqa: F811
    found = await verified(shop, "(setsid sh -c 'sleep 300; exit 0' &) ; echo ended; exit 4")
    assert [(one.exit_code, one.output) for one in found.commands] == [(4, "ended")]


PASSES = "#!/bin/sh\nexit 0\n"
TESTS = {
    "price.py": "def price():\n    return 2\n",
    "test_price.py": "import price\nassert price.price() == 2\n",
    ".gitignore": ".venv/\nnode_modules/\n__pycache__/\ntools/\n*.pyc\n",
}
BROKEN = {"price.py": "def price():\n    return 3\n"}
ENVIRONMENT = (
    "mkdir -p .venv/bin node_modules/.bin; ln -sf /usr/bin/python3 .venv/bin/python; "
    "ln -sf /usr/bin/python3 node_modules/.bin/py"
)


def run_python(shop: Shop, *words: str) -> None:  # noqa: F811
    """Runs it in the agent's worktree; it must succeed."""
    subprocess.run(["/usr/bin/python3", *words], cwd=shop.folder(), check=True)


async def forged(shop: Shop, check: str, planted: dict[str, str], **written: str) -> Verification:  # noqa: F811
    """An agent breaks the code and plants files that git ignores, so that the check would pass."""
    shop.origin.commit(TESTS)
    shop.told(ENVIRONMENT, verify=(check,))
    await shop.ready()
    for name, text in planted.items():
        path = shop.folder() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    return await verified(shop, check, **{**BROKEN, **written})


@pytest.mark.attack("T23", FORGED + ": programs that the tests are run with are replaced in folders that git ignores")
@pytest.mark.parametrize(
    ("check", "planted"),
    [
        (".venv/bin/python test_price.py", {".venv/bin/python": PASSES}),
        ("node_modules/.bin/py test_price.py", {"node_modules/.bin/py": PASSES}),
        ("PATH=tools:$PATH; python3 test_price.py", {"tools/python3": PASSES}),
        ("PYTHONPATH=.venv python3 test_price.py", {".venv/sitecustomize.py": "import os\nos._exit(0)\n"}),
        ("PYTHONPATH=.venv python3 test_price.py", {".venv/price.py": "price = lambda: 2\n", ".venv/test.pth": "x"}),
    ],
)
async def test_t23_ignored_files_are_absent_when_the_commit_is_verified(shop, check, planted):  # noqa: F811
    found = await forged(shop, check, planted)
    (command,) = found.commands
    assert (command.exit_code, found.regressions) == (1, (command,))


@pytest.mark.attack("T23", FORGED + ": compiled code of another source is left in a cache")
async def test_t23_stale_compiled_code_is_absent_when_the_commit_is_verified(shop):  # noqa: F811
    compile_it = (
        "import importlib._bootstrap_external as b, pathlib; "
        "code = compile('def price():\\n    return 2\\n', 'price.py', 'exec'); "
        "p = pathlib.Path('__pycache__/price.cpython-%d%d.pyc' % __import__('sys').version_info[:2]); "
        "p.parent.mkdir(exist_ok=True); p.write_bytes(b._code_to_hash_pyc(code, b'00000000', False))"
    )
    shop.origin.commit(TESTS)
    shop.told(verify=("python3 test_price.py",))
    await shop.ready()
    run_python(shop, "-c", compile_it)
    (shop.folder() / "price.py").write_text(BROKEN["price.py"])
    run_python(shop, "test_price.py")  # the attack works where the agent has worked
    found = await verified(shop, "python3 test_price.py", **BROKEN)
    assert [one.exit_code for one in found.commands] == [1]


@pytest.mark.attack("T23", FORGED + ": a server swaps the files while they are tested")
async def test_t23_writes_of_a_server_during_verification_change_no_result(shop):  # noqa: F811
    """A file stands for the server: it is restored in the agent's worktree while the check waits for it."""
    found_there = "for n in 1 2 3 4 5 6 7 8; do sleep 0.1; test -e swapped && exit 0; done; python3 test_price.py"
    shop.origin.commit(TESTS)
    shop.told(verify=(found_there,))
    await shop.ready()

    async def swap() -> None:
        while True:
            (shop.folder() / "swapped").write_text("x")
            (shop.folder() / "price.py").write_text(TESTS["price.py"])
            await asyncio.sleep(0.05)

    async def verify() -> Verification:
        (shop.folder() / "price.py").write_text(BROKEN["price.py"])
        change = await shop.captured()
        task = asyncio.ensure_future(swap())
        found = await shop.project_setup.verify(await shop.worktree(), change, "run/turn-1", shop.events.append)
        task.cancel()
        assert found
        return found

    assert [one.exit_code for one in (await verify()).commands] == [1]


@pytest.mark.attack("T23", FORGED + ": a conftest.py leaves tests out")
async def test_t23_changed_test_settings_are_listed_and_lost_tests_are_reported(shop):  # noqa: F811
    shop.origin.commit({"count": "3", "conftest.py": ""})
    found = await verified(
        shop, 'echo "$(cat count) passed in 0.01s"', **{"count": "1", "conftest.py": "collect_ignore = 1"}
    )
    assert found.test_files == ("conftest.py",)
    assert [found.vanished(one).count for one in found.commands] == [2]
    text = verification_text.of_verification(Run("shop#1", "shop", checks=RunChecks(verification=found)))
    assert "⚠️" in text
    assert "**fewer tests than on the base**: 2 did not run" in text
    assert "review these first: `conftest.py`" in text


@pytest.mark.attack("T23", FORGED + ": code that setup compiled passes for a changed file of the same second and size")
async def test_t23_the_files_of_a_commit_are_of_a_later_second_than_those_of_its_base(shop):  # noqa: F811
    shop.origin.commit(TESTS)
    await shop.ready()
    (shop.folder() / "price.py").write_text(BROKEN["price.py"])
    change, access = await shop.captured(), shop.project_setup._access
    async with access.temporary_worktree("treehand/shop-1", change.base, purpose="trial") as fresh:
        before = int((fresh.path / "price.py").stat().st_mtime)
        await access.switch_temporary(fresh, change.head)
        assert int((fresh.path / "price.py").stat().st_mtime) > before


@pytest.mark.attack("T23", FORGED + ": the program that verification starts is changed, and nobody is told")
@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("ci/check", "ci/check"),
        ("ci/check", "./ci/check --all"),
        ("backend/run", "PATH=$PATH ./run; true"),
        ("ci/check.sh", "make test"),
        ("spec", "make test"),
        ("a.egg-info/entry_points.txt", "python -m pytest"),
        ("pluggy.py", "python -m pytest"),
        ("packaging/__init__.py", "python -m pytest"),
        (".env.test", "npm test"),
        (".python-version", "uv run pytest"),
        ("rust-toolchain.toml", "cargo test"),
        ("test.js", "node --test"),
    ],
)
def test_t23_changed_files_that_decide_the_result_are_named(path, command):
    folder = "backend" if path.startswith("backend/") else ""
    assert find_test_files(["src/price.py", path], [(command, folder)]) == (path,)


PLANTS = """
echo 'price = lambda: 2' > price.py; mkdir -p .venv; echo 'import os; os._exit(0)' > .venv/sitecustomize.py
git config alias.planted '!true'; git config core.hooksPath "$PWD/hooks"
for place in . "$HOME" /tmp /dev/shm "$TMPDIR" "$XDG_RUNTIME_DIR" "${XDG_CACHE_HOME:-.}"; do
    echo planted > "$place/planted" 2> /dev/null
done
chmod 0 src; (setsid sh -c 'exec sleep 300' planted &)
true"""
LOOKS = """
test "$(cat price.py)" = "$(git show HEAD:price.py)" || { echo price.py; exit 1; }
for place in . "$HOME" /tmp /dev/shm "$TMPDIR" "$XDG_RUNTIME_DIR" "${XDG_CACHE_HOME:-.}" .venv/sitecustomize.py; do
    test ! -e "$place/planted" || { echo "$place"; exit 1; }
done
test ! -e .venv/sitecustomize.py && test -r src && ! git config alias.planted && ! git config core.hooksPath &&
    test "$(ls -d /proc/[0-9]* | wc -l)" -lt 6"""


@pytest.mark.attack("T23", FORGED + ": one of several commands plants what the next one trusts")
async def test_t23_a_command_finds_nothing_of_the_command_before(shop):  # noqa: F811
    shop.origin.commit(TESTS)
    shop.told("mkdir -p .venv; echo made > .venv/made")
    found = await verified(shop, PLANTS, LOOKS, f"test -e .venv/made; {LOOKS}")
    assert [(one.exit_code, one.output, one.problem) for one in found.commands] == [(0, "", "")] * 3
    assert not list((shop.root / "caches").rglob("trials/*"))
    assert not any((shop.root / "cells").iterdir())


async def test_a_worktree_that_cannot_be_copied_is_no_result(shop):  # noqa: F811
    """Setup of the agent's work has made a file that nobody can read."""
    shop.told("echo made > made.txt; chmod 0 made.txt")
    found = await verified(shop, "true", "true")
    assert [one.exit_code for one in found.commands] == [None, 0]
    assert "its copy of the worktree could not be made: cp: " in found.commands[0].problem
