"""Each write of the lease has a defined outcome for each answer of the remote, and one daemon holds it in the end."""

import pytest

from bot.errors import Retryable
from bot.ports import LeaseState
from bot.workspace.lease import DaemonId, GitLease
from bot.workspace.lease_ref import LeaseRef
from bot.workspace.workspaces import GitWorkspaces
from tests.fakes.github.repository_actions import GitHubWorld
from tests.fakes.github.server import served
from tests.refusals.lease_table import ANSWERS, Becomes
from tests.services.github.github_bot import REPO, Bot

SECONDS = 90.0
_LONG = 1000.0


@pytest.fixture
def bot(tmp_path):
    world = GitHubWorld(tmp_path / "github")
    world.add_repository(REPO, ana="write", **{"treehand-bot": "write"})
    with served(world, validate=False) as github:
        bot = Bot(github, tmp_path)
        yield bot
        bot.close()


def lease_of(bot: Bot, folder, name: str) -> GitLease:
    mirror = GitWorkspaces(folder / name, "shop").mirror
    return GitLease(LeaseRef(mirror), bot.forge.remote, own=DaemonId(name), seconds=SECONDS, clock=bot.now)


async def outcome_of(lease: GitLease) -> tuple[Becomes, str]:
    try:
        state = await lease.ensure()
    except Retryable as problem:
        return Becomes.LATER, str(problem)
    assert state in {LeaseState.HELD, LeaseState.REACQUIRED}
    lease.check()
    return (Becomes.UNLEASED if lease._unleased else Becomes.HELD), ""


@pytest.mark.parametrize("when", ["at first", "at a renewal"])
@pytest.mark.parametrize("answer", ANSWERS)
async def test_each_answer_to_a_write_of_the_lease_has_its_defined_outcome(bot, tmp_path, answer, when):
    row, lease, other = ANSWERS[answer], lease_of(bot, tmp_path, "one"), lease_of(bot, tmp_path, "two")
    if when == "at a renewal":
        await lease.ensure()
        bot.world.advance(_LONG)
    fault = bot.github.faults.add("POST */git-receive-pack", **row.fault)
    outcome, words = await outcome_of(lease)
    assert (outcome, row.says in words) == (row.becomes, True), words
    assert bot.client._http.keyring.credential.token not in words

    fault.times = 0
    bot.world.advance(SECONDS / 4)
    assert (await outcome_of(lease))[0] is (Becomes.UNLEASED if row.becomes is Becomes.UNLEASED else Becomes.HELD)
    if row.becomes is not Becomes.UNLEASED:
        assert await other.ensure() is LeaseState.HELD_ELSEWHERE


@pytest.mark.parametrize("answer", [name for name, row in ANSWERS.items() if row.becomes is not Becomes.UNLEASED])
async def test_a_lease_whose_return_was_answered_so_is_free_later(bot, tmp_path, answer):
    lease, other = lease_of(bot, tmp_path, "one"), lease_of(bot, tmp_path, "two")
    await lease.ensure()
    bot.github.faults.add("POST */git-receive-pack", **ANSWERS[answer].fault)
    await lease.release()
    await other.ensure()
    bot.world.advance(_LONG)
    assert await other.ensure() in {LeaseState.REACQUIRED, LeaseState.HELD}
