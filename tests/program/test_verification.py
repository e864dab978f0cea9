"""Verification of an agent's commit: the installed command, real tools, the real sandbox."""

import asyncio
import json
import os
import signal

import pytest

from bot.demo.messages_api import MessagesRequest
from bot.demo.scripted_model import ScriptedModel
from tests.program.conftest import DONE, Person, model_env, script_of, write
from tests.program.test_setup import choose, commit, package, runs, works

GREEN = """\
import unittest, app
class Shop(unittest.TestCase):
    def test_answer(self):
        self.assertGreater(app.answer, 40)
"""
UNITTEST = "python3 -m unittest"


@pytest.fixture(autouse=True)
def registries(person: Person) -> None:
    """Sets download hosts: detected commands run only if these are set."""
    person.env["TREEHAND_SANDBOX__SETUP_HOSTS"] = '["registry.example.com"]'


@pytest.fixture
async def labelled(ready: Person) -> Person:
    await ready.does("issue", "new", "Look", "--label", "ai")
    return ready


async def verification(person: Person) -> dict:
    return json.loads(await person.does("show", "1", "--json"))["verification"]


async def test_a_passed_verification_is_shown_in_the_pull_request(labelled):
    commit(labelled, {"test_app.py": GREEN})
    choose(labelled, verify=[UNITTEST])
    await works(labelled, write("answer = 42"))
    shown = await labelled.does("pr", "show", "2")
    assert "**Verification:** run by Treehand in a fresh worktree, without network, on `" in shown
    assert f"- ✅ `{UNITTEST}`: exit code 0, 1 passed, " in shown
    found = await verification(labelled)
    assert found["commit"] == labelled.git("-C", str(forge(labelled)), "rev-parse", "treehand/shop-1")
    (trial,) = found["commands"]
    assert trial.items() >= {
        "command": UNITTEST, "exit_code": 0, "standing": "green", "counts": {"passed": 1, "failed": 0, "skipped": 0},
    }.items()  # fmt: skip
    assert "verification" in await labelled.does("show", "1")
    assert labelled.agents_alive() == []


async def test_the_tests_of_ci_verify_where_none_are_detected(labelled):
    steps = "[{run: pwd}, {run: python -m unittest}, {name: Upload, run: './upload $X'}]"
    ci = f"on: push\njobs: {{test: {{runs-on: ubuntu-latest, env: {{X: 1}}, steps: {steps}}}}}\n"
    commit(labelled, {"test_app.py": GREEN, "Makefile": "test:\n\tfalse\n", ".github/workflows/ci.yml": ci})
    await works(labelled, write("answer = 42"))
    shown = await labelled.does("pr", "show", "2")
    assert "- ✅ `X=1 python3 -m unittest`: exit code 0, 1 passed, " in shown


def forge(person: Person):
    return person.state_dir / "forge" / "shop.git"


async def test_the_agent_gets_its_broken_tests_and_only_the_fix_is_published(labelled):
    """The test command is detected in `package.json`; the settings do not name it."""
    test = "const t = require('node:test'), f = require('node:fs'); t('answer', () => {"
    test += " if (!f.readFileSync('app.py', 'utf8').includes('4')) throw new Error('no @ana 4 in it') })\n"
    commit(labelled, {**package(test="node --test"), "app.test.js": test})
    told: list[str] = []

    def play(request: MessagesRequest):
        told.append(request.last_user_text)
        return script_of((write("answer = 4"),), DONE)(request) if "They failed" in told[-1] else breaks(request)

    breaks = script_of((write("answer = 1"),), DONE)
    async with ScriptedModel(play) as model:
        await labelled.does("once", **model_env(model))
    asked = next(words for words in told if "They failed" in words)
    assert "`npm test` ended with exit code 1" in asked
    assert "no @ana 4 in it" in asked
    run = await labelled.run("shop#1")
    assert (run["phase"], run["turns"]) == ("review", 2)
    shown = await labelled.does("pr", "show", "2")
    assert "- ✅ `npm test`: exit code 0, 1 passed" in shown
    assert "- 1 turn spent on fixing regressions" in shown
    assert "Fix npm test" in labelled.git("-C", str(forge(labelled)), "log", "--format=%s", "treehand/shop-1")


async def test_after_two_rounds_the_change_is_published_as_broken(labelled):
    commit(labelled, {"test_app.py": GREEN})
    choose(labelled, verify=[UNITTEST])
    await works(labelled, runs("echo >> app.py; echo answer = 1 >> app.py"))
    run = await labelled.run("shop#1")
    assert (run["phase"], run["turns"]) == ("review", 3)
    shown = await labelled.does("pr", "show", "2")
    assert f"- ❌ `{UNITTEST}`: exit code 1, 1 failed" in shown
    assert "**a regression** (run twice): passed on the base `" in shown
    assert "- 2 turns spent on fixing regressions" in shown
    assert list((labelled.state_dir / "worktrees" / "shop").iterdir()) == [
        labelled.state_dir / "worktrees" / "shop" / "shop-1"
    ]


async def test_an_earlier_failure_is_reported_and_no_turn_is_spent_on_it(labelled):
    commit(labelled, {"test_app.py": GREEN.replace("40", "50")})
    choose(labelled, verify=[UNITTEST])
    await works(labelled, write("answer = 42"))
    run = await labelled.run("shop#1")
    assert (run["phase"], run["turns"]) == ("review", 1)
    shown = await labelled.does("pr", "show", "2")
    assert f"- ❌ `{UNITTEST}`: exit code 1, 1 failed" in shown
    assert "failed on the base `" in shown
    assert "a regression" not in shown


FIFTY = """\
import socket, unittest, lib
class Lib(unittest.TestCase):
    def test_asks_the_network(self):
        socket.create_connection(("127.0.0.1", 9), 1).close()
def test(self):
    self.assertEqual(lib.f, 1)
for number in range(50):
    setattr(Lib, f"test_f_{number:02}", test)
"""
LITTLE_RED = {"Makefile": "test:\n\tpython3 -m unittest\n", "lib.py": "f = 1\n", "test_lib.py": FIFTY}
"""One of its 51 tests fails without network."""


async def test_a_change_that_breaks_fifty_tests_is_found_out_though_one_failed_before(labelled):
    commit(labelled, LITTLE_RED)
    told: list[str] = []

    def play(request: MessagesRequest):
        told.append(request.last_user_text)
        value = 3 if "They failed" in told[-1] else 2
        return script_of((write(f"f = {value}", "lib.py"),), DONE)(request)

    async with ScriptedModel(play) as model:
        await labelled.does("once", **model_env(model), TREEHAND_LIMITS__VERIFY_ROUNDS="1")
    asked = next(words for words in told if "They failed" in words)
    assert "1 of 51 tests failed on the commit that you started from, and 51 of 51 fail now" in asked
    assert "`test_lib.Lib.test_f_00`" in asked
    assert "`test_lib.Lib.test_asks_the_network`" not in asked.partition("failed before as well")[0]
    run = await labelled.run("shop#1")
    assert (run["phase"], run["turns"]) == ("review", 2)
    shown = await labelled.does("pr", "show", "2")
    assert "- ❌ `make test`: exit code 2, 51 failed" in shown
    assert "1 of 51 failed on the base" in shown
    assert "**broken by this change** (50): `test_lib.Lib.test_f_00`" in shown
    assert "and 30 more" in shown
    assert "failed on the base as well (1): `test_lib.Lib.test_asks_the_network`" in shown
    assert "- 1 turn spent on fixing regressions" in shown
    assert "without network" in shown
    for words in (await labelled.does("show", "1"), await labelled.does("why", "1")):
        assert "50 tests broken by this change" in words
    (command,) = (await verification(labelled))["commands"]
    assert (command["broken"], command["against_base"]["broken"]["count"]) == (True, 50)


async def test_a_change_that_breaks_nothing_on_a_base_that_is_a_little_red_goes_through(labelled):
    commit(labelled, LITTLE_RED)
    await works(labelled, write("f = 1  # as ever", "lib.py"))
    assert (await labelled.run("shop#1"))["turns"] == 1
    shown = await labelled.does("pr", "show", "2")
    assert "- ❌ `make test`: exit code 2, 1 failed, 50 passed" in shown
    assert "1 of 51 failed on the base" in shown
    assert "broken by this change" not in shown


async def test_a_pass_with_zero_tests_is_marked(labelled):
    commit(labelled, {**package(test="node --test"), "lib.js": ""})
    await works(labelled, write("answer = 42"))
    assert "- ⚠️ `npm test`: exit code 0, **0 tests ran**" in await labelled.does("pr", "show", "2")


async def test_a_hanging_test_is_ended_and_the_agent_is_informed(labelled):
    choose(labelled, verify=["grep -q 41 app.py || { sleep 600 & setsid sleep 600; }"])
    limits = {"TREEHAND_LIMITS__VERIFY_MINUTES": "0.03", "TREEHAND_LIMITS__VERIFY_ROUNDS": "1"}
    await works(labelled, write("answer = 42"), **limits)
    assert (await labelled.run("shop#1"))["turns"] == 2
    assert "timed out" in await labelled.does("pr", "show", "2")
    assert labelled.agents_alive() == []


async def test_files_written_by_verification_are_in_no_commit(labelled):
    choose(labelled, verify=["echo seen > report.xml; echo x >> app.py; exit 0"])
    await works(labelled, write("answer = 42"))
    await labelled.does("pr", "comment", "2", "again")
    await works(labelled, write("two", "more.txt"))
    shown = await labelled.does("pr", "show", "2")
    assert "more.txt" in shown
    assert "b/report.xml" not in shown
    assert "+x" not in shown


async def test_a_verification_interrupted_by_a_kill_is_repeated_and_leaves_no_files(labelled):
    choose(labelled, verify=["echo half > half.xml; echo x >> app.py; sleep 3"])
    async with ScriptedModel(script_of((write("answer = 42"),), DONE)) as model:
        process = await labelled.start("once", **model_env(model))
        async with asyncio.timeout(60):
            while not (labelled.state_dir / "worktrees" / "shop" / "shop-1.trial" / "half.xml").exists():
                await asyncio.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        await labelled.does("once", **model_env(model))
    shown = await labelled.does("pr", "show", "2")
    assert "exit code 0" in shown
    assert "+answer = 42" in shown
    assert "b/half.xml" not in shown
    assert "+x" not in shown
    assert labelled.agents_alive() == []


async def test_verification_can_be_disabled_by_settings_only(labelled):
    commit(labelled, {".github/treehand.toml": 'verify = ["false"]\n'})
    choose(labelled, verify=False)
    await works(labelled, write("answer = 42"))
    assert "Verification" not in await labelled.does("pr", "show", "2")
    assert await verification(labelled) is None


async def test_check_shows_the_test_commands_with_their_reasons(ready):
    commit(ready, package(test="node --test"))
    answer = await ready.treehand("check", "-v", ANTHROPIC_API_KEY="k")
    (line,) = [line for line in answer.out.splitlines() if "shop/verify" in line]
    assert line.split(None, 2) == ["ok", "shop/verify", "npm test (package.json)"]


async def test_verification_works_the_same_without_a_sandbox(labelled):
    commit(labelled, {"test_app.py": GREEN})
    choose(labelled, verify=[UNITTEST])
    await works(labelled, write("answer = 42"), TREEHAND_SANDBOX__KIND="none")
    assert f"- ✅ `{UNITTEST}`: exit code 0, 1 passed" in await labelled.does("pr", "show", "2")
