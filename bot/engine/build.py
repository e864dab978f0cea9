"""Turns settings into the policy of each project and the capacity that all projects share."""

import contextlib
from dataclasses import dataclass

from bot.domain.policy import Policy
from bot.engine.schedule import Capacity
from bot.errors import BotError
from bot.ports import Store
from bot.settings.dashboard_access import dashboard_of_pulls
from bot.settings.schema import ProjectSettings, Settings
from bot.system import clock
from bot.system.disk import Disk


def policy_for(project: ProjectSettings, settings: Settings) -> Policy:
    limits, budget = settings.limits, settings.budget
    return Policy(
        label=settings.label,
        base=project.base,
        model=settings.agent.model,
        max_working=limits.working,
        max_working_per_project=limits.working_per_project,
        turn_seconds=limits.turn_minutes * 60,
        stall_seconds=limits.stall_minutes * 60,
        max_failures=limits.failures,
        ci_fixes=limits.ci_fixes,
        verify_rounds=limits.verify_rounds,
        review_quiet_seconds=limits.quiet_seconds,
        per_issue_usd=budget.per_issue_usd,
        per_issue_tokens=budget.per_issue_tokens,
        per_issue_turns=budget.per_issue_turns,
        per_issue_seconds=budget.per_issue_hours * 3600,
        per_day_usd=budget.per_day_usd,
        ci_after_approval=project.ci == "after-approval" and project.folder is None,
        dashboard=dashboard_of_pulls(settings, project),
        sandboxed=settings.sandbox.kind != "none",
    )


@dataclass(slots=True)
class SpentToday:
    """Reads the money spent today; the last known amount while the database cannot be read."""

    store: Store
    _last: float = 0.0

    def __call__(self) -> float:
        with contextlib.suppress(BotError):
            self._last = self.store.spent(since=clock.day_of(clock.now()))
        return self._last


@dataclass(frozen=True, slots=True)
class CapacityReader:
    """Measures, at each call, the slots, the money and the disk that all projects share."""

    settings: Settings
    store: Store
    disk: Disk

    def __call__(self) -> Capacity:
        return Capacity(
            working=self.settings.limits.working,
            per_day_usd=self.settings.budget.per_day_usd,
            spent_today_usd=self.store.spent(since=clock.day_of(clock.now())),
            disk=self.disk.level().shortage,
        )
