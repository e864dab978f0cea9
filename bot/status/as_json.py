"""The status as JSON: for `treehand status --json` and, on the dashboard, `GET /api/v1/state`. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.domain.branch_name import branch_for
from bot.domain.health import Health
from bot.domain.pull_request import Checks, CheckState, PullRequest
from bot.domain.run import Phase, Run
from bot.domain.turn import Todo
from bot.domain.verification import BaseComparison, Verification, VerifiedCommand

StateJson = dict[str, object]

LANES: Mapping[Phase, str] = {
    Phase.ASKING: "Needs you",
    Phase.WORKING: "Working",
    Phase.REVIEW: "In review",
    Phase.QUEUED: "Queued",
    Phase.DONE: "Done today",
}
"""In the order people want to read them."""
_KINDS_OF_TESTS = ("broken", "flaky", "still_failing", "fixed", "vanished", "added")


@dataclass(frozen=True, slots=True)
class RunSummary:
    """Facts that the status shows besides the run itself."""

    title: str = ""
    url: str = ""
    """Address of its issue; empty if unknown."""
    agent: str = ""
    worktree: str = ""
    doing: str = ""
    todos: tuple[Todo, ...] = ()
    eta_seconds: float | None = None
    """Estimated seconds in the queue; None if it is not queued or there is no estimate."""
    pull_request: PullRequest | None = None


@dataclass(frozen=True, slots=True)
class StatusSnapshot:
    at: float
    runs: Sequence[Run]
    summaries: Mapping[str, RunSummary] = field(default_factory=dict)
    """Keyed by run id."""
    spent_today_usd: float = 0.0
    limit_usd: float = 0.0
    health: Mapping[str, Health] = field(default_factory=dict)
    """Keyed by name."""

    @property
    def lanes(self) -> Mapping[Phase, str]:
        return LANES

    @property
    def counts(self) -> Mapping[Phase, int]:
        return Counter(run.phase for run in self.runs)

    @property
    def failing(self) -> list[str]:
        return [f"{name}: {one.detail}" for name, one in self.health.items() if not one.ok]

    def as_json(self) -> StateJson:
        queue = [run.id for run in self.runs if run.phase is Phase.QUEUED]
        return {
            "generated_at": self.at,
            "counts": {phase.value: count for phase, count in self.counts.items()},
            "runs": [run_as_json(run, self.summaries.get(run.id, RunSummary()), queue) for run in self.runs],
            "spend": {"today_usd": round(self.spent_today_usd, 4), "limit_usd": self.limit_usd},
            "health": {
                name: {"ok": one.ok, "detail": one.detail, "still": one.still_works}
                for name, one in self.health.items()
            },
        }


def run_as_json(run: Run, summary: RunSummary, queue: Sequence[str] = ()) -> StateJson:
    return {
        "key": run.key,
        "project": run.project,
        "title": summary.title,
        "url": summary.url,
        "phase": run.phase.value,
        "reason": run.reason,
        "doing": summary.doing,
        "person": run.person,
        "todos": {"done": sum(todo.done for todo in summary.todos), "total": len(summary.todos)},
        "changed": {"files": run.diff_stat.files, "added": run.diff_stat.added, "removed": run.diff_stat.removed},
        "checks": _checks_as_json(summary.pull_request.checks) if summary.pull_request else None,
        "branch": branch_for(run),
        "pull_request": _pull_as_json(summary.pull_request),
        "agent": summary.agent,
        "turns": run.turns.number,
        "cost_usd": round(run.spend.usd, 4),
        "tokens": run.spend.tokens,
        "started_at": run.begun_at,
        "updated_at": run.changed_at,
        "queue": _queue_position(queue, run, summary.eta_seconds) if run.id in queue else None,
        "worktree": summary.worktree,
        "verification": _verification_as_json(run.checks.verification),
    }


def _queue_position(queue: Sequence[str], run: Run, eta: float | None) -> StateJson:
    return {"position": queue.index(run.id) + 1, "eta_seconds": eta if eta is None else round(eta)}


def _checks_as_json(checks: Checks) -> StateJson | None:
    if checks.state is CheckState.NONE:
        return None
    failed = [one.name for one in checks.failed]
    return {"state": checks.state.value, "passed": checks.passed, "pending": checks.pending, "failed": failed}


def _verification_as_json(verification: Verification | None) -> StateJson | None:
    if verification is None:
        return None
    return {
        "commit": verification.commit,
        "base": verification.base,
        "trouble": verification.problem,
        "setup": verification.setup,
        "without_network": verification.without_network,
        "test_files": list(verification.test_files),
        "commands": [
            {
                **_command_as_json(one),
                "broken": one in verification.regressions,
                "against_base": _comparison_as_json(one.against_base) if one.against_base else None,
            }
            for one in verification.commands
        ],
        "before": [_command_as_json(one) for one in verification.base_commands],
    }


def _comparison_as_json(one: BaseComparison) -> StateJson:
    tests = {name: getattr(one, name) for name in _KINDS_OF_TESTS}
    return {
        "by": one.by.value,
        "flaky_result": one.is_flaky,
        **{name: {"count": some.count, "names": list(some.names)} for name, some in tests.items()},
    }


def _command_as_json(one: VerifiedCommand) -> StateJson:
    counts = one.counts
    return {
        "command": one.command,
        "folder": one.folder,
        "standing": one.result.value,
        "exit_code": one.exit_code,
        "seconds": one.seconds,
        "late": one.timed_out,
        "problem": one.problem,
        "counts": counts and {"passed": counts.passed, "failed": counts.failed, "skipped": counts.skipped},
    }


def _pull_as_json(pull: PullRequest | None) -> StateJson | None:
    if pull is None:
        return None
    return {"number": pull.number, "url": pull.url, "state": pull.state.value, "draft": pull.draft}
