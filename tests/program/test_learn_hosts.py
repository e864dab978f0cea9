"""The hosts of setup are learned once: the installed command, npm, the real sandbox and a registry on loopback."""

import asyncio
import os
import pty
import tomllib
from collections.abc import AsyncIterator

import pytest

from bot.demo.scripted_model import ScriptedModel
from tests.program.conftest import DONE, SECONDS, TREEHAND, Person, model_env, script_of, write
from tests.program.registry import FILES, INTERNAL, REGISTRY, Registry, node_project, registry
from tests.program.test_setup import commit
from tests.sandbox.test_tunnel import tls

__all__ = ["tls"]

BOTH = ["registry.test", "files.test"]


def allowed(person: Person) -> list[str]:
    text = (person.repository / "treehand.toml").read_text()
    return tomllib.loads(text).get("sandbox", {}).get("setup_hosts", [])


@pytest.fixture
async def served(tmp_path, tls) -> AsyncIterator[Registry]:
    async with registry(tmp_path, tls) as made:
        yield made


@pytest.fixture
def shop(ready: Person, served: Registry) -> Person:
    ready.env |= served.environment
    commit(ready, node_project())
    return ready


async def typed(person: Person, *words: str, answers: list[str]) -> str:
    """Runs a command on a terminal, and answers its questions in order."""
    mine, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *TREEHAND, *words, cwd=person.repository, env={**person.env, "NO_COLOR": "1"}, stdin=theirs, stdout=theirs,
        stderr=theirs, start_new_session=True,
    )  # fmt: skip
    person.started.append(process)
    os.close(theirs)
    os.set_blocking(mine, False)
    said = b""
    async with asyncio.timeout(SECONDS):
        while process.returncode is None or answers:
            await asyncio.sleep(0.05)
            try:
                said += os.read(mine, 65536)
            except BlockingIOError:
                continue
            except OSError:
                break
            if answers and said.rstrip().endswith((b"[Y/n]", b"(Enter: later):")):
                os.write(mine, answers.pop(0).encode() + b"\n")
                said += b"\n"
        await process.wait()
    os.close(mine)
    return said.decode().replace("\r", "")


async def test_both_hosts_are_learned_at_once_and_a_run_needs_nobody(shop, served):
    file = shop.repository / "treehand.toml"
    before = file.read_text()
    answer = await shop.treehand("check", "--learn", "--yes", ANTHROPIC_API_KEY="k")
    assert "can reach every public host on port 443" in answer.out
    assert "Setup downloads from registry.test and files.test." in answer.out
    assert allowed(shop) == BOTH
    assert file.read_text().startswith(before), "comments and layout stay"
    assert "failed  shop/setup" not in answer.out
    assert list((shop.state_dir / "learning").glob("*/*")) == []
    assert {one.partition("/")[0] for one in served.asked} == {REGISTRY, FILES}
    await shop.does("issue", "new", "Look", "--label", "ai")
    async with ScriptedModel(script_of((write("answer = 42"),), DONE)) as model:
        await shop.does("once", **model_env(model))
    assert (await shop.run("shop#1"))["phase"] == "review"


async def test_on_a_terminal_it_asks_before_it_runs_and_before_it_writes(shop, served):
    said = await typed(shop, "check", "--learn", answers=["n"])
    assert "Run it now? [Y/n]" in said
    assert served.asked == []
    said = await typed(shop, "check", "--learn", answers=["y", "n"])
    assert "Setup downloads from registry.test and files.test. Allow these from now on? [Y/n]" in said
    assert 'setup_hosts = ["registry.test", "files.test"]' in said.replace("\n", " ")
    assert allowed(shop) == []
    await typed(shop, "check", "--learn", answers=["", ""])
    assert allowed(shop) == BOTH


async def test_without_a_terminal_nothing_runs_unless_somebody_has_agreed(shop, served):
    answer = await shop.treehand("check", "--learn", ANTHROPIC_API_KEY="k")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        "treehand: --learn asks before it runs setup, and there is no terminal: `--learn --yes` agrees to it.\n"
    )
    assert (served.asked, allowed(shop)) == ([], [])


async def test_a_host_with_a_private_address_is_refused_and_named(shop, served):
    files = node_project()
    commit(shop, {**files, ".npmrc": files[".npmrc"].replace(REGISTRY, INTERNAL)})
    answer = await shop.treehand("check", "--learn", "--yes", ANTHROPIC_API_KEY="k")
    assert f"{INTERNAL} has a private address and was refused: see `sandbox.private_hosts`." in answer.out
    assert "Setup failed, so it may need more hosts" in answer.out
    assert allowed(shop) == []
    assert served.asked == []


async def test_init_asks_and_writes_the_hosts_into_the_file_that_it_has_made(person, served):
    person.env |= served.environment | {"ANTHROPIC_API_KEY": "k"}
    commit(person, node_project())
    said = await typed(person, "init", "--here", answers=["y", ""])
    assert "Added them to treehand.toml" in said
    assert allowed(person) == BOTH
    assert "To allow that, add this at the end of your settings" not in said


async def test_the_daemon_uses_what_was_learned_while_it_runs(shop):
    await shop.does("issue", "new", "Look", "--label", "ai")
    async with ScriptedModel(script_of((write("answer = 42"),), DONE)) as model:
        await shop.start("run", **model_env(model))
        await shop.until("shop#1", "asking")
        assert "treehand check --learn" in await shop.does("issue", "show", "1")
        await shop.treehand("check", "--learn", "--yes", ANTHROPIC_API_KEY="k")
        log = shop.state_dir / "treehand.log"
        async with asyncio.timeout(SECONDS):
            while "sandbox.setup_hosts += registry.test, files.test" not in log.read_text():
                await asyncio.sleep(0.1)
        await shop.does("retry", "1")
        await shop.until("shop#1", "review")
