"""The feedback ledger of a run: what it has heard, remark by remark, and what became of each. Pure.

Every comment of a person and every inline remark gets one row, which ends once. A comment here may be a part of one: a
review that has grown since is news again, with what is new in it.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from bot.domain.command import parse_command
from bot.domain.comment import Comment, Heard, Outcome, Place
from bot.domain.policy import Policy
from bot.domain.run import Run
from bot.domain.turn import Answer
from bot.engine.observation import Observation

_STRANGERS_ANSWERED = 3


def ids_of(comment: Comment) -> tuple[str, ...]:
    """The comment and each of its remarks."""
    return tuple(dict.fromkeys((comment.id, *(remark.id for remark in comment.remarks if remark.id))))


def has_threads(comment: Comment) -> bool:
    return any(remark.id for remark in comment.remarks)


def unheard(run: Run, seen: Observation) -> tuple[Comment, ...]:
    """Comments, or what has been added to them, without a row."""
    known = {row.comment for row in run.heard}
    return _parts(seen.comments, lambda name: name not in known)


def news(run: Run, seen: Observation, policy: Policy) -> tuple[Comment, ...]:
    """What trusted people said to the agent and it has not been given yet."""
    return tuple(
        comment
        for comment in unheard(run, seen)
        if comment.author.trusted and not _is_command(comment, policy) and not _is_silent(comment)
    )


def due(run: Run, seen: Observation, policy: Policy) -> tuple[Comment, ...]:
    """The news that may be acted upon: a review only once its author has been quiet for a while."""
    return tuple(comment for comment in news(run, seen, policy) if _quiet_at(comment, seen, policy) <= seen.now)


def next_due(run: Run, seen: Observation, policy: Policy) -> float | None:
    """When more of the news may be acted upon, if it is not due yet."""
    later = [_quiet_at(comment, seen, policy) for comment in news(run, seen, policy)]
    return min((at for at in later if at > seen.now), default=None)


def orders(run: Run, seen: Observation, policy: Policy) -> tuple[Comment, ...]:
    """Commands nobody has answered yet, trusted or not."""
    return tuple(comment for comment in unheard(run, seen) if _is_command(comment, policy))


def answered(run: Run) -> tuple[Heard, ...]:
    """What the next run of the same issue must not obey: commands that had their answer, and what strangers said."""
    return tuple(row for row in run.heard if row.outcome in {Outcome.COMMAND, Outcome.NOT_TRUSTED})


def without_strangers(run: Run) -> Run:
    heard = tuple(row for row in run.heard if row.outcome is not Outcome.NOT_TRUSTED)
    return replace(run, heard=heard) if heard != run.heard else run


def unsettled(run: Run, seen: Observation) -> tuple[Comment, ...]:
    """What was handed to a turn that did not come to a good end."""
    pending = {row.comment for row in run.heard if row.outcome is Outcome.HANDED}
    return _parts(seen.comments, lambda name: name in pending)


def reached(handed: Sequence[Comment], names: Collection[str]) -> tuple[Comment, ...]:
    """What of it the agent really heard."""
    return _parts(handed, lambda name: name in names)


def thread(run: Run, seen: Observation) -> tuple[Comment, ...]:
    """All that trusted people said, for an agent that knows nothing yet; trust that came later changes nothing."""
    strange = {row.comment for row in run.heard if row.outcome is Outcome.NOT_TRUSTED}
    trusted = (comment for comment in seen.comments if comment.author.trusted)
    return tuple(part for part in _parts(trusted, lambda name: name not in strange) if not _is_silent(part))


def silent(run: Run, seen: Observation) -> tuple[Comment, ...]:
    """What trusted people left without a word, such as an approval: it is seen, and there is nothing to do about it."""
    return tuple(comment for comment in unheard(run, seen) if comment.author.trusted and _is_silent(comment))


def pass_over(run: Run, seen: Observation, policy: Policy) -> Run:
    """Rows for what nobody will act upon: what strangers say, unless it gets an answer, and what has no words."""
    for comment in unheard(run, seen):
        if not comment.author.trusted and not _gets_an_answer(run, comment, policy):
            run = _with(run, comment, Outcome.NOT_TRUSTED)
    for comment in silent(run, seen):
        run = _with(run, comment, Outcome.ANSWERED)
    return run


def hand(run: Run, comments: Sequence[Comment], turn: int) -> Run:
    """What has its end already keeps it: only what has been added to it is handed over."""
    rows = {row.comment: row for row in run.heard}
    for name, place in ((name, comment.place) for comment in comments for name in ids_of(comment)):
        if name not in rows or rows[name].outcome is Outcome.HANDED:
            rows[name] = Heard(name, place, turn, Outcome.HANDED)
    return replace(run, heard=tuple(rows.values()))


def close(run: Run, comment: Comment, outcome: Outcome) -> Run:
    """A command has its end; remarks made along with it are still to be heard."""
    return replace(run, heard=(*run.heard, Heard(comment.id, comment.place, run.turn, outcome)))


def turn_away(run: Run, stranger: Comment) -> Run:
    return replace(close(run, stranger, Outcome.NOT_TRUSTED), strangers=(*run.strangers, stranger.author.name))


def settle(run: Run, reached: Collection[str], answers: Sequence[Answer], commit: str = "") -> Run:
    """The turn ended well: what reached the agent has its end; what did not is unheard again."""
    said = {answer.comment: answer for answer in answers}

    def settled(row: Heard) -> Heard | None:
        if row.outcome is not Outcome.HANDED:
            return row
        return _ended(row, said.get(row.comment), commit) if row.comment in reached else None

    return replace(run, heard=tuple(row for row in map(settled, run.heard) if row))


def wait(run: Run, reached: Collection[str], answers: Sequence[Answer]) -> Run:
    """The turn ended well, but what it made waits: of what reached the agent only what it answered has its end."""
    said = {answer.comment: answer for answer in answers}

    def waiting(row: Heard) -> Heard | None:
        if row.outcome is not Outcome.HANDED:
            return row
        if row.comment not in reached:
            return None
        return _ended(row, said[row.comment], "") if row.comment in said else row

    return replace(run, heard=tuple(row for row in map(waiting, run.heard) if row))


def conclude(run: Run, seen: Observation, policy: Policy, reason: str) -> Run:
    """The run is over, and with it everything that still waits for an end."""
    for comment in orders(run, seen, policy):
        run = close(run, comment, Outcome.COMMAND)
    for comment in news(run, seen, policy):
        run = _with(run, comment, Outcome.HANDED)
    heard = tuple(
        replace(row, outcome=Outcome.DECLINED, reason=reason) if row.outcome is Outcome.HANDED else row
        for row in run.heard
    )
    return replace(run, heard=heard)


def _ended(row: Heard, answer: Answer | None, commit: str) -> Heard:
    match answer:
        case None:
            return replace(row, outcome=Outcome.APPLIED if commit else Outcome.ANSWERED, commit=commit)
        case Answer(declined=True, text=text):
            return replace(row, outcome=Outcome.DECLINED, reason=text)
        case Answer(text=text):
            return replace(row, outcome=Outcome.ANSWERED, reason=text)


def _with(run: Run, comment: Comment, outcome: Outcome) -> Run:
    known = {row.comment for row in run.heard}
    rows = (Heard(name, comment.place, run.turn, outcome) for name in ids_of(comment) if name not in known)
    return replace(run, heard=(*run.heard, *rows))


def _parts(comments: Iterable[Comment], wanted: Callable[[str], bool]) -> tuple[Comment, ...]:
    """What of each comment is wanted; one of which nothing is, is left out."""
    return tuple(_part(comment, wanted) for comment in comments if any(map(wanted, ids_of(comment))))


def _part(comment: Comment, wanted: Callable[[str], bool]) -> Comment:
    whole = wanted(comment.id)
    remarks = tuple(remark for remark in comment.remarks if (wanted(remark.id) if remark.id else whole))
    return replace(comment, text=comment.text if whole else "", remarks=remarks)


def _is_command(comment: Comment, policy: Policy) -> bool:
    return parse_command(comment.text, policy.label) is not None


def _gets_an_answer(run: Run, stranger: Comment, policy: Policy) -> bool:
    """The first command of each of a few: nobody makes us talk without end."""
    told = stranger.author.name in run.strangers or len(run.strangers) >= _STRANGERS_ANSWERED
    return _is_command(stranger, policy) and not told


def _is_silent(comment: Comment) -> bool:
    return not comment.text.strip() and not comment.remarks


def _quiet_at(comment: Comment, seen: Observation, policy: Policy) -> float:
    """Its author may be writing more of it until then."""
    if not comment.review:
        return comment.at
    reviewing = (
        other.at
        for other in seen.comments
        if other.author.name == comment.author.name
        and other.place is Place.PULL_REQUEST
        and (other.review or other.remarks)
    )
    return max(reviewing, default=comment.at) + policy.quiet_seconds
