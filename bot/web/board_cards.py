"""Board cards: the values that a run shows on the board. Pure, so the board feed finds changes by comparing cards."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.pull_request import CheckState, PullRequest, PullRequestState
from bot.domain.run import Phase, Run
from bot.domain.verification import Verification
from bot.status.as_json import RunSummary, StatusSnapshot


@dataclass(frozen=True, slots=True)
class BoardCard:
    id: str
    """Id of the run."""
    key: str
    project: str
    phase: Phase
    title: str
    agent: str
    now: str
    """The agent's current step, or the reason why the run waits."""
    todos_done: int
    todos: int
    added: int
    removed: int
    checks: str
    """`green`, `red`, `unknown`, or `uncounted` if no test is known to have run; empty if no check ran."""
    pull: str
    pull_url: str
    cost_usd: float
    turns: int
    since: float
    """Time at which the run entered its lane."""
    queue_position: int
    """1 is next; 0 if the run is not queued."""
    eta_minutes: int | None
    """Estimate until the run starts."""


def cards_of(snapshot: StatusSnapshot) -> list[BoardCard]:
    queue = [run.id for run in snapshot.runs if run.phase is Phase.QUEUED]
    return [_card(run, snapshot.summaries.get(run.id, RunSummary()), queue) for run in snapshot.runs]


def _card(run: Run, summary: RunSummary, queue: Sequence[str]) -> BoardCard:
    pull = summary.pull_request
    return BoardCard(
        id=run.id,
        key=run.key,
        project=run.project,
        phase=run.phase,
        title=summary.title or run.key,
        agent=summary.agent,
        now=summary.doing or run.reason.replace("`", ""),
        todos_done=sum(todo.done for todo in summary.todos),
        todos=len(summary.todos),
        added=run.diff_stat.added,
        removed=run.diff_stat.removed,
        checks=_checks(run.checks.verification, pull),
        pull=_pull(pull),
        pull_url=pull.url if pull else "",
        cost_usd=round(run.spend.usd, 2),
        turns=run.turns.number,
        since=run.changed_at,
        queue_position=queue.index(run.id) + 1 if run.id in queue else 0,
        eta_minutes=None if summary.eta_seconds is None else max(round(summary.eta_seconds / 60), 1),
    )


def _pull(pull: PullRequest | None) -> str:
    if pull is None:
        return ""
    kind = "draft" if pull.draft and pull.state is PullRequestState.OPEN else pull.state.value
    return f"#{pull.number} {kind}"


def _checks(verification: Verification | None, pull: PullRequest | None) -> str:
    """The forge's checks count before our own verification."""
    forge_state = pull.checks.state if pull else CheckState.NONE
    if forge_state is not CheckState.NONE:
        return forge_state.value
    return verification.result.value if verification else ""
