"""Verification of an agent's commit in the real sandbox: its results, and what it leaves behind."""

import asyncio
import json
import shutil
import sys
from dataclasses import replace

import pytest

from bot.domain.change import Change
from bot.domain.compare_with_base import MeasuredCommand
from bot.domain.runner_report import CountedTests, ReportedOutcome, RunnerReport
from bot.domain.setup_plan import SetupResult
from bot.domain.turn import EventKind
from bot.domain.verification import CheckResult, Verification, VerifiedCommand
from bot.sandbox.bubblewrap import Bubblewrap, SandboxRules
from bot.sandbox.none import NoSandbox
from bot.setup.remembered_results import RememberedResults
from bot.system.processes import MARKER
from tests.setup.conftest import BRANCH, Shop
from tests.setup.test_prepare import living

FINDS = "grep -q hello README.md"
"""Passes while the file is as on the base."""


async def tried(shop: Shop, *verify: str, text: str = "bye\n") -> tuple[Verification, SetupResult, Change]:
    """Writes a file as an agent, captures and verifies it."""
    shop.told(verify=verify)
    ready = await shop.ready()
    workspace = await shop.worktree()
    (workspace.path / "README.md").write_text(text)
    change = await shop.captured()
    return await again(shop, change), ready, change


async def again(shop: Shop, change: Change) -> Verification:
    found = await shop.project_setup.verify(await shop.worktree(), change, "run/turn-1", shop.events.append)
    assert found
    return found


def standings(found: Verification) -> list[tuple[str, str]]:
    """Returns the results on the commit, and on the base if it was tested."""
    return [(one.result, (found.find_on_base(one) or one).result) for one in found.commands]


def before_is_gone(shop: Shop) -> bool:
    kept = [path.name for path in (shop.root / "worktrees" / "shop").iterdir()]
    return kept == ["shop-1"] and "before" not in " ".join(shop.workspaces.mirror.refs("refs/"))


@pytest.fixture
def shop(shop) -> Shop:
    shop.origin.commit({"README.md": "hello\n"})
    return shop


async def test_passed_commands_are_not_run_on_the_base(shop):
    found, _, change = await tried(shop, "echo '3 passed in 0.01s'", FINDS, text="hello there\n")
    assert standings(found) == [("green", "green"), ("uncounted", "uncounted")]
    assert (found.commit, found.base, found.base_commands, found.problem) == (change.head, change.base, (), "")
    assert (found.commands[0].exit_code, found.commands[0].counts) == (0, CountedTests(3))
    assert shop.events[-5].kind is EventKind.VERIFYING
    assert living() == 0


@pytest.mark.parametrize("kind", ["bwrap", "none"])
async def test_failures_caused_by_the_change_are_distinguished_from_earlier_failures(shop, kind):
    shop.sandbox = shop.sandbox if kind == "bwrap" else NoSandbox(shop.root / "cells", {})
    found, _, _ = await tried(shop, FINDS, "echo out; false", "true")
    assert standings(found) == [("red", "uncounted"), ("red", "red"), ("uncounted", "uncounted")]
    assert [one.command for one in found.regressions] == [FINDS]
    assert found.commands[1].output == "out"
    assert before_is_gone(shop)
    assert [one.read_text() for one in (shop.root / "ports").iterdir()] == [str(shop.folder())]


UNITTEST = "python3 -m unittest"
FLAKY = f"""\
import os, unittest
class Shop(unittest.TestCase):
    def test_by_chance(self):
        self.assertIn("before" if HERE else "again", os.environ["{MARKER}"])
    def test_price(self):
        self.assertEqual(open("README.md").read(), "hello\\n")
    def test_network(self):
        self.fail()
"""
"""`test_by_chance` fails in the first run only: on the commit, or on the base."""


@pytest.mark.parametrize("text", ["bye\n", "hello\n"])
async def test_a_test_that_passes_in_a_second_run_is_called_flaky_by_name(shop, text):
    shop.origin.commit({"test_shop.py": FLAKY.replace("HERE", "'shop-1.before' in os.getcwd()"), "more": ""})
    shop.told(verify=(UNITTEST,))
    await shop.ready()
    (shop.folder() / "README.md").write_text(text)
    (shop.folder() / "more").write_text("x")
    found = await again(shop, await shop.captured())
    (compared,) = [one.against_base for one in found.commands]
    assert compared
    assert compared.flaky.names == ("test_shop.Shop.test_by_chance",)
    assert compared.still_failing.names == ("test_shop.Shop.test_network",)
    assert compared.broken.names == (("test_shop.Shop.test_price",) if text == "bye\n" else ())
    assert (bool(found.regressions), compared.is_flaky) == (text == "bye\n", text == "hello\n")


async def test_a_commit_is_tested_twice_before_it_is_blamed_and_each_time_in_a_fresh_worktree(shop):
    found, _, _ = await tried(shop, f"{FINDS} || {{ test ! -e mark; echo $? > seen; echo > mark; cat seen; false; }}")
    assert found.regressions[0].output == "0"
    assert [one.text for one in shop.events if one.text.startswith("Verifying:")][1:], "it ran a second time"


async def test_without_a_sandbox_a_command_finds_on_the_base_what_the_commands_before_it_have_made(shop):
    shop.sandbox = NoSandbox(shop.root / "cells", {})
    found, _, _ = await tried(shop, "echo > made", f"test -e made && {FINDS}")
    assert standings(found)[1] == ("red", "uncounted")
    assert [one.command for one in found.regressions] == [f"test -e made && {FINDS}"]


async def test_a_repository_of_pytest_is_compared_test_by_test_without_a_change_of_it(shop):
    tests = {f"test_{name}.py": f"def test_{name}():\n    assert {name}\n" for name in ("True", "False", "one")}
    shop.origin.commit(
        {**tests, "conftest.py": "import builtins\nbuiltins.one = open('README.md').read() == 'hello\\n'\n"}
    )
    shop.told(verify=(f"{sys.executable} -m pytest -q -p no:cacheprovider",))
    shop.sandbox = NoSandbox(shop.root / "cells", {})  # this Python may be where the sandbox shows nothing
    await shop.ready()
    (shop.folder() / "README.md").write_text("bye\n")
    (shop.folder() / "test_True.py").unlink()
    found = await again(shop, await shop.captured())
    (compared,) = [one.against_base for one in found.commands]
    assert compared
    assert (compared.by, compared.broken.names) == ("names", ("test_one::test_one",))
    assert compared.still_failing.names == ("test_False::test_False",)
    assert compared.vanished.names == ("test_True::test_True",)
    assert "treehand-report" not in " ".join(path.name for path in shop.folder().iterdir())


async def test_a_module_that_cannot_be_imported_hides_no_other_tests_of_pytest(shop):
    shop.origin.commit({"test_a.py": "def test_a(): pass\n", "test_b.py": "import nowhere\n"})
    shop.sandbox = NoSandbox(shop.root / "cells", {})
    found, _, _ = await tried(shop, f"{sys.executable} -m pytest -q -p no:cacheprovider")
    assert (found.commands[0].exit_code, found.commands[0].counts) == (1, CountedTests(1, 1))


async def test_the_report_file_of_pytest_is_read_from_the_sandbox(shop):
    """It has the names of all tests, whatever plugins make of the output."""
    report = '<testsuite><testcase name="test_a"/></testsuite>'
    found, _, _ = await tried(shop, f"echo '{report}' > \"${{PYTEST_ADDOPTS##*--junitxml=}}\"")
    assert found.commands[0].counts == CountedTests(1)


async def test_a_pytest_that_writes_no_report_file_is_run_without_it(shop):
    shop.origin.commit({"test_a.py": "def test_a(): pass\n", "pytest.ini": "[pytest]\naddopts = -p no:junitxml\n"})
    shop.sandbox = NoSandbox(shop.root / "cells", {})
    found, _, _ = await tried(shop, f"{sys.executable} -m pytest -q -p no:cacheprovider")
    assert (found.commands[0].exit_code, found.commands[0].counts) == (0, CountedTests(1))


async def test_very_long_output_is_read_at_its_beginning_and_at_its_end(shop):
    noise = "head -c 30000000 /dev/zero | tr '\\0' '.' | fold -w 100; echo"
    found, _, _ = await tried(shop, f"echo begin; {noise}; echo '3 passed in 0.02s'; echo end; false")
    assert found.commands[0].counts == CountedTests(3)
    assert found.commands[0].output.endswith("3 passed in 0.02s\nend")
    assert len(found.commands[0].output) <= 4096


async def test_without_hosts_tests_get_no_variables_of_a_proxy_and_the_result_says_so(shop):
    found, _, _ = await tried(shop, "env | grep -i proxy; false")
    assert (_output(found), found.without_network) == ("", True)
    shop.sandbox = Bubblewrap(shop.root, {"ANTHROPIC_API_KEY": "k"}, SandboxRules(hosts=frozenset({"agents.test"})))
    found = await again(shop, await shop.captured())
    assert ("HTTPS_PROXY=" in _output(found), found.without_network) == (True, False)


async def test_results_of_the_base_are_cached(shop):
    remembered = shop.root / "caches" / "shop" / "verified"
    found, _, change = await tried(shop, FINDS)
    assert [one.result for one in found.base_commands] == [CheckResult.UNCOUNTED]
    begun = len(shop.events)
    assert (await again(shop, change)).regressions
    assert not [one for one in shop.events[begun:] if "base" in one.text], "it was remembered"
    kept = list(remembered.iterdir())
    assert len(kept) == 2, "it was run twice, because the change is blamed"
    for one in kept:
        one.write_text("[")
    assert (await again(shop, change)).regressions
    assert [one for one in shop.events[begun:] if "base" in one.text], "and found out again"


async def test_the_base_is_set_up_like_any_worktree(shop):
    shop.told("echo made > made.txt")
    found, _, _ = await tried(shop, f"test -f made.txt && {FINDS}")
    assert standings(found) == [("red", "uncounted")]


async def test_a_base_that_cannot_be_set_up_leaves_the_result_unknown(shop):
    shop.told('case "$PWD" in *.before) echo no; exit 4;; esac')
    found, _, _ = await tried(shop, FINDS)
    assert (found.base_commands, found.regressions) == ((), ())
    assert found.problem.startswith("setup of the base failed: case")
    assert before_is_gone(shop)


async def test_files_written_by_verification_do_not_reach_the_agents_worktree(shop):
    _, _, before = await tried(shop, "echo seen > report.xml; echo x >> README.md; rm src/app.py; exit 0")
    assert not (shop.folder() / "report.xml").exists()
    assert (shop.folder() / "README.md").read_text() == "bye\n"
    change = await shop.captured()
    assert (change.head, change.left_out) == (before.head, ())


async def serve(shop: Shop, commit: str) -> None:
    """Starts a server in the worktree."""
    setup_access = shop.workspaces.setup_access
    record = await setup_access.get_record(BRANCH)
    await setup_access.save_record(BRANCH, replace(record, tried=commit))


async def test_files_of_a_server_are_no_work_until_the_agent_changes_them(shop):
    _, _, change = await tried(shop, "true")
    await serve(shop, change.head)
    (shop.folder() / "half.xml").write_text("x")
    await shop.ready()
    after = await shop.captured()
    assert after.head == change.head
    assert "half.xml: written by setup or a server" in after.left_out
    assert (await shop.workspaces.setup_access.get_record(BRANCH)).tried == ""
    (shop.folder() / "half.xml").write_text("by the agent\n")
    assert {one.path for one in (await shop.captured()).files} == {"README.md", "half.xml"}


async def test_files_added_after_another_commit_are_work_even_if_a_server_was_started(shop):
    _, _, change = await tried(shop, "true")
    await serve(shop, change.head)
    (shop.folder() / "by-hand.txt").write_text("x")
    assert (await shop.captured()).head != change.head
    (shop.folder() / "more.txt").write_text("x")
    await shop.ready()
    assert "more.txt" in {one.path for one in (await shop.captured()).files}


async def test_a_leftover_temporary_worktree_is_swept_and_none_of_its_files_is_work(shop):
    _, _, change = await tried(shop, "true")
    setup_access = shop.workspaces.setup_access
    async with setup_access.temporary_worktree(BRANCH, change.base, purpose="before") as before:
        (before.path / "x").write_text("x")
        assert not await shop.workspaces.sweep({BRANCH})
        assert before.path.is_dir(), "it is in use"
        setup_access.temporary.clear()  # as after a restart
        assert list(await shop.workspaces.sweep({BRANCH})) == [f"{BRANCH}.before removed"]
        assert not before.path.exists()
    assert before_is_gone(shop)


async def test_a_cancelled_verification_is_ended_and_leaves_no_files(shop):
    _, _, change = await tried(shop, "true")
    shop.told(verify=("echo half > half.xml; sleep 600",))
    task = asyncio.ensure_future(again(shop, change))
    async with asyncio.timeout(20):
        while not (shop.folder(f"{BRANCH}.trial") / "half.xml").exists():
            await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert living() == 0
    assert (await shop.captured()).head == change.head


DEEP = """python3 -c '
import os
os.chdir(next(line.split()[1] for line in open("/proc/self/mounts") if "/trials/" in line))
for _ in range(1500):
    os.mkdir("folder")
    os.chdir("folder")
'"""


@pytest.mark.attack("T16", "Tests leave a folder in the home of their sandbox that is deeper than Python can follow")
@pytest.mark.usefixtures("removes_deep_folders")
async def test_a_home_deeper_than_python_can_follow_is_removed(shop):
    found, _, _ = await tried(shop, DEEP)
    assert standings(found) == [(CheckResult.UNCOUNTED, CheckResult.UNCOUNTED)]
    assert list((shop.root / "caches").rglob("trials/*")) == []


async def test_all_test_commands_share_one_time_limit(shop):
    shop.verify_seconds = 1.5
    found, _, _ = await tried(shop, "sleep 600 & setsid -f sleep 600; sleep 600", "true")
    assert [one.timed_out for one in found.commands] == [True, False]
    assert standings(found) == [("red", "red"), ("unknown", "unknown")]
    assert found.commands[1].problem == "not run: no time was left (`limits.verify_minutes`)"
    assert living() == 0


async def test_verification_reaches_the_agents_hosts_and_no_model(shop):
    rules = SandboxRules(hosts=frozenset({"agents.test"}), setup_hosts=frozenset({"setup.test"}))
    shop.sandbox = Bubblewrap(shop.root, {"ANTHROPIC_API_KEY": "k"}, rules)
    ask = "curl -s -o /dev/null -w '%{{http_connect}} ' -x http://127.0.0.1:3128 https://{}/"
    model = "curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:3128/v1/messages -d '{}'"
    hosts = "; ".join(ask.format(host) for host in ("agents.test", "setup.test"))
    found, _, _ = await tried(shop, f"{hosts}; {model}; env | grep -i anthropic; true")
    allowed, refused, asked = _output(found).split()
    assert allowed != "403"
    assert (refused, asked) == ("403", "403")


def _output(found: Verification) -> str:
    return found.commands[0].output


async def test_secrets_are_redacted_in_the_output_of_verification(shop):
    shop.secrets.keep("A token", "s3cret-of-the-operator")
    found, _, _ = await tried(shop, "echo it is s3cret-of-the-operator; false")
    assert _output(found) == "it is [redacted: A token]"


@pytest.mark.skipif(bool(shutil.which("bundle")), reason="it is here")
async def test_a_missing_tool_leaves_the_result_unknown(shop):
    shop.origin.commit({"Gemfile": "", ".rspec": ""})
    shop.overrides = replace(shop.overrides, setup=None)
    found, _, _ = await tried(shop)
    assert found.commands[0].problem == "not run: bundle missing in the sandbox"
    assert standings(found) == [("unknown", "unknown")]


@pytest.mark.parametrize("script", ["jest --ci", "npx jest", "true && jest"])
async def test_a_runner_from_outside_of_the_worktree_is_refused(shop, tmp_path, script):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "jest").write_text("#!/bin/sh\necho another version\n")
    (tools / "jest").chmod(0o755)
    shop.sandbox = Bubblewrap(shop.root, {}, SandboxRules(tools=[tools]))
    shop.origin.commit({"package.json": json.dumps({"scripts": {"test": script}}), ".gitignore": "node_modules\n"})
    found, _, _ = await tried(shop.told("true"))
    assert found.commands[0].problem == "not run: setup has not installed jest in `node_modules`"
    own = "mkdir -p node_modules/.bin && printf '#!/bin/sh\\necho its own\\n' > node_modules/.bin/jest"
    shop.told(f"{own} && chmod +x node_modules/.bin/jest")
    again = await shop.project_setup.verify(*(await _new_change(shop)), "run/turn-2", shop.events.append)
    assert again
    assert _output(again).endswith("its own")


async def _new_change(shop):
    workspace = await shop.worktree()
    (workspace.path / "README.md").write_text("again\n")
    return workspace, await shop.captured()


async def test_npx_fetches_no_runner_in_verification(shop):
    found, _, _ = await tried(shop, "echo yes is $npm_config_yes; false")
    assert _output(found) == "yes is false"


async def test_verification_cannot_write_downloads(shop):
    shop.told("touch $UV_CACHE_DIR.there")
    found, ready, _ = await tried(shop, f"touch {shop.root}/caches/shop/shared/planted && exit 1; true")
    assert ready.cache
    assert standings(found) == [("uncounted", "uncounted")]
    assert not (ready.cache / "planted").exists()


def test_the_cache_of_results_is_bounded_and_keeps_only_completed_ones(tmp_path):
    memory = RememberedResults(tmp_path / "verified")
    report = RunnerReport({"test_a": ReportedOutcome.FAILED}, CountedTests(0, 1), names_failures=True)
    for number in range(110):
        memory.save({f"n{number}": MeasuredCommand(VerifiedCommand("true", exit_code=1, output="long"), report)})
    memory.save({"x": MeasuredCommand(VerifiedCommand("true", problem="not run"))})
    assert len(list((tmp_path / "verified").iterdir())) == 100
    assert memory.find("x") is None
    assert memory.find("n109") == MeasuredCommand(VerifiedCommand("true", exit_code=1), report)


async def test_a_commit_that_cannot_be_set_up_is_not_tested_and_says_why(shop):
    shop.origin.commit({"package.json": "{}", "package-lock.json": "{}"})
    shop.told("! grep -q bad package-lock.json", verify=("true",))
    await shop.ready()
    (shop.folder() / "package-lock.json").write_text("bad")
    found = await again(shop, await shop.captured())
    assert (found.commands, found.regressions) == ((), ())
    assert found.problem.startswith("setup of the worktree failed: ! grep")


async def test_without_test_commands_verification_does_nothing(shop):
    await shop.ready()
    (shop.folder() / "README.md").write_text("bye")
    change, begun = await shop.captured(), len(shop.events)
    assert await shop.project_setup.verify(await shop.worktree(), change, "run/turn-1", shop.events.append) is None
    assert len(shop.events) == begun


async def test_downloads_for_a_changed_lock_file_are_not_shared(shop):
    shop.origin.commit({"package.json": "{}", "package-lock.json": "{}"})
    shop.told('cp package-lock.json "$npm_config_cache.lock"', verify=('cat "${CARGO_HOME%/*}/npm.lock"',))
    await shop.ready()
    workspace = await shop.worktree()
    (shop.folder() / "package-lock.json").write_text("bad")
    found = await shop.project_setup.verify(workspace, await shop.captured(), "run/turn-1", shop.events.append)
    assert (found.is_done, _output(found)) == (True, "bad")
    assert (shop.root / "caches" / "shop" / "shared" / "npm.lock").read_text() == "{}"
    assert not list((shop.root / "caches" / "shop").glob("*/*.trial"))
