"""A person starts a server of a run with the installed command, in the real sandbox."""

import asyncio
import re
import signal
import urllib.request

import pytest

from bot.demo.scripted_model import ScriptedModel
from tests.program.conftest import DONE, Person, model_env, script_of, write
from tests.program.test_setup import commit, runs, works

SERVER = "echo made > made.txt; env | sort > env.txt; exec python3 -u -m http.server $PORT --bind 127.0.0.1"
ADDRESS = re.compile(r"^http://localhost:(\d+)/", re.MULTILINE)


@pytest.fixture
async def offered(ready: Person) -> Person:
    commit(ready, {".github/treehand.toml": f"run = {{web = '{SERVER}', short = 'echo over; exit 3'}}\n"})
    await ready.does("issue", "new", "Look", "--label", "ai")
    await works(ready, write("answer = 42"))
    return ready


class RunningServer:
    """A running server of a run."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said = ""
        self.port = 0

    async def begin(self) -> None:
        while not (found := ADDRESS.search(self.said)):
            self.said += await self._line()
        self.port = int(found[1])

    async def get(self, path: str) -> str:
        """Requests a path like a browser on this machine, as soon as the server responds."""
        async with asyncio.timeout(60):
            while True:
                try:
                    return await asyncio.to_thread(self._get, path)
                except OSError:
                    await asyncio.sleep(0.1)

    async def end(self) -> str:
        out, err = await asyncio.wait_for(self.process.communicate(), 60)
        assert self.process.returncode == 0, err
        return self.said + out.decode()

    def _get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://localhost:{self.port}/{path}", timeout=10) as answer:
            return answer.read().decode()

    async def _line(self) -> str:
        line = await asyncio.wait_for(self.process.stdout.readline(), 60)
        assert line, (await self.process.stderr.read()).decode()
        return line.decode()


async def shown(person: Person, name: str = "web", **env: str) -> RunningServer:
    one = RunningServer(await person.start("show", "1", "--run", name, **env))
    await one.begin()
    return one


@pytest.mark.parametrize("kind", ["bwrap", "none"])
async def test_a_server_shows_the_agents_work_until_ctrl_c_and_leaves_nothing_over(offered, kind):
    env = {"TREEHAND_SANDBOX__KIND": kind, "GITHUB_TOKEN": "ghp_of_the_host"}
    one = await shown(offered, **env)
    assert await one.get("app.py") == "answer = 42\n"
    inside = await one.get("env.txt")
    assert f"PORT={one.port}\n" in inside
    assert "ghp_of_the_host" not in inside
    one.process.send_signal(signal.SIGINT)
    told = await one.end()
    assert '"GET /app.py HTTP/1.1" 200' in told, "what it prints is shown"
    assert told.endswith("web: stopped\n")
    assert offered.agents_alive() == []
    assert list((offered.state_dir / "caches" / "shop" / "shows").iterdir()) == []
    with pytest.raises(OSError):
        one._get("app.py")


async def test_files_written_by_a_server_are_not_the_agents_work(offered):
    one = await shown(offered)
    await one.get("made.txt")
    one.process.send_signal(signal.SIGTERM)
    await one.end()
    await offered.does("pr", "comment", "2", "again")
    await works(offered, write("answer = 43"))
    told = await offered.does("pr", "show", "2")
    assert "+answer = 43" in told
    assert "`made.txt`: written by setup or a server" in told
    assert "b/made.txt" not in told


async def test_a_server_ends_with_its_run(offered):
    one = await shown(offered)
    await one.get("app.py")
    await offered.does("pr", "merge", "2")
    async with ScriptedModel(script_of(DONE)) as model:
        await offered.does("once", **model_env(model))
    told = await one.end()
    assert re.search(
        r"^web: (?:shop#1 is over, or its worktree is no longer free|ended by the host)$", told, re.MULTILINE
    )
    assert offered.agents_alive() == []


async def test_a_run_has_one_server_and_the_next_turn_ends_it(offered):
    one = await shown(offered)
    second = await offered.treehand("show", "1", "--run", "web")
    assert second.code == 1
    assert "A server of this run is already running" in second.err
    await offered.does("pr", "comment", "2", "again")
    await works(offered, runs(f"! curl -sf http://127.0.0.1:{one.port}/ && echo 'answer = 44' > app.py"))
    assert "shop#1 is over, or its worktree is no longer free" in await one.end()
    assert "+answer = 44" in await offered.does("pr", "show", "2")


async def test_the_exit_code_of_a_server_that_ends_by_itself_is_shown(offered):
    told = await offered.does("show", "1", "--run", "short")
    assert told.endswith("over\n\nshort: ended with exit code 3")


async def test_an_unknown_server_name_is_refused_with_the_known_ones(offered):
    answer = await offered.treehand("show", "1", "--run", "wbe")
    assert answer.code == 1
    assert "shop#1 has no server named wbe. Its servers: web: echo made" in answer.err
    assert "; short: echo over; exit 3." in answer.err


async def test_a_finished_run_has_no_server(offered):
    await offered.does("pr", "merge", "2")
    await works(offered)
    answer = await offered.treehand("show", "1", "--run", "web")
    assert answer.code == 1
    assert "shop#1 has no worktree now" in answer.err


async def test_check_lists_the_servers_that_can_be_started(ready):
    commit(ready, {"Procfile": "web: ./serve\n", "ui/package.json": '{"scripts": {"dev": "vite"}}'})
    told = (await ready.treehand("check", "-v", ANTHROPIC_API_KEY="k")).out
    assert "shop/run     web: ./serve (Procfile); ui/dev: npm run dev -- --port $PORT in ui (ui/package.json)" in told


@pytest.mark.attack("T10", "A server that is up changes files under the hands of a person who took the worktree over")
async def test_a_takeover_ends_the_server_and_no_new_one_starts(offered):
    one = await shown(offered)
    await one.get("app.py")
    async with ScriptedModel(script_of(DONE)) as model:
        daemon = await offered.start("run", **model_env(model))
        await offered.does("take", "1", **model_env(model))
        while (await offered.run("shop#1"))["phase"] != "asking":  # without a daemon yet, `take` does not wait
            await asyncio.sleep(0.2)
        daemon.terminate()
        assert await daemon.wait() == 0
    assert "shop#1 is over, or its worktree is no longer free" in await one.end()
    refused = await offered.treehand("show", "1", "--run", "web")
    assert "A person works in the worktree of shop#1 now" in refused.err
    assert offered.agents_alive() == []
