"""Policy: the settings of one project that decisions may read."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Policy:
    """Settings of one project that decisions depend on."""

    label: str = "ai"
    base: str = ""
    model: str = ""
    max_working: int = 4
    max_working_per_project: int = 4
    turn_seconds: float = 3600.0
    stall_seconds: float = 600.0
    max_failures: int = 3
    ci_fixes: int = 2
    """Turns that may try to fix one pull request's failed checks before people are asked."""
    verify_rounds: int = 2
    """Turns that may try to fix regressions, per run, before the work is published nevertheless."""
    review_quiet_seconds: float = 60.0
    """Seconds a reviewer must have been quiet before a review starts a turn."""
    max_losses: int = 10
    """Turns in a row that may vanish having done nothing before we ask: one that kills its process must not be tried
    for ever."""
    loss_seconds: float = 60.0
    """However many vanish within this time, they count as one: a storm of restarts is not the work's fault."""
    per_issue_usd: float = 0.0
    per_issue_tokens: int = 0
    per_issue_turns: int = 0
    per_issue_seconds: float = 0.0
    per_day_usd: float = 0.0
    ci_after_approval: bool = False
    """Workflows start only after a person has approved what was pushed."""
    dashboard: str = ""
    """Address of the dashboard, which has the pages of pull requests that are kept here; empty if they have others."""
    sandboxed: bool = False
    """Every progress comment mentions it if agents run without a sandbox."""
