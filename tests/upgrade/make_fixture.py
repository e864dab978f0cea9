"""Makes the fixture again: runs commit 1d72241 through every situation, kills its daemon in a turn, packs its state.

Needs a checkout of that commit with its command installed: `python -m tests.upgrade.make_fixture CHECKOUT`.
"""

import argparse
import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from bot.demo.messages_api import MessagesRequest
from bot.demo.scripted_model import Pause, SayText, ScriptedModel, ScriptedReply, ScriptStep, UseTool
from tests.fakes.github.model import Token
from tests.fakes.github.repository_actions import GitHubWorld
from tests.fakes.github.server import ServedGitHub, served
from tests.notifications.stand_ins import hook
from tests.upgrade.fixture import BOT, HOOK, SHOP, TOKEN, pack, save_world

_SECONDS = 240


def play(request: MessagesRequest) -> ScriptedReply:
    """The issue's title says what the agent does; the last comment says whether it does it again."""
    said, last = "\n".join(request.user_texts), request.last_user_text
    title = next(title for title in _STORIES if title in said)
    steps = _STORIES[title](last)
    return steps[min(request.answers_since_user_text, len(steps) - 1)]


def shell(command: str) -> UseTool:
    return UseTool("Bash", {"command": command, "description": "Change the files"})


def _writes(name: str) -> Callable[[str], list[tuple[ScriptStep, ...]]]:
    def steps(last: str) -> list[tuple[ScriptStep, ...]]:
        answer = 43 if "43" in last else 42
        return [(shell(f"echo 'answer = {answer}' > {name}.py"),), (SayText(f"The answer is {answer} now."),)]

    return steps


def _leaves_evidence(last: str) -> list[tuple[ScriptStep, ...]]:
    more = shell("mkdir -p .treehand/evidence && echo seen > .treehand/evidence/app.log && echo 'answer = 1' > seen.py")
    return [(more,), *_writes("seen")(last)[-1:]]


_STORIES: dict[str, Callable[[str], list[tuple[ScriptStep, ...]]]] = {
    "Story: merged": _writes("merged"),
    "Story: in review": _writes("review"),
    "Story: with evidence": _leaves_evidence,
    "Story: breaks a test": lambda _: [(shell("echo 'answer = broken(' > app.py"),), (SayText("Broken, I fear."),)],
    "Story: asks": lambda _: [
        (UseTool("mcp__treehand__ask", {"question": "Which currency?"}),),
        (SayText("I wait for the answer."),),
    ],
    "Story: changes nothing": lambda _: [(SayText("There is nothing to change."),)],
    "Story: held": lambda _: [
        (shell("mkdir -p .github/workflows && echo 'on: push' > .github/workflows/ci.yml"),),
        (SayText("A workflow is there now."),),
    ],
    "Story: salvaged": lambda _: [
        (shell("mkdir -p .github/workflows && echo 'on: pull_request' > .github/workflows/other.yml"),),
        (SayText("Another workflow is there now."),),
    ],
    "Story: planned": lambda _: [(SayText("I would make it 42."),)],
    "Story: paused": _writes("paused"),
    "Story: taken": _writes("taken"),
    "Story: working": lambda _: [(shell("echo 'half = True' > half.py"),), (Pause(120.0),), (SayText("Whole."),)],
    "Story: queued": _writes("queued"),
}


@dataclass
class OldTreehand:
    """The installed command of the old commit, with one folder for all its files."""

    checkout: Path
    root: Path
    env: dict[str, str]

    @property
    def repository(self) -> Path:
        return self.root / "shop"

    def command(self, *words: str, **env: str) -> str:
        done = subprocess.run(
            [self.checkout / ".venv/bin/treehand", *words], cwd=self.repository, env={**self.env, **env},
            capture_output=True, text=True, timeout=_SECONDS, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{words}: {done.stdout}\n{done.stderr}")
        return done.stdout.strip()

    async def once(self, **env: str) -> None:
        await asyncio.to_thread(self.command, "once", **env)

    async def kill_in_a_turn(self, env: dict[str, str]) -> None:
        """Starts the daemon, and ends it with SIGKILL once the turn has written its first file."""
        daemon = await asyncio.create_subprocess_exec(
            str(self.checkout / ".venv/bin/treehand"), "run", cwd=self.repository, env={**self.env, **env},
            start_new_session=True,
        )  # fmt: skip
        try:
            async with asyncio.timeout(_SECONDS):
                while not (self._has_half() and self._is_waiting()):
                    await asyncio.sleep(0.1)
            await asyncio.sleep(2)  # the transcript is written once a second
        finally:
            os.killpg(daemon.pid, signal.SIGKILL)
            await daemon.wait()

    def _has_half(self) -> bool:
        return any((self.root / "state" / "worktrees").rglob("half.py"))

    def _is_waiting(self) -> bool:
        with closing(sqlite3.connect(f"file:{self.root}/state/treehand.db?mode=ro", uri=True)) as db:
            return bool(db.execute("SELECT 1 FROM runs WHERE phase = 'queued'").fetchone())

    def print_everything(self) -> dict[str, object]:
        """Prints everything that the old version can print about its state."""
        status = json.loads(self.command("status", "--json"))
        keys = [run["key"] for run in status["runs"]]
        return {
            "status": status,
            "show": {key: json.loads(self.command("show", key, "--json")) for key in keys},
            "cost": json.loads(self.command("cost", "--json")),
        }


def old_treehand(checkout: Path, root: Path, settings: str) -> OldTreehand:
    env = {"HOME": str(root / "home"), "PATH": os.environ["PATH"], "USER": "ana", "LANG": "C.UTF-8"}
    treehand = OldTreehand(checkout, root, env)
    (root / "home").mkdir(parents=True)
    treehand.repository.mkdir()
    (treehand.repository / "treehand.toml").write_text(settings)
    return treehand


def make_repository(folder: Path) -> None:
    (folder / "app.py").write_text("answer = 41\n")
    (folder / ".gitignore").write_text("treehand.toml\nmade.txt\n__pycache__/\n")
    me = ("-c", "user.name=Ana", "-c", "user.email=ana@example.com")
    for words in (("init", "--quiet", "--initial-branch=main"), ("add", "."), (*me, "commit", "-qm", "One")):
        subprocess.run(["git", *words], cwd=folder, check=True)


def settings_for(root: Path, project: str, more: str = "") -> str:
    return (
        f'state_dir = "{root}/state"\n[poll]\ninterval = 0.5\n[web]\nbind = ""\n{more}'
        "[limits]\nfree_disk_gb = 0\nquiet_seconds = 0\nclaim_seconds = 20\n"
        f"[[projects]]\n{project}\n"
        'setup = ["echo made > made.txt"]\nverify = ["python3 -c \'import app\'"]\n'
    )


async def make_local(checkout: Path, root: Path) -> OldTreehand:
    project = 'name = "shop"\nrepository = "."\npool = 1'
    treehand = old_treehand(checkout, root, settings_for(root, project, '[sandbox]\nsetup_hosts = ["localhost"]\n'))
    make_repository(treehand.repository)
    with hook(HOOK) as web:
        async with ScriptedModel(play) as model:
            env = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "stand-in", "TREEHAND_NOTIFY__URLS": web.url}
            for title in (
                "Story: merged",
                "Story: in review",
                "Story: with evidence",
                "Story: breaks a test",
                "Story: asks",
                "Story: changes nothing",
                "Story: held",
            ):
                treehand.command("issue", "new", title, "--label", "ai", "--as", "bob")
            for title in ("Story: salvaged", "Story: paused", "Story: taken"):
                treehand.command("issue", "new", title, "--label", "ai")
            treehand.command("issue", "new", "Story: planned", "--label", "ai", "--label", "ai:plan")
            await treehand.once(**env)
            keys = {run["title"]: run["key"] for run in json.loads(treehand.command("status", "--json"))["runs"]}
            treehand.command("pr", "merge", keys["Story: merged"])
            treehand.command("say", keys["Story: in review"], "Make it 43, please")
            treehand.command("issue", "comment", keys["Story: in review"], "And mind the tea.", "--as", "mallory")
            treehand.command("stop", keys["Story: salvaged"])
            treehand.command("pause", keys["Story: paused"])
            quietly = {**env, "TREEHAND_NOTIFY__URLS": ""}
            await treehand.once(**quietly)
            treehand.command("take", keys["Story: taken"], **env)
            await treehand.once(**quietly)
            web.let_go.clear()  # the next message is under way when the daemon is killed
            treehand.command("issue", "new", "Story: working", "--label", "ai", "--label", "ai:now")
            treehand.command("issue", "new", "Story: queued", "--label", "ai")
            await treehand.kill_in_a_turn({**env, "TREEHAND_LIMITS__WORKING": "1"})
    return treehand


async def make_github(checkout: Path, root: Path) -> tuple[OldTreehand, GitHubWorld]:
    world = GitHubWorld(root / "github")
    world.add_repository(SHOP, ana="write", tom="triage", **{BOT: "write"})
    world.tokens[TOKEN] = Token(TOKEN, world.user(BOT))
    with served(world, validate=False) as github:
        project = f'name = "shop"\ntracker = "github"\nrepository = "{SHOP}"'
        treehand = old_treehand(checkout, root, settings_for(root, project, f'[github]\napi_url = "{github.url}"\n'))
        treehand.env["GITHUB_TOKEN"] = TOKEN
        await _work_on_github(treehand, github)
        text = treehand.repository / "treehand.toml"
        text.write_text(text.read_text().replace(github.url, "@GITHUB@"))
        (root / "address").write_text(github.url)
    return treehand, world


async def _work_on_github(treehand: OldTreehand, github: ServedGitHub) -> None:
    world = github.world
    async with ScriptedModel(play) as model:
        env = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "stand-in"}
        titles = ("Story: merged", "Story: in review", "Story: asks", "Story: held", "Story: breaks a test")
        numbers = {title: world.open_issue(SHOP, title, "Please.", by="ana", labels=["ai"]).number for title in titles}
        await treehand.once(**env)
        pulls = {one.title: one.number for one in world.repository(SHOP).issues.values() if one.pull}
        world.merge(SHOP, pulls["Story: merged"], "squash", by="ana")
        remarks = [("review.py", 1, "make it 43")]
        world.review(
            SHOP, pulls["Story: in review"], by="ana", state="CHANGES_REQUESTED", body="Nearly.", remarks=remarks
        )
        world.comment(SHOP, numbers["Story: in review"], "/ai stop", by="eve")
        await treehand.once(**env)
        world.open_issue(SHOP, "Story: working", "Please.", by="ana", labels=["ai", "ai:now"])
        world.open_issue(SHOP, "Story: queued", "Please.", by="ana", labels=["ai"])
        await treehand.kill_in_a_turn({**env, "TREEHAND_LIMITS__WORKING": "1"})


async def main(checkout: Path, only: str) -> None:
    for name in (only,) if only else ("local", "github"):
        root = Path(tempfile.mkdtemp(prefix=f"treehand-upgrade-{name}-"))
        world = None
        if name == "local":
            treehand = await make_local(checkout, root)
        else:
            treehand, world = await make_github(checkout, root)
        printed = treehand.print_everything()
        if world:
            save_world(world)
        size = pack(name, root, printed)
        print(f"{name}: {size / 1000:.0f} kB, made in {root}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    sys.exit(asyncio.run(main(given.checkout.resolve(), given.only)))
