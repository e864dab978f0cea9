"""What agents may do and use: each project's policy, and what all projects share."""

from dataclasses import dataclass

from bot.domain.policy import Policy
from bot.engine.schedule import Capacity
from bot.settings import ProjectSettings, Settings
from bot.store.runs import RunStore
from bot.system import clock
from bot.system.disk import Disk


def policy_for(project: ProjectSettings, settings: Settings) -> Policy:
    limits, budget = settings.limits, settings.budget
    return Policy(
        label=settings.label,
        base=project.base,
        model=settings.agent.model,
        working=limits.working,
        working_per_project=limits.working_per_project,
        turn_seconds=limits.turn_minutes * 60,
        stall_seconds=limits.stall_minutes * 60,
        failures=limits.failures,
        ci_fixes=limits.ci_fixes,
        verify_rounds=limits.verify_rounds,
        quiet_seconds=limits.quiet_seconds,
        per_issue_usd=budget.per_issue_usd,
        per_issue_tokens=budget.per_issue_tokens,
        per_issue_turns=budget.per_issue_turns,
        per_issue_seconds=budget.per_issue_hours * 3600,
        per_day_usd=budget.per_day_usd,
        sandboxed=settings.sandbox.kind != "none",
    )


@dataclass(frozen=True, slots=True)
class Gauge:
    """What all projects share, measured when asked."""

    settings: Settings
    store: RunStore
    disk: Disk

    def __call__(self) -> Capacity:
        limits, now = self.settings.limits, clock.now()
        return Capacity(
            working=limits.working,
            per_day_usd=self.settings.budget.per_day_usd,
            spent_today_usd=self.store.spent(since=clock.day_of(now)),
            disk=self.disk.level().lack,
        )
