"""Laws that hold in every state: each law is one function, and its docstring is the sentence.

A law returns True if it holds. Laws of decisions get the observation of `decide`; laws of rest get a state in which
only disturbances can change anything.
"""

from collections.abc import Callable

from bot.domain.comment import CommentOutcome, CommentRecord
from bot.domain.phase_labels import phase_label, phase_labels
from bot.domain.pull_request import PullRequestState
from bot.domain.run import Phase, Run, TurnPurpose, WaitReason
from bot.domain.turn import TurnState
from bot.engine.actions import (
    Action,
    OfferPullRequest,
    PostComment,
    PrintHandover,
    PushBranch,
    RemoveWorkspace,
    ShowLabels,
    StartTurn,
)
from bot.engine.decision import Decision
from bot.engine.messages.progress_comment import headline
from bot.engine.observation import Observation
from tests.exploration.hands import MUTE
from tests.exploration.state import POLICY, REPORTS, RUNS, STRANGE_WORDS, TEXTS, WORDS, State, Working, run_of

DecisionLaw = Callable[[Run, Observation, Decision], bool]
StateLaw = Callable[[State], bool]


# Of decisions


def nothing_is_published_that_was_not_judged(run: Run, seen: Observation, decision: Decision) -> bool:
    """A pushed commit comes from a turn that succeeded, passed the publish guard, and is wanted by a trusted person."""
    if not _has(decision, PushBranch):
        return True
    change = seen.turn.change
    is_judged = seen.turn.state is TurnState.SUCCEEDED and change is not None and not change.objections
    return is_judged and not seen.turn.planned and _is_wanted(run, seen)


def no_work_without_a_trusted_label(run: Run, seen: Observation, decision: Decision) -> bool:
    """A turn starts only for an open issue with a trusted label, and without untrusted text in its prompt."""
    orders = [action.order for action in decision.actions if isinstance(action, StartTurn)]
    if not orders:
        return True
    told = any(STRANGE_WORDS in f"{order.prompt}{order.briefing}" for order in orders)
    return _is_wanted(run, seen) and (not told or _is_approved(seen))


def a_comment_ends_in_exactly_one_way(run: Run, seen: Observation, decision: Decision) -> bool:
    """The outcome of a comment is final, and a permitted command is answered once."""
    after = {row.comment: row for row in decision.run.comments}
    if len(after) != len(decision.run.comments):
        return False
    if any(_is_final(row) and after.get(row.comment, row).outcome is not row.outcome for row in run.comments):
        return False
    known = {row.comment for row in run.comments}
    obeyed = {name for name, row in after.items() if row.outcome is CommentOutcome.COMMAND and name not in known}
    slugs = [action.slug for action in decision.actions if isinstance(action, PostComment | PrintHandover)]
    is_over = decision.run.phase is Phase.DONE
    return is_over or all(slugs.count(f"answer-{name}") == 1 for name in obeyed)


def money_is_never_forgotten(run: Run, seen: Observation, decision: Decision) -> bool:
    """The end of a turn is saved and its tokens are billed in one decision."""
    after, bill = decision.run, decision.spend
    if after.turns.ended == run.turns.ended:
        return bill is None and after.spend == run.spend
    report = seen.next_turn if seen.next_turn and after.turns.number > run.turns.number else seen.turn
    paid = after.spend.tokens - run.spend.tokens
    return paid == report.tokens and (bill is None or (bill.turn, bill.tokens) == (after.turns.ended, report.tokens))


def one_turn_at_a_time(run: Run, seen: Observation, decision: Decision) -> bool:
    """A turn starts only after the turn before has ended."""
    is_running = seen.turn.state is TurnState.RUNNING and run.turns.number > 0
    return not (_has(decision, StartTurn) and is_running)


def an_agent_does_its_work_once(run: Run, seen: Observation, decision: Decision) -> bool:
    """Work that an agent has finished is never ordered again, unless somebody says something new about it."""
    is_ours = run.wait_reason in {WaitReason.TAKEN_OVER, WaitReason.CONSENT}
    if run.has_turn_in_flight and seen.turn.state is TurnState.STOPPED and seen.turn.is_finished_work and not is_ours:
        return decision.run.phase is Phase.DONE or decision.run.purpose in {TurnPurpose.PUBLISH, TurnPurpose.PLAN}
    known = {row.comment for row in run.comments}
    orders = [action.order for action in decision.actions if isinstance(action, StartTurn)]
    is_published = run.purpose in {TurnPurpose.PUBLISH, TurnPurpose.REVIEW} and not run.handback_comment
    return not is_published or all(order.publish_only or set(order.comments) - known for order in orders)


def a_pause_holds(run: Run, seen: Observation, decision: Decision) -> bool:
    """A paused run starts nothing when its turn ends: a person is asked, or orders it to continue."""
    was_running = run.has_turn_in_flight and run.wait_reason is WaitReason.PAUSED
    has_ended = decision.run.turns.ended == run.turns.number
    return not (was_running and has_ended) or decision.run.phase in {Phase.ASKING, Phase.DONE}


def a_persons_move_is_never_undone(run: Run, seen: Observation, decision: Decision) -> bool:
    """No label of a person is changed, no closed pull request offered again, no worktree taken from its person."""
    ours = phase_labels(POLICY.label) | ({POLICY.label} if decision.run.phase is Phase.DONE else set())
    labels = [action for action in decision.actions if isinstance(action, ShowLabels)]
    if any(action.add - phase_labels(POLICY.label) or action.remove - ours for action in labels):
        return False
    pull = seen.pull_request
    if pull and pull.state is not PullRequestState.OPEN and _has(decision, OfferPullRequest):
        return False
    is_held = run.wait_reason is WaitReason.TAKEN_OVER and run.phase is Phase.ASKING
    touched = _has(decision, StartTurn, PushBranch, RemoveWorkspace)
    return not (is_held and touched and decision.run.phase is not Phase.DONE)


# Of every state


def one_open_pull_request(state: State) -> bool:
    """An issue has at most one open pull request."""
    return sum(pull is not None and pull.state is PullRequestState.OPEN for pull in state.pulls) <= 1


def one_agent_at_a_time(state: State) -> bool:
    """At most one turn runs."""
    return sum(isinstance(REPORTS[report], Working) for *_, report in state.turns) <= 1


def nothing_is_billed_twice(state: State) -> bool:
    """The bills never exceed what was spent."""
    return sum(tokens for *_, tokens in state.bills) <= state.spent


def showing_stops_nothing(state: State) -> bool:
    """What only shows a run may be refused: that becomes no question."""
    return all(MUTE not in RUNS[number].reason for number in state.runs)


# Of rest


def one_phase_label(state: State) -> bool:
    """The issue shows the phase of its run and no other; a run that is over shows none."""
    if not state.there or not state.runs:
        return True
    run = run_of(state)
    wanted = {phase_label(POLICY.label, run.phase)} if run else set()
    return state.labels & phase_labels(POLICY.label) == wanted


def a_visible_reason(state: State) -> bool:
    """A waiting run shows its reason: the progress comment has the phase and the reason, and the question was asked.

    Before the first turn, a question for permission says it alone.
    """
    if not state.runs or not state.there:
        return True
    run = RUNS[state.runs[-1]]
    number = state.progress[run.ordinal - 1]
    if number < 0 and not run.turns.number and (run.wait_reason is WaitReason.CONSENT or run.phase is Phase.DONE):
        return True
    shown = TEXTS[number][0] if number >= 0 else ""
    needs_reason = run.phase is not Phase.REVIEW
    return shown.startswith(headline(run)) and bool(run.reason or not needs_reason)


def a_question_is_asked(state: State) -> bool:
    """A run that waits for an answer has asked its question."""
    run = run_of(state)
    by_command = {WaitReason.PAUSED, WaitReason.TAKEN_OVER}
    if run is None or run.phase is not Phase.ASKING or run.wait_reason in by_command or not state.there:
        return True
    cause = run.wait_reason.replace(" ", "-")
    return state.question.startswith(f"{run.ordinal}/ask-") and f"-{cause}" in state.question


def what_is_free_starts(state: State) -> bool:
    """No run is queued, or between two turns, while a slot is free."""
    run = run_of(state)
    return run is None or run.phase in {Phase.REVIEW, Phase.ASKING}


def every_turn_is_paid(state: State) -> bool:
    """All tokens that agents have spent are billed."""
    return sum(tokens for *_, tokens in state.bills) == state.spent


def every_comment_is_heard(state: State) -> bool:
    """Every comment of a trusted person was used, or waits for the answer to a question."""
    if not state.runs:
        return True
    run = RUNS[state.runs[-1]]
    rows = {row.comment: row for row in run.comments}
    spoken = [f"c{number}" for number, said in enumerate(state.said) if WORDS[said.words][0].trusted]
    if run.phase is Phase.DONE:
        return all(map(_is_final, rows.values()))
    if run.phase is Phase.REVIEW:
        return all(name in rows and _is_final(rows[name]) for name in spoken if _is_here(state, run, name))
    return True


OF_DECISIONS: tuple[DecisionLaw, ...] = (
    nothing_is_published_that_was_not_judged,
    no_work_without_a_trusted_label,
    a_comment_ends_in_exactly_one_way,
    money_is_never_forgotten,
    one_turn_at_a_time,
    an_agent_does_its_work_once,
    a_pause_holds,
    a_persons_move_is_never_undone,
)
OF_STATES: tuple[StateLaw, ...] = (
    one_open_pull_request,
    one_agent_at_a_time,
    nothing_is_billed_twice,
    showing_stops_nothing,
)
OF_REST: tuple[StateLaw, ...] = (
    one_phase_label,
    a_visible_reason,
    a_question_is_asked,
    what_is_free_starts,
    every_turn_is_paid,
    every_comment_is_heard,
)


def essence(state: State) -> tuple[object, ...]:
    """Returns what people see of a state at rest, regardless of the number of turns."""
    run = RUNS[state.runs[-1]] if state.runs else None
    pulls = tuple(pull and pull.state for pull in state.pulls)
    ends = frozenset((row.comment, row.outcome) for row in run.comments) if run else frozenset()
    return (state.labels, run and run.phase, run and run.wait_reason, pulls, ends)


def _has(decision: Decision, *kinds: type[Action]) -> bool:
    return any(isinstance(action, kinds) for action in decision.actions)


def _is_wanted(run: Run, seen: Observation) -> bool:
    issue = seen.issue
    if issue is None or not issue.open or POLICY.label not in issue.labels:
        return False
    if issue.edit and not _is_approved(seen, "approve", "resume"):
        return False
    begun_for_a_person = run.turns.number > 0 and issue.request == run.request
    return issue.requester.trusted or begun_for_a_person or _is_approved(seen)


def _is_approved(seen: Observation, *commands: str) -> bool:
    wanted = {f"/{POLICY.label} {command}" for command in commands or ("approve",)}
    return any(comment.author.trusted and comment.text in wanted for comment in seen.comments)


def _is_final(row: CommentRecord) -> bool:
    return row.outcome is not CommentOutcome.PENDING


def _is_here(state: State, run: Run, name: str) -> bool:
    """Returns True for a comment on the issue, or on this run's pull request."""
    return state.said[int(name[1:])].pull in {0, run.ordinal}
