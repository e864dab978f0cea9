"""The state of things as one object: `treehand status --json` and, for the dashboard, `GET /api/v1/state`. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.domain.health import Health
from bot.domain.names import branch_for
from bot.domain.pull_request import Checks, CheckState, PullRequest
from bot.domain.run import Phase, Run
from bot.domain.turn import Todo
from bot.domain.verification import Trial, Verification

Json = dict[str, object]

LANES: Mapping[Phase, str] = {
    Phase.ASKING: "Needs you",
    Phase.WORKING: "Working",
    Phase.REVIEW: "In review",
    Phase.QUEUED: "Queued",
    Phase.DONE: "Done today",
}
"""In the order people want to read them."""


@dataclass(frozen=True, slots=True)
class Glimpse:
    """What is known of a run's surroundings, apart from the run."""

    title: str = ""
    url: str = ""
    """Of its issue; empty: nobody knows, or it has none."""
    agent: str = ""
    worktree: str = ""
    doing: str = ""
    todos: tuple[Todo, ...] = ()
    eta_seconds: float | None = None
    """In the queue: until it begins, by a guess; None: nobody knows."""
    pull_request: PullRequest | None = None


@dataclass(frozen=True, slots=True)
class Picture:
    at: float
    runs: Sequence[Run]
    glimpses: Mapping[str, Glimpse] = field(default_factory=dict)
    """By run id."""
    spent_today_usd: float = 0.0
    limit_usd: float = 0.0
    health: Mapping[str, Health] = field(default_factory=dict)
    """By name."""

    @property
    def lanes(self) -> Mapping[Phase, str]:
        return LANES

    @property
    def counts(self) -> Mapping[Phase, int]:
        return Counter(run.phase for run in self.runs)

    @property
    def wrong(self) -> list[str]:
        """What is not well, in words."""
        return [f"{name}: {one.detail}" for name, one in self.health.items() if not one.ok]

    def as_json(self) -> Json:
        queue = [run.id for run in self.runs if run.phase is Phase.QUEUED]
        return {
            "generated_at": self.at,
            "counts": {phase.value: count for phase, count in self.counts.items()},
            "runs": [run_as_json(run, self.glimpses.get(run.id, Glimpse()), queue) for run in self.runs],
            "spend": {"today_usd": round(self.spent_today_usd, 4), "limit_usd": self.limit_usd},
            "health": {
                name: {"ok": one.ok, "detail": one.detail, "still": one.still} for name, one in self.health.items()
            },
        }


def run_as_json(run: Run, glimpse: Glimpse, queue: Sequence[str] = ()) -> Json:
    return {
        "key": run.key,
        "project": run.project,
        "title": glimpse.title,
        "url": glimpse.url,
        "phase": run.phase.value,
        "reason": run.reason,
        "doing": glimpse.doing,
        "person": run.person,
        "todos": {"done": sum(todo.done for todo in glimpse.todos), "total": len(glimpse.todos)},
        "changed": {"files": run.extent.files, "added": run.extent.added, "removed": run.extent.removed},
        "checks": _checks_as_json(glimpse.pull_request.checks) if glimpse.pull_request else None,
        "branch": branch_for(run),
        "pull_request": _pull_as_json(glimpse.pull_request),
        "agent": glimpse.agent,
        "turns": run.turn,
        "cost_usd": round(run.spent_usd, 4),
        "tokens": run.tokens,
        "started_at": run.begun_at,
        "updated_at": run.changed_at,
        "queue": _place_in(queue, run, glimpse.eta_seconds) if run.id in queue else None,
        "worktree": glimpse.worktree,
        "verification": _verification_as_json(run.verification),
    }


def _place_in(queue: Sequence[str], run: Run, eta: float | None) -> Json:
    return {"position": queue.index(run.id) + 1, "eta_seconds": eta if eta is None else round(eta)}


def _checks_as_json(checks: Checks) -> Json | None:
    if checks.state is CheckState.NONE:
        return None
    failed = [one.name for one in checks.failed]
    return {"state": checks.state.value, "passed": checks.passed, "pending": checks.pending, "failed": failed}


def _verification_as_json(found: Verification | None) -> Json | None:
    if found is None:
        return None
    return {
        "commit": found.commit,
        "base": found.base,
        "trouble": found.trouble,
        "commands": [{**_trial_as_json(one), "broken": one in found.broken} for one in found.trials],
        "before": [_trial_as_json(one) for one in found.before],
    }


def _trial_as_json(one: Trial) -> Json:
    counts = one.counts
    return {
        "command": one.command,
        "folder": one.folder,
        "standing": one.standing.value,
        "exit_code": one.code,
        "seconds": one.seconds,
        "late": one.is_late,
        "problem": one.problem,
        "counts": counts and {"passed": counts.passed, "failed": counts.failed, "skipped": counts.skipped},
    }


def _pull_as_json(pull: PullRequest | None) -> Json | None:
    if pull is None:
        return None
    return {"number": pull.number, "url": pull.url, "state": pull.state.value, "draft": pull.draft}
