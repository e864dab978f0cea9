"""The feedback ledger of a run: which comments it has heard and what became of each. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from bot.domain.command import parse_command
from bot.domain.comment import Comment, Heard, Outcome
from bot.domain.policy import Policy
from bot.domain.run import Run
from bot.engine.observation import Observation


def unheard(run: Run, seen: Observation) -> tuple[Comment, ...]:
    known = {row.comment for row in run.heard}
    return tuple(comment for comment in seen.comments if comment.id not in known)


def news(run: Run, seen: Observation, policy: Policy) -> tuple[Comment, ...]:
    """What trusted people said to the agent and it has not been given yet."""
    return tuple(
        comment
        for comment in unheard(run, seen)
        if comment.author.trusted and parse_command(comment.text, policy.label) is None
    )


def orders(run: Run, seen: Observation, policy: Policy) -> tuple[Comment, ...]:
    """Commands nobody has answered yet, trusted or not."""
    return tuple(comment for comment in unheard(run, seen) if parse_command(comment.text, policy.label))


def answered(run: Run) -> tuple[Heard, ...]:
    """Commands that had their answer: the next run of the same issue must not obey them again."""
    return tuple(row for row in run.heard if row.outcome in {Outcome.COMMAND, Outcome.NOT_TRUSTED})


def unsettled(run: Run, seen: Observation) -> tuple[Comment, ...]:
    """Comments handed to a turn that did not come to a good end."""
    pending = {row.comment for row in run.heard if row.outcome is Outcome.HANDED}
    return tuple(comment for comment in seen.comments if comment.id in pending)


def hand(run: Run, comments: Sequence[Comment], turn: int) -> Run:
    ids = {comment.id for comment in comments}
    others = tuple(row for row in run.heard if row.comment not in ids)
    rows = tuple(Heard(comment.id, comment.place, turn, Outcome.HANDED) for comment in comments)
    return replace(run, heard=(*others, *rows))


def close(run: Run, comment: Comment, outcome: Outcome) -> Run:
    return replace(run, heard=(*run.heard, Heard(comment.id, comment.place, run.turn, outcome)))


def settle(run: Run, reached: Collection[str], outcome: Outcome, commit: str = "") -> Run:
    """The turn ended well: what reached the agent has its end; what did not is unheard again."""

    def settled(row: Heard) -> Heard | None:
        if row.outcome is not Outcome.HANDED:
            return row
        return replace(row, outcome=outcome, commit=commit) if row.comment in reached else None

    return replace(run, heard=tuple(row for row in map(settled, run.heard) if row))
