"""Old names of stored fields: notes on issues and records in the database may still carry them.

Rule: values are written under their present names only. A dot leads into a group: `turns.number`.
"""

from collections.abc import Mapping

RENAMED: Mapping[str, Mapping[str, str]] = {
    "Run": {
        "cause": "wait_reason",
        "vouched": "consent.requester_approved_by",
        "accepted": "consent.accepted_edit",
        "ignored": "consent.ignored_edit",
        "asked_about": "consent.asked_for",
        "errand": "purpose",
        "approved": "plan_approved",
        "given": "handback_comment",
        "fixes": "checks.ci_fix_attempts",
        "fixed": "checks.ci_fixed_head",
        "merged": "checks.merge_fixed_head",
        "verification": "checks.verification",
        "rounds": "checks.verify_attempts",
        "facts": "checks.shown_digest",
        "held": "hold.objections",
        "allowed": "hold.allowed",
        "words": "hold.agent_summary",
        "extent": "diff_stat",
        "turn": "turns.number",
        "ended": "turns.ended",
        "turn_at": "turns.started_at",
        "failures": "turns.failures",
        "losses": "turns.losses",
        "lost_at": "turns.lost_at",
        "not_before": "turns.not_before",
        "session_cost_usd": "spend.session_cost_usd",
        "spent_usd": "spend.usd",
        "tokens": "spend.tokens",
        "seconds": "spend.seconds",
        "budget_usd": "budget.usd",
        "budget_tokens": "budget.tokens",
        "budget_turns": "budget.turns",
        "budget_hours": "budget.hours",
        "heard": "comments",
        "strangers": "refused_users",
        "shown": "status.digest",
        "shown_at": "status.shown_at",
    },
    "TurnReport": {
        "heard": "delivered",
        "words": "summary",
        "fresh": "is_new_session",
        "salvaged": "salvage_ref",
    },
    "Progress": {
        "doing": "action",
        "said": "message",
        "last_at": "last_event_at",
        "heard": "delivered",
    },
    "Verification": {
        "trials": "commands",
        "before": "base_commands",
        "trouble": "problem",
    },
    "VerifiedCommand": {
        "code": "exit_code",
        "is_late": "timed_out",
    },
}
"""Maps old names to present names, by class."""


def with_present_names(kind: str, record: Mapping[str, object]) -> Mapping[str, object]:
    """The record of a `kind`, its fields under their present names."""
    renamed = RENAMED.get(kind, {})
    if renamed.keys().isdisjoint(record):
        return record
    present: dict[str, object] = {name: value for name, value in record.items() if name not in renamed}
    for name in renamed.keys() & record.keys():
        group, _, field = renamed[name].partition(".")
        if not field:
            present[group] = record[name]
            continue
        others = present.get(group)
        present[group] = {**(others if isinstance(others, dict) else {}), field: record[name]}
    return present
