"""What a person can do with a run right now. Pure: where the ball is says what makes sense."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.domain.pull_request import PullRequest, PullRequestState
from bot.domain.run import Cause, Phase, Run


@dataclass(frozen=True, slots=True)
class Order:
    word: str
    """The comment command that it is."""
    name: str
    """What the button says."""
    effect: str
    is_first: bool = False
    """What this run waits for."""
    confirm: bool = False
    """It cannot be taken back, so that it is asked twice."""


STOP = Order("stop", "Stop", "Ends the run. What is published nowhere is kept safe.", confirm=True)
_PAUSE = Order("pause", "Pause", "The agent stops; its work and its memory are kept.")
_GIVE = Order("give", "Give back", "The agent goes on with what you left in the worktree.", is_first=True)
_RETRY = Order("retry", "Try again", "Goes on as soon as there is a free slot.")
_RESUME = Order("resume", "Resume", "The agent goes on where it stopped.", is_first=True)
_APPROVALS = {
    Cause.PLAN: Order("approve", "Approve the plan", "The agent begins to do what it proposed.", is_first=True),
    Cause.HELD: Order("approve", "Publish it", "What is held back is committed and offered as it is.", is_first=True),
    Cause.CONSENT: Order("approve", "Approve", "The work begins, by your word.", is_first=True),
}


def orders_for(run: Run) -> Sequence[Order]:
    """Raising the budget and saying something are always possible while the run is not over."""
    return tuple(_orders(run))


def _orders(run: Run) -> Iterator[Order]:
    if run.phase is Phase.DONE:
        return
    if run.cause is Cause.TAKEN:
        yield _GIVE
    elif run.phase is Phase.ASKING:
        yield from _to_answer(run)
    else:
        if run.phase is Phase.WORKING and 0 < run.ended == run.turn:
            yield _RETRY
        yield _PAUSE
    yield STOP


def _to_answer(run: Run) -> Iterator[Order]:
    if approval := _APPROVALS.get(run.cause):
        yield approval
    if run.cause is Cause.PAUSED:
        yield _RESUME
    elif run.cause is Cause.CONSENT:
        yield Order("resume", "Go on without it", "The work goes on as it was accepted before.")
    else:
        yield _RETRY


def may_review(pull: PullRequest | None) -> bool:
    return pull is not None and pull.state is PullRequestState.OPEN
