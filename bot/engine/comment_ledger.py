"""Comment ledger of a run: one record per comment and per inline remark, with its outcome. Pure.

Rule: each record is closed once. A comment here may be a part of a comment: a review that has grown since is new again,
with its new remarks.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from bot.domain.command import parse_command
from bot.domain.comment import Comment, CommentOutcome, CommentPlace, CommentRecord
from bot.domain.policy import Policy
from bot.domain.run import Run
from bot.domain.turn import TurnAnswer
from bot.engine.observation import Observation

_UNTRUSTED_ANSWERED = 3


def ids_of(comment: Comment) -> tuple[str, ...]:
    """Returns the ids of the comment and of its remarks."""
    return tuple(dict.fromkeys((comment.id, *(remark.id for remark in comment.remarks if remark.id))))


def has_threads(comment: Comment) -> bool:
    return any(remark.id for remark in comment.remarks)


def unrecorded(run: Run, seen: Observation) -> tuple[Comment, ...]:
    """Returns comments, or parts of them, without a record."""
    known = {row.comment for row in run.comments}
    return _parts(seen.comments, lambda name: name not in known)


def new_comments(run: Run, seen: Observation, policy: Policy) -> tuple[Comment, ...]:
    """Returns trusted comments that no turn has received yet."""
    return tuple(
        comment
        for comment in unrecorded(run, seen)
        if comment.author.trusted and not _is_command(comment, policy) and not _is_wordless(comment)
    )


def due_comments(run: Run, seen: Observation, policy: Policy) -> tuple[Comment, ...]:
    """Returns new comments that may be delivered: a review only after its author has been quiet for a while."""
    return tuple(comment for comment in new_comments(run, seen, policy) if _quiet_at(comment, seen, policy) <= seen.now)


def next_due(run: Run, seen: Observation, policy: Policy) -> float | None:
    """Returns the time when more new comments become due."""
    later = [_quiet_at(comment, seen, policy) for comment in new_comments(run, seen, policy)]
    return min((at for at in later if at > seen.now), default=None)


def pending_commands(run: Run, seen: Observation, policy: Policy) -> tuple[Comment, ...]:
    """Returns unanswered commands of all authors, trusted or not, as their authors wrote them."""
    return tuple(comment for comment in unrecorded(run, seen) if _is_command(comment, policy) and not comment.edited_by)


def answered(run: Run) -> tuple[CommentRecord, ...]:
    """Returns records that the next run of the issue must not repeat: answered commands and untrusted comments."""
    return tuple(row for row in run.comments if row.outcome in {CommentOutcome.COMMAND, CommentOutcome.NOT_TRUSTED})


def without_untrusted(run: Run) -> Run:
    heard = tuple(row for row in run.comments if row.outcome is not CommentOutcome.NOT_TRUSTED)
    return replace(run, comments=heard) if heard != run.comments else run


def pending_comments(run: Run, seen: Observation) -> tuple[Comment, ...]:
    """Returns comments delivered to a turn that has not succeeded."""
    pending = {row.comment for row in run.comments if row.outcome is CommentOutcome.PENDING}
    return _parts(seen.comments, lambda name: name in pending)


def held_comments(run: Run, seen: Observation) -> tuple[Comment, ...]:
    """Returns comments that people are asked about before they, or the work on them, are used.

    A person without permission edited them, or an agent has them and their author lost the permission.
    """
    known = {row.comment for row in run.comments}
    pending = {row.comment for row in run.comments if row.outcome is CommentOutcome.PENDING}
    return tuple(
        comment
        for comment in seen.comments
        if not comment.author.trusted
        and (pending & set(ids_of(comment)) or (comment.edited_by and not known.issuperset(ids_of(comment))))
    )


def set_aside(run: Run, seen: Observation) -> Run:
    """Closes held comments: they are not used, by this turn or a later one."""
    names = {name for comment in held_comments(run, seen) for name in ids_of(comment)}
    kept = tuple(row for row in run.comments if row.comment not in names or row.outcome is not CommentOutcome.PENDING)
    left = replace(run, comments=kept)
    for comment in held_comments(run, seen):
        left = _with(left, comment, CommentOutcome.NOT_TRUSTED)
    return left


def only(handed: Sequence[Comment], names: Collection[str]) -> tuple[Comment, ...]:
    """Returns the comments, or parts of them, with these ids."""
    return _parts(handed, lambda name: name in names)


def trusted_thread(run: Run, seen: Observation) -> tuple[Comment, ...]:
    """Returns all trusted comments, for an agent without history; trust given later does not count."""
    strange = {row.comment for row in run.comments if row.outcome is CommentOutcome.NOT_TRUSTED}
    trusted = (comment for comment in seen.comments if comment.author.trusted)
    return tuple(part for part in _parts(trusted, lambda name: name not in strange) if not _is_wordless(part))


def wordless(run: Run, seen: Observation) -> tuple[Comment, ...]:
    """Returns trusted comments without text, such as an approval: they are seen, and need no action."""
    return tuple(comment for comment in unrecorded(run, seen) if comment.author.trusted and _is_wordless(comment))


def record_ignored(run: Run, seen: Observation, policy: Policy) -> Run:
    """Records comments that need no action: untrusted ones without a reply, and those without text."""
    for comment in unrecorded(run, seen):
        if not comment.author.trusted and not comment.edited_by and not _gets_an_answer(run, comment, policy):
            run = _with(run, comment, CommentOutcome.NOT_TRUSTED)
    for comment in wordless(run, seen):
        run = _with(run, comment, CommentOutcome.ANSWERED)
    return run


def assign(run: Run, comments: Sequence[Comment], turn: int) -> Run:
    """Assigns comments to a turn; closed records stay closed."""
    rows = {row.comment: row for row in run.comments}
    for name, place in ((name, comment.place) for comment in comments for name in ids_of(comment)):
        if name not in rows or rows[name].outcome is CommentOutcome.PENDING:
            rows[name] = CommentRecord(name, place, turn, CommentOutcome.PENDING)
    return replace(run, comments=tuple(rows.values()))


def close(run: Run, comment: Comment, outcome: CommentOutcome) -> Run:
    """Closes a command; remarks of the same comment stay open."""
    return replace(run, comments=(*run.comments, CommentRecord(comment.id, comment.place, run.turns.number, outcome)))


def refuse(run: Run, comment: Comment) -> Run:
    return replace(
        close(run, comment, CommentOutcome.NOT_TRUSTED), refused_users=(*run.refused_users, comment.author.name)
    )


def close_comments(run: Run, reached: Collection[str], answers: Sequence[TurnAnswer], commit: str = "") -> Run:
    """Closes the comments that reached the agent of a successful turn, and removes the records of the others."""
    answer_to = {answer.comment: answer for answer in answers}

    def settled(row: CommentRecord) -> CommentRecord | None:
        if row.outcome is not CommentOutcome.PENDING:
            return row
        return _ended(row, answer_to.get(row.comment), commit) if row.comment in reached else None

    return replace(run, comments=tuple(row for row in map(settled, run.comments) if row))


def close_answered(run: Run, reached: Collection[str], answers: Sequence[TurnAnswer]) -> Run:
    """Closes only the comments that the agent answered, because the turn's work waits for approval."""
    answer_to = {answer.comment: answer for answer in answers}

    def waiting(row: CommentRecord) -> CommentRecord | None:
        if row.outcome is not CommentOutcome.PENDING:
            return row
        if row.comment not in reached:
            return None
        return _ended(row, answer_to[row.comment], "") if row.comment in answer_to else row

    return replace(run, comments=tuple(row for row in map(waiting, run.comments) if row))


def close_all(run: Run, seen: Observation, policy: Policy, reason: str) -> Run:
    """Closes everything that is still open at the end of the run."""
    for comment in pending_commands(run, seen, policy):
        run = close(run, comment, CommentOutcome.COMMAND)
    for comment in new_comments(run, seen, policy):
        run = _with(run, comment, CommentOutcome.PENDING)
    heard = tuple(
        replace(row, outcome=CommentOutcome.DECLINED, reason=reason) if row.outcome is CommentOutcome.PENDING else row
        for row in run.comments
    )
    return replace(run, comments=heard)


def reopened(run: Run) -> Run:
    """Forgets the comments that the end of the run closed: nobody has acted on them."""
    declined_by_end = (CommentOutcome.DECLINED, run.reason)
    return replace(run, comments=tuple(row for row in run.comments if (row.outcome, row.reason) != declined_by_end))


def _ended(row: CommentRecord, answer: TurnAnswer | None, commit: str) -> CommentRecord:
    match answer:
        case None:
            return replace(row, outcome=CommentOutcome.APPLIED if commit else CommentOutcome.ANSWERED, commit=commit)
        case TurnAnswer(declined=True, text=text):
            return replace(row, outcome=CommentOutcome.DECLINED, reason=text)
        case TurnAnswer(text=text):
            return replace(row, outcome=CommentOutcome.ANSWERED, reason=text)


def _with(run: Run, comment: Comment, outcome: CommentOutcome) -> Run:
    known = {row.comment for row in run.comments}
    rows = (
        CommentRecord(name, comment.place, run.turns.number, outcome) for name in ids_of(comment) if name not in known
    )
    return replace(run, comments=(*run.comments, *rows))


def _parts(comments: Iterable[Comment], wanted: Callable[[str], bool]) -> tuple[Comment, ...]:
    """Returns the wanted parts of each comment, and no empty comment."""
    return tuple(_part(comment, wanted) for comment in comments if any(map(wanted, ids_of(comment))))


def _part(comment: Comment, wanted: Callable[[str], bool]) -> Comment:
    whole = wanted(comment.id)
    remarks = tuple(remark for remark in comment.remarks if (wanted(remark.id) if remark.id else whole))
    return replace(comment, text=comment.text if whole else "", remarks=remarks)


def _is_command(comment: Comment, policy: Policy) -> bool:
    return parse_command(comment.text, policy.label) is not None


def _gets_an_answer(run: Run, comment: Comment, policy: Policy) -> bool:
    """Returns True for the first command of each of the first few untrusted authors."""
    has_answer = comment.author.name in run.refused_users or len(run.refused_users) >= _UNTRUSTED_ANSWERED
    return _is_command(comment, policy) and not has_answer


def _is_wordless(comment: Comment) -> bool:
    return not comment.text.strip() and not comment.remarks


def _quiet_at(comment: Comment, seen: Observation, policy: Policy) -> float:
    """Returns the time until which the author may still be adding to the comment."""
    if not comment.review:
        return comment.at
    reviewing = (
        other.at
        for other in seen.comments
        if other.author.name == comment.author.name
        and other.place is CommentPlace.PULL_REQUEST
        and (other.review or other.remarks)
    )
    return max(reviewing, default=comment.at) + policy.review_quiet_seconds
