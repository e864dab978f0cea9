"""Each push has a defined outcome for each answer of the remote, and its commits are there once in the end."""

from typing import Any, cast

import pytest

from bot.domain.policy import Policy
from bot.engine.actions import PushBranch
from bot.ports import Project
from bot.workspace.workspaces import GitWorkspaces
from tests.fakes.github.repository_actions import GitHubWorld
from tests.fakes.github.server import served
from tests.fakes.runs import a_run
from tests.refusals.outcome import Outcome, outcome_of
from tests.refusals.push_table import ANSWERS
from tests.services.github.github_bot import BRANCH, REPO, Bot

KEY = f"{REPO}#1"


@pytest.fixture
def bot(tmp_path):
    world = GitHubWorld(tmp_path / "github")
    world.add_repository(REPO, ana="write", **{"treehand-bot": "write"})
    world.push(REPO, "main", {"README.md": "hello\n"}, by="ana")
    with served(world, validate=False) as github:
        bot = Bot(github, tmp_path)
        yield bot
        bot.close()


@pytest.mark.parametrize("answer", ANSWERS)
async def test_each_answer_to_a_push_has_its_defined_outcome(bot, tmp_path, answer):
    row = ANSWERS[answer]
    workspaces = GitWorkspaces(tmp_path / "state", "shop")
    workspace = await workspaces.ensure(BRANCH, base="main", remote=await bot.forge.remote())
    (workspace.path / "new.py").write_text("x\n")
    head = (await workspaces.capture(BRANCH, message="New", at=1000)).head
    policy = Policy(max_working=1, max_working_per_project=1, base="main")
    project = Project("shop", bot.tracker, bot.forge, workspaces, policy, hand_over=cast(Any, None))

    bot.github.faults.add(_second_greeting() if row.at_once else "POST */git-receive-pack", **row.fault)
    outcome, words = await outcome_of(project, PushBranch(), a_run(KEY), health=list)
    assert (outcome, row.says in words) == (row.becomes, True), words
    assert bot.client._http.keyring.credential.token not in words

    for _ in range(2):
        outcome, words = await outcome_of(project, PushBranch(), a_run(KEY), health=list)
    assert (outcome, bot.world.tip(REPO, BRANCH)) == (Outcome.DONE, head), words


def _second_greeting():
    """Matches git's first request of a push. The one before it only asks for the branch."""
    seen = []

    def matches(method: str, path: str) -> bool:
        if path.endswith("/info/refs"):
            seen.append(method)
        return path.endswith("/info/refs") and len(seen) == 2

    return matches
