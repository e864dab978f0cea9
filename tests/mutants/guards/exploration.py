"""Guards of decisions that the exploration of all states notices (F1, F21, T24)."""

from tests.mutants.guards.guard import Guard

_TESTS = "tests/exploration/test_exploration.py::test_whatever_disturbs"
_ALONE = ("tests/exploration/test_exploration.py::test_one_issue_with_any_disturbance_keeps_every_law",)
_PAIR = ("tests/exploration/test_exploration.py::test_two_issues_with_any_disturbance_share_one_slot_and_never_starve",)
_DECIDE = "bot/engine/decide.py"
_FINISH = "bot/engine/finish_turn.py"
_SCHEDULE = "bot/engine/schedule.py"

GUARDS = (
    Guard(
        "F1: explored: a run ends after its turn, whose last report brings the bill",
        _DECIDE,
        "if cancel_turn(run) and seen.turn.state is TurnState.RUNNING:",
        "if False:",
        _ALONE,
    ),
    Guard(
        "T24: explored: an edit by a stranger is asked about before anything is published",
        _FINISH,
        "return authorization.block_on(decision.then(run, *replies), seen, policy, objection)",
        "pass",
        _ALONE,
    ),
    Guard(
        "F1: explored: the label of the phase before is taken off",
        "bot/engine/issue_status.py",
        "(ours - wanted) & seen.issue.labels",
        "frozenset() & seen.issue.labels",
        _ALONE,
    ),
    Guard(
        "F1: explored: a command is answered once",
        "bot/engine/commands.py",
        "run = comment_ledger.close(run, comment, CommentOutcome.COMMAND)",
        "run = run",
        _ALONE,
    ),
    Guard(
        "F1: explored: a question is written on the issue",
        "bot/engine/ask_human.py",
        "question=name, asked_at=0.0), post)",
        "question=name, asked_at=0.0))",
        _ALONE,
    ),
    Guard(
        "F21: explored: no more agents work than there are slots",
        _SCHEDULE,
        "if len(working) >= capacity.working:",
        "if False:",
        _PAIR,
    ),
)
