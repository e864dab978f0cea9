"""Says in one line what an order will do, or why it will do nothing: judged as the daemon judges, on what is stored."""

from contextlib import closing
from dataclasses import dataclass

from bot.control.issue_keys import parse_key
from bot.domain.branch_name import branch_for
from bot.domain.command import parse_command
from bot.domain.comment import Comment, CommentPlace
from bot.domain.issue import Issue, Person
from bot.domain.run import Phase, Run
from bot.domain.turn import TurnReport, TurnState
from bot.engine.build import policy_for
from bot.engine.commands import foresee
from bot.engine.messages import command_replies
from bot.engine.observation import Observation
from bot.settings.schema import Settings
from bot.store.build import open_store
from bot.system.clock import now
from bot.system.locks import daemon_pid


@dataclass(frozen=True, slots=True)
class OrderOutcome:
    line: str
    exit_code: int = 0
    """1 if the order will do nothing."""


def foresee_outcome(settings: Settings, key: str, text: str, *, by: str) -> OrderOutcome:
    project, key = parse_key(settings, key)
    with closing(open_store(settings)) as store:
        run = store.find_run(key)
    if run is None or run.phase is Phase.DONE:
        why = "its run has ended" if run else "it has no run"
        advice = f"Put the label `{settings.label}` on the issue to start one."
        return OrderOutcome(f"{key}: {why}, and no agent reads this. {advice}", 1)
    policy = policy_for(project, settings)
    if parse_command(text, policy.label):
        comment = Comment("", CommentPlace.ISSUE, Person(by, trusted=True, may_push=True), text, now())
        acts, answer = foresee(run, _observe(run), policy, comment)
    else:
        acts, answer = True, _hears(run)
    return OrderOutcome(f"{key}: {answer}{without_daemon(settings)}", 0 if acts else 1)


def has_run(settings: Settings, key: str) -> bool:
    """Returns True if a run of this issue has not ended."""
    with closing(open_store(settings)) as store:
        run = store.find_run(key)
    return run is not None and run.phase is not Phase.DONE


def foresee_on_pull_request(settings: Settings, branch: str, *, is_open: bool) -> str:
    """Returns what a comment or review on the pull request of this branch will do."""
    with closing(open_store(settings)) as store:
        run = next((one for one in store.active() if branch_for(one) == branch), None)
        closed = [one for project in settings.projects for one in store.ended_with_pull_request(project.name)]
    if run is None and is_open and any(branch_for(one) == branch for one in closed):
        return f"Its run continues within a minute, and the agent gets this.{without_daemon(settings)}"
    if run is None:
        return (
            f"Its run has ended, and no agent reads this. Put the label `{settings.label}` on the issue to start one."
        )
    return f"{_hears(run)}{without_daemon(settings)}"


def _observe(run: Run) -> Observation:
    state = TurnState.RUNNING if run.has_turn_in_flight else TurnState.LOST
    return Observation(now(), Issue(run.key, "", "", frozenset(), open=True), turn=TurnReport(state))


def _hears(run: Run) -> str:
    match run.phase:
        case Phase.WORKING if run.has_turn_in_flight:
            return "The agent gets this while it works."
        case Phase.REVIEW:
            return "The agent gets this in another turn, as soon as a slot is free."
        case Phase.ASKING:
            return f"Treehand reads this as your reply. {command_replies.why(run, _observe(run))}"
        case _:
            return "The agent gets this when its next turn starts."


def without_daemon(settings: Settings) -> str:
    """Returns a sentence if nothing happens before a daemon is started."""
    return "" if daemon_pid(settings.state_dir) else " No daemon is running: `treehand run` starts one."
