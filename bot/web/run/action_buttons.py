"""Action buttons: the comment commands that make sense for a run right now. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.domain.pull_request import PullRequest, PullRequestState
from bot.domain.run import Phase, Run, WaitReason


@dataclass(frozen=True, slots=True)
class RunButton:
    action: str
    """Name of the action in `actions.ACTIONS`."""
    text: str
    effect: str
    is_first: bool = False
    """The run waits for this action."""
    confirm: bool = False
    """Asks again, because the action cannot be undone."""


_STOP = RunButton("stop", "Stop", "Ends the run and salvages unpublished work.", confirm=True)
_PAUSE = RunButton("pause", "Pause", "Stops the agent and keeps its work and its session.")
_GIVE = RunButton("give", "Give back", "Lets the agent continue with your changes in the worktree.", is_first=True)
_RETRY = RunButton("retry", "Try again", "Starts another turn as soon as a slot is free.")
_RESUME = RunButton("resume", "Resume", "Lets the agent continue where it stopped.", is_first=True)
_RESUME_WITHOUT = RunButton("resume", "Continue without it", "Lets the agent continue with the text approved before.")
_START_CI = RunButton(
    "approve", "Start CI", "Lets the repository's workflows run the agent's code, with their secrets.", confirm=True
)
_APPROVALS = {
    WaitReason.PLAN: RunButton(
        "approve", "Approve the plan", "Lets the agent carry out the plan it proposed.", is_first=True
    ),
    WaitReason.BLOCKED: RunButton(
        "approve", "Publish anyway…", "Commits the files that are held back and opens the pull request.", is_first=True
    ),
    WaitReason.CONSENT: RunButton("approve", "Approve", "Starts the work under your name.", is_first=True),
}


def buttons_for(run: Run) -> Sequence[RunButton]:
    """Comments and the budget are not listed: both are possible until the run ends."""
    return tuple(_buttons(run))


def _buttons(run: Run) -> Iterator[RunButton]:
    if run.phase is Phase.DONE:
        return
    if run.wait_reason is WaitReason.TAKEN_OVER:
        yield _GIVE
    elif run.phase is Phase.ASKING:
        yield from _answers(run)
    else:
        if run.phase is Phase.WORKING and 0 < run.turns.ended == run.turns.number:
            yield _RETRY
        if run.phase is Phase.REVIEW and run.checks.ci_held_at:
            yield _START_CI
        yield _PAUSE
    yield _STOP


def _answers(run: Run) -> Iterator[RunButton]:
    if approval := _APPROVALS.get(run.wait_reason):
        yield approval
    if run.wait_reason is WaitReason.PAUSED:
        yield _RESUME
    elif run.wait_reason is WaitReason.CONSENT:
        yield _RESUME_WITHOUT
    else:
        yield _RETRY


def can_review(pull: PullRequest | None) -> bool:
    return pull is not None and pull.state is PullRequestState.OPEN
