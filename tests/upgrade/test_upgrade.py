"""This version takes over the state directory of a killed daemon of commit 1d72241, and nothing is lost."""

import asyncio
import json
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Collection, Iterator
from pathlib import Path

import pytest

from bot.demo.scripted_model import SayText, ScriptedModel, UseTool
from tests.fakes.github import ServedGitHub, gits
from tests.fakes.github.server import served
from tests.notifications.stand_ins import hook
from tests.program.conftest import SECONDS, Person, model_env, program_seen  # noqa: F401 - a fixture
from tests.upgrade.fixture import BOT, HOOK, SHOP, TOKEN, Unpacked, load_world, unpack

_OF_NOW = {"generated_at", "health", "spend", "doing", "queue"}
"""Keys of `status --json` that depend on the moment and the machine."""
_COMMANDS = ("commands", "before")
_OF_CACHE = {"title", "url", "pull_request"}
"""Keys that the first poll fills again: the cache of GitHub does not outlive its shape."""


@pytest.fixture
async def people(tmp_path: Path, program_seen: Path) -> AsyncIterator["_People"]:  # noqa: F811
    people = _People(tmp_path, program_seen)
    yield people
    for person in people.everyone:
        for process in person.started:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()


class _People:
    """People, each with their own unpacked archive."""

    def __init__(self, root: Path, program: Path) -> None:
        self.root, self.program = root, program
        self.everyone: list[Person] = []

    def unpacked(self, name: str) -> tuple[Person, Unpacked]:
        left = unpack(name, self.root / name)
        shutil.copytree(self.program, left.state_dir / "agent", dirs_exist_ok=True)
        env = {"HOME": str(left.root / "home"), "PATH": os.environ["PATH"], "USER": "ana",
               "PYTHONPATH": str(Path.cwd()), "LANG": "C.UTF-8"}  # fmt: skip
        person = Person(left.root, left.repository, env)
        self.everyone.append(person)
        return person, left


@pytest.fixture
def github(people: _People) -> Iterator[tuple[Person, Unpacked, ServedGitHub]]:
    person, left = people.unpacked("github")
    with served(load_world(left)) as github:
        before = (left.root / "address").read_text()
        (person.repository / "treehand.toml").write_text(
            (person.repository / "treehand.toml").read_text().replace("@GITHUB@", github.url)
        )
        person.env |= {"GITHUB_TOKEN": TOKEN}
        assert before != github.url
        yield person, left, github
    assert not github.violations, "\n".join(github.violations)


def play(request):
    """Continues where the old version's agent was stopped; otherwise follows the last comment."""
    title = re.search("Story: ([a-z ]+)", "\n".join(request.user_texts))
    name = title[1].strip().replace(" ", "_") if title else "unknown"
    answer = "44" if "44" in request.last_user_text else "42"
    command = f"echo 'answer = {answer}' > {name}.py; test ! -e half.py || echo 'whole = True' >> half.py"
    steps = (UseTool("Bash", {"command": command, "description": "Write"}),), (SayText(f"It is {answer} now."),)
    return steps[min(request.answers_since_user_text, 1)]


async def status_of(person: Person) -> dict:
    return {run["title"].removeprefix("Story: "): run for run in (await person.state())["runs"]}


async def until_all(person: Person, **phases: str) -> None:
    """Waits until each run, given by its title with `_` for spaces, reaches this phase."""
    async with asyncio.timeout(SECONDS):
        while True:
            runs = await status_of(person)
            if all(runs.get(title.replace("_", " "), {}).get("phase") == phase for title, phase in phases.items()):
                return
            await asyncio.sleep(0.5)


async def ends(daemon: asyncio.subprocess.Process) -> None:
    daemon.terminate()
    assert await asyncio.wait_for(daemon.wait(), 60) == 0


def lasting(now: dict, before: dict, *, but: Collection[str]) -> tuple[dict, dict]:
    """Returns both without `but`, and the present one without keys that the old version did not have."""
    known = {name: value for name, value in now.items() if name in before and name not in but}
    expected = {name: value for name, value in before.items() if name not in but}
    if known.get("verification"):
        found, old = known["verification"], before["verification"]
        known["verification"] = {**{name: found[name] for name in old}, **_commands(found, like=old)}
        expected["verification"] = {**old, **{name: [_as_judged_now(one) for one in old[name]] for name in _COMMANDS}}
    return known, expected


def _commands(verification: dict, *, like: dict) -> dict:
    """Returns the commands without keys that the old version did not have."""
    pairs = {name: zip(verification[name], like[name], strict=True) for name in _COMMANDS}
    return {name: [{key: new[key] for key in old} for new, old in both] for name, both in pairs.items()}


def _as_judged_now(command: dict) -> dict:
    """A success without a number of tests was green, and is called by its name now."""
    is_uncounted = command["standing"] == "green" and not command["counts"]
    return {**command, "standing": "uncounted"} if is_uncounted else command


@pytest.mark.parametrize("name", ["local", "github"])
async def test_the_output_of_the_old_version_is_printed_again(people, name):
    person, left = people.unpacked(name)
    but = _OF_NOW | (_OF_CACHE if name == "github" else set())
    status = await person.state()
    assert list(runs_by_key(status)) == list(runs_by_key(left.printed["status"]))
    for key, before in runs_by_key(left.printed["status"]).items():
        now, old = lasting(runs_by_key(status)[key], before, but=but)
        assert now == old, key
    assert status["counts"] == left.printed["status"]["counts"]
    for key, before in left.printed["show"].items():
        now, old = lasting(json.loads(await person.does("show", key, "--json")), before, but=but)
        assert now == old, key
    assert json.loads(await person.does("cost", "--json")) == left.printed["cost"]


def runs_by_key(status: dict) -> dict[str, dict]:
    return {run["key"]: run for run in status["runs"]}


async def test_a_local_project_continues_and_nothing_is_done_twice(people):
    person, left = people.unpacked("local")
    before = {run["title"].removeprefix("Story: "): run for run in left.printed["status"]["runs"]}
    keys = {title: run["key"] for title, run in before.items()}
    with hook(HOOK) as web:
        async with ScriptedModel(play) as model:
            env = {**model_env(model), "TREEHAND_NOTIFY__URLS": web.url}
            daemon = await person.start("run", **env)
            await until_all(person, working="review", queued="review")
            now = await status_of(person)
            assert now["working"]["turns"] == 2
            assert "+half = True\n+whole = True" in await person.does("pr", "show", keys["working"])

            await person.does("say", keys["in review"], "Make it 44, please")
            await person.does("say", keys["asks"], "Euro")
            await person.does("say", keys["changes nothing"], "But there is: make it 44")
            for title in ("held", "planned"):
                await person.does("say", keys[title], "/ai approve")
            await person.does("resume", keys["paused"])
            await person.does("give", keys["taken"])
            steered = ["in_review", "asks", "changes_nothing", "held", "planned", "paused", "taken"]
            await until_all(person, **dict.fromkeys(steered, "review"))
            assert "+answer = 44" in await person.does("pr", "show", keys["in review"])
            assert ".github/workflows/ci.yml" in await person.does("pr", "show", keys["held"])
            assert not [request for request in model.requests if "Story: held" in str(request.user_texts)], (
                "no agent is needed"
            )

            await person.does("pr", "merge", keys["in review"])
            await until_all(person, in_review="done")
            await ends(daemon)
    now = await status_of(person)
    assert [now[title]["phase"] for title in ("merged", "salvaged", "in review")] == ["done"] * 3
    assert now["in review"]["worktree"] == ""
    numbers = {title: run["pull_request"] and run["pull_request"]["number"] for title, run in before.items()}
    assert {title: now[title]["pull_request"]["number"] for title in numbers if numbers[title]} == {
        title: number for title, number in numbers.items() if number
    }
    pulls = json.loads(await person.does("pr", "list", "--all", "--json"))
    assert len({pull["branch"] for pull in pulls}) == len(pulls)
    assert web.bodies[0].startswith("(Possibly a repeat: ")
    assert len([body for body in web.bodies if f"{keys['merged']} is in review" in body]) == 0, "it was told before"
    await person.does("restore", keys["salvaged"])
    assert person.git("show", f"restored/shop-{keys['salvaged'].partition('#')[2]}:.github/workflows/other.yml")
    assert person.agents_alive() == []


async def test_a_project_on_github_continues_and_nothing_is_done_twice(github):
    person, _, service = github
    world, home = service.world, service.world.repository(SHOP)
    before, comments = pulls_of(service), comments_of(service)
    async with ScriptedModel(play) as model:
        daemon = await person.start("run", **model_env(model))
        await until_all(person, working="review", queued="review")
        assert comments_of(service).items() >= comments.items()
        assert pulls_of(service).items() >= before.items()
        assert len(pulls_of(service)) == len(before) + 2

        world.comment(SHOP, before["treehand/acme-shop-2"], "Make it 44.", by="ana")
        asking = next(issue.number for issue in home.issues.values() if issue.title == "Story: asks")
        world.comment(SHOP, asking, "Euro", by="ana")
        async with asyncio.timeout(SECONDS):
            while content(service, "treehand/acme-shop-2", "in_review.py") != "answer = 44":
                await asyncio.sleep(0.2)
        await until_all(person, asks="review", in_review="review")
        world.merge(SHOP, before["treehand/acme-shop-2"], "squash", by="ana")
        await until_all(person, in_review="done")
        await ends(daemon)
    assert content(service, "main", "in_review.py") == "answer = 44"
    assert world.tip(SHOP, "treehand/acme-shop-2") is None
    assert len(pulls_of(service)) == len(before) + 3
    answered = comments | {asking: comments[asking] + 1}
    assert comments_of(service) == {**dict.fromkeys(comments_of(service), 1), **answered}
    assert person.agents_alive() == []


async def test_notes_of_the_old_version_restore_every_run_without_the_database(github):
    person, left, service = github
    before = {run["title"].removeprefix("Story: "): run for run in left.printed["status"]["runs"]}
    pulls, comments = pulls_of(service), comments_of(service)
    for file in left.state_dir.glob("treehand.db*"):
        file.unlink()
    async with ScriptedModel(play) as model:
        daemon = await person.start("run", **model_env(model))
        await until_all(person, working="review", queued="review")
        now = await status_of(person)
        await ends(daemon)
    kept = ("phase", "reason", "person", "turns", "cost_usd", "tokens", "branch", "changed")
    for title in ("in review", "asks", "held", "breaks a test"):
        assert {name: now[title][name] for name in kept} == {name: before[title][name] for name in kept}, title
        begun = before[title]["started_at"] - left.shift  # a note is signed, so its times are those it was written with
        assert now[title]["started_at"] == pytest.approx(begun, abs=0.01)
    assert pulls_of(service).items() >= pulls.items()
    assert len(pulls_of(service)) == len(pulls) + 2
    assert comments_of(service) == {**dict.fromkeys(comments_of(service), 1), **comments}


def content(service: ServedGitHub, ref: str, path: str) -> str:
    found = service.world.repository(SHOP)
    return (
        gits.git(found.path, "show", f"{ref}:{path}") if gits.ok(found.path, "cat-file", "-e", f"{ref}:{path}") else ""
    )


def pulls_of(service: ServedGitHub) -> dict[str, int]:
    """Returns the number of each pull request by its branch; there is never a second one of a branch."""
    found = [one for one in service.world.repository(SHOP).issues.values() if one.pull]
    numbers = {one.pull.head_ref: one.number for one in found}
    assert len(numbers) == len(found)
    return numbers


def comments_of(service: ServedGitHub) -> dict[int, int]:
    """Counts our comments on each issue: its progress comment, and answers to people."""
    home = service.world.repository(SHOP)
    ours = [one.number for one in home.comments.values() if one.author.login == BOT]
    return {number: ours.count(number) for number in ours if not home.issues[number].pull}
