"""Each write of an App has a defined outcome for each answer to its request for a token."""

from typing import Any, cast

import pytest

from bot.domain.comment import CommentPlace
from bot.domain.policy import Policy
from bot.engine.actions import Action, PostComment, PushBranch
from bot.ports import Project
from bot.services.github.auth import AppCredential
from bot.services.http.availability import read_availability
from bot.workspace.workspaces import GitWorkspaces
from tests.fakes.github.repository_actions import GitHubWorld
from tests.fakes.github.server import served
from tests.fakes.runs import a_run
from tests.refusals.mint_table import ANSWERS, FIND, MINT, NEEDING
from tests.refusals.outcome import Outcome, outcome_of
from tests.services.github.github_bot import BRANCH, REPO, Bot

KEY = f"{REPO}#1"
_A_TOKENS_LIFE = 3700.0
_GRANTED = {"contents": "write", "issues": "write", "pull_requests": "write", "metadata": "read"}


@pytest.fixture
def bot(tmp_path):
    world = GitHubWorld(tmp_path / "github")
    world.add_repository(REPO, ana="write")
    world.open_issue(REPO, "Add a cart", "Please.", by="ana", labels=["ai"])
    app = world.create_app("treehand", **_GRANTED)
    world.install_app(app, REPO)
    with served(world, validate=False) as github:
        bot = Bot(github, tmp_path, credential=AppCredential(app.id, app.private_key))
        yield bot
        bot.close()


@pytest.mark.parametrize("needing", NEEDING)
@pytest.mark.parametrize("answer", ANSWERS)
async def test_each_answer_to_a_request_for_a_token_has_its_defined_outcome(bot, tmp_path, answer, needing):
    row = ANSWERS[answer]
    project, action = await _prepared(bot, tmp_path, needing)
    bot.world.advance(_A_TOKENS_LIFE)
    fault = bot.github.faults.add(MINT, **row.fault)
    await _try(bot, project, action, getattr(row, needing), row.says)
    fault.times = 0
    await _lives_on(bot, project, action)


@pytest.mark.parametrize("needing", NEEDING)
@pytest.mark.parametrize("body", [b"null", b"[]", b"[5]", b"{}", b'{"id": "x"}', b'{"id": 5, "permissions": [1]}'])
async def test_an_installation_of_another_shape_is_looked_for_later(bot, tmp_path, body, needing):
    project, action = await _prepared(bot, tmp_path, needing)
    bot.world.advance(_A_TOKENS_LIFE)
    bot.client._http.keyring._installations.clear()
    bot.github.faults.add(FIND, status=200, body=body)
    await _try(bot, project, action, Outcome.LATER, "")
    await _lives_on(bot, project, action)


async def _try(bot: Bot, project: Project, action: Action, becomes: Outcome, says: str) -> None:
    outcome, words = await outcome_of(project, action, a_run(KEY), lambda: _health(bot))
    assert (outcome, says in words) == (becomes, True), words


async def _lives_on(bot: Bot, project: Project, action: Action) -> None:
    for _ in range(2):
        bot.world.advance(1000.0)
        outcome, words = await outcome_of(project, action, a_run(KEY), lambda: _health(bot))
    assert (outcome, _health(bot)) == (Outcome.DONE, []), words
    said = [one.body for one in bot.world.repository(REPO).comments.values()]
    assert len(said) == 1 if isinstance(action, PostComment) else bot.world.tip(REPO, BRANCH)


def _health(bot: Bot) -> list[str]:
    return [why for ok, why in read_availability(bot.db).values() if not ok]


async def _prepared(bot: Bot, tmp_path, needing: str) -> tuple[Project, Action]:
    await bot.issue(1, 1)
    workspaces = GitWorkspaces(tmp_path / "state", "shop")
    policy = Policy(max_working=1, max_working_per_project=1, base="main")
    project = Project("shop", bot.tracker, bot.forge, workspaces, policy, hand_over=cast(Any, None))
    if needing == "comment":
        return project, PostComment(CommentPlace.ISSUE, "reply-1", "Done.")
    workspace = await workspaces.ensure(BRANCH, base="main", remote=await bot.forge.remote())
    (workspace.path / "new.py").write_text("x\n")
    await workspaces.capture(BRANCH, message="New", at=1000)
    return project, PushBranch()
