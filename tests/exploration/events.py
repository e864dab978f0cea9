"""All moves that are possible in a state, each with its name in plain words.

A move is expected, or a disturbance: an action of a person, an agent, a service or the machine out of turn.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from bot.domain.change import Change, FileChange, Objection
from bot.domain.pull_request import CheckState, PullRequestState
from bot.domain.setup_plan import SetupObstacle
from bot.domain.turn import Failure, TurnReport, TurnState
from bot.domain.verification import Verification, VerifiedCommand
from bot.engine.actions import (
    CancelTurn,
    OfferPullRequest,
    PostComment,
    PushBranch,
    React,
    RemoveBranch,
    SalvageWork,
    ShowLabels,
)
from bot.engine.run_note import parse_note
from bot.errors import NeedsHuman, NeedsTurn
from tests.exploration import daemon
from tests.exploration.hands import Hands
from tests.exploration.state import (
    ALL_TOKENS,
    BASE,
    CLEAN,
    KEY,
    NOW,
    OBJECTED,
    POLICY,
    REPORTS,
    RUNS,
    TEXTS,
    WORDS,
    Said,
    State,
    Working,
    later,
    merged,
    put,
    run_of,
    shows_its_end,
)


class Move(NamedTuple):
    name: str
    state: State
    disturbs: bool = True


def expected_moves(state: State) -> Iterator[Move]:
    """Returns the moves that happen without a disturbance, the most urgent first."""
    yield from urgent_moves(state)
    if not state.step and (looked := look(state)) != state:
        yield Move("the daemon looks", looked, disturbs=False)
    yield from slow_moves(state)
    if not state.step and not is_working(state) and (aged := later(state)) != state:
        yield Move("time passes", aged, disturbs=False)


def urgent_moves(state: State) -> Iterator[Move]:
    """Returns steps that have begun, and writes that become visible."""
    if state.step:
        yield Move(*_go_on(state), disturbs=False)
        yield from _cancelled_at_its_end(state)
    if state.hidden_labels is not None:
        shown = state._replace(labels=state.hidden_labels, hidden_labels=None)
        yield Move("the tracker shows the newest labels", shown, disturbs=False)
    yield from _delayed(state)


def slow_moves(state: State) -> Iterator[Move]:
    """Returns moves of working agents and of a forge that catches up."""
    yield from _agent_goes_on(state)
    for ordinal in (1, 2):
        if state.shown[ordinal - 1]:
            shown = state._replace(shown=put(state.shown, ordinal, ""))
            yield Move("the forge shows the newest commit", shown, disturbs=False)


def look(state: State) -> State:
    if state.rests:
        return state
    if daemon.must_take_in(state):
        found = daemon.take_in(state)
        if state.fresh or daemon.run_of(found) is None:
            return found  # the next poll decides
        state = found
    if run_of(state) is None and not shows_its_end(state):
        return state
    return daemon.begin_step(state, daemon.judge(state.runs[-1], daemon.see(state)))


def _go_on(state: State) -> tuple[str, State]:
    assert state.step
    if daemon.is_saved(state):
        return "the step is over", daemon.release(state)
    action = daemon.next_action(state)
    if action is None:
        return "the daemon saves the run", daemon.save(state)
    after = daemon.act(state)
    is_done = after.step is not None and after.step.decision == state.step.decision
    return f"{'done' if is_done else 'fails'}: {name_of(action)}", after


def _cancelled_at_its_end(state: State) -> Iterator[Move]:
    """Returns the moves in which a turn is cancelled when its agent has ended by itself already."""
    if daemon.is_saved(state) or not isinstance(daemon.next_action(state), CancelTurn):
        return
    for turn_id, turn in _running(state):
        for name, how in _ENDS_OF_CANCELLED.items():
            if how is _success or not (turn.publish_only or turn.plan):
                ended = _end(state, turn_id, turn._replace(has_begun=True), how)
                yield Move(f"{name}, and is cancelled", daemon.act(ended), disturbs=False)


def name_of(action: object) -> str:
    detail = f" {action.slug}" if isinstance(action, PostComment) else ""
    if isinstance(action, ShowLabels):
        detail = f" +{sorted(action.add)} -{sorted(action.remove)}"
    return f"{type(action).__name__}{detail}"


def _delayed(state: State) -> Iterator[Move]:
    for number, (add, remove) in enumerate(state.delayed):
        rest = (*state.delayed[:number], *state.delayed[number + 1 :])
        arrived = state._replace(labels=(state.labels - remove) | add, delayed=rest)
        yield Move("labels that were written earlier arrive now", arrived, disturbs=False)


# Agents


def _running(state: State) -> Iterator[tuple[str, Working]]:
    for ordinal, number, report in state.turns:
        turn = REPORTS[report]
        if isinstance(turn, Working):
            yield f"{KEY}/{ordinal}/turn-{number}", turn


def is_working(state: State) -> bool:
    return any(isinstance(REPORTS[report], Working) for *_, report in state.turns)


def _agent_goes_on(state: State) -> Iterator[Move]:
    for turn_id, turn in _running(state):
        if not (turn.publish_only or turn.has_begun):
            hands = Hands(state)
            hands.replace_turn(turn_id, turn._replace(has_begun=True))
            yield Move("the agent begins", hands.state, disturbs=False)
        yield Move("the turn succeeds", _end(state, turn_id, turn, _success), disturbs=False)


End = Callable[[State, int, str, Working], tuple[State, TurnReport]]


def _end(state: State, turn_id: str, turn: Working, how: End) -> State:
    """Ends a turn as the executor does: its tokens are spent, and its report waits to be read."""
    hands = Hands(state)
    ordinal, number = hands.turn(turn_id)
    ended, report = how(state, ordinal, f"t{ordinal}.{number}", turn)
    hands.state = ended
    hands.replace_turn(turn_id, report)
    hands.change(spent=ended.spent + report.tokens)
    return hands.state


def _report(turn: Working, state: TurnState = TurnState.SUCCEEDED) -> TurnReport:
    if turn.publish_only:
        return TurnReport(state, session="s1", delivered=turn.comments)
    words = "I did it." if state is TurnState.SUCCEEDED else ""
    return TurnReport(
        state, session="s1", summary=words, tokens=ALL_TOKENS, agent_turns=1, delivered=turn.comments, planned=turn.plan
    )


FILES = (FileChange("login.py", 3, 1),)
OBJECTION = Objection("protected path", ".github/workflows/ci.yml", "it runs by itself", "0123")


def _success(state: State, ordinal: int, commit: str, turn: Working) -> tuple[State, TurnReport]:
    """The agent changed something; objections of the publish guard stay."""
    if turn.plan:
        return state, _report(turn)
    if state.objected[ordinal - 1] and not turn.allowed:
        return _objected(state, ordinal, commit, turn)
    before = state.trees[ordinal - 1]
    head = merged(before, f"merge-{commit}" if turn.merges else commit)
    changed = state._replace(trees=put(state.trees, ordinal, head), objected=put(state.objected, ordinal, CLEAN))
    return changed, replace(_report(turn), change=Change(BASE, head, before, FILES))


def _objected(state: State, ordinal: int, commit: str, turn: Working) -> tuple[State, TurnReport]:
    before = state.trees[ordinal - 1]
    change = Change(BASE, before, before, FILES, objections=(OBJECTION,))
    return state._replace(objected=put(state.objected, ordinal, OBJECTED)), replace(_report(turn), change=change)


def _unchanged(state: State, ordinal: int, commit: str, turn: Working) -> tuple[State, TurnReport]:
    before = state.trees[ordinal - 1]
    return state, replace(_report(turn), change=Change(BASE, before, before))


def _question(state: State, ordinal: int, commit: str, turn: Working) -> tuple[State, TurnReport]:
    state, report = _unchanged(state, ordinal, commit, turn)
    return state, replace(report, question="Which one?")


def _regression(state: State, ordinal: int, commit: str, turn: Working) -> tuple[State, TurnReport]:
    state, report = _success(state, ordinal, commit, turn)
    if report.change is None or report.change.objections:
        return state, report
    red, green = VerifiedCommand("make test", exit_code=1), VerifiedCommand("make test", exit_code=0)
    return state, replace(report, verification=Verification(report.change.head, BASE, (red,), (green,)))


def _unverified(state: State, ordinal: int, commit: str, turn: Working) -> tuple[State, TurnReport]:
    state, report = _success(state, ordinal, commit, turn)
    return state, replace(report, state=TurnState.STOPPED if report.is_finished_work else report.state)


def _failing(failure: Failure) -> End:
    def fail(state: State, ordinal: int, commit: str, turn: Working) -> tuple[State, TurnReport]:
        report = replace(_report(turn, TurnState.FAILED), failure=failure, detail="It broke.", planned=False)
        if failure is Failure.UNREADY:
            report = replace(report, tokens=0, agent_turns=0, obstacle=SetupObstacle("ended with exit code 1"))
        if failure is Failure.LIMIT:
            report = replace(report, retry_at=NOW + 300.0)
        return state, report

    return fail


_ENDS: dict[str, End] = {
    "the turn succeeds without a change": _unchanged,
    "the agent asks a question": _question,
    "verification finds a regression": _regression,
    "the publish guard objects": _objected,
    **{f"the turn fails: {name}": _failing(name) for name in (
        Failure.AGENT, Failure.MODEL, Failure.KEY, Failure.LIMIT, Failure.BUDGET, Failure.UNREADY,
    )},
}  # fmt: skip


_ENDS_OF_CANCELLED: dict[str, End] = {
    "the turn succeeds": _success,
    "the turn is verified": _unverified,
    "the agent asks a question": _question,
    "the agent changes nothing": _unchanged,
    "verification finds a regression": _regression,
    "the turn fails": _failing(Failure.AGENT),
}


def agent_disturbances(state: State) -> Iterator[Move]:
    for turn_id, turn in _running(state):
        for name, how in _ENDS.items():
            if turn.publish_only or (turn.plan and how in {_unchanged, _regression, _objected}):
                continue
            begun = turn._replace(has_begun=True)
            yield Move(name, _end(state, turn_id, begun, how))
        if not state.step:
            yield Move("the turn shows no progress for a long time", later(state))


# People


def people_disturbances(state: State) -> Iterator[Move]:
    if state.there:
        yield from _words(state)
        yield from _issue_moves(state)
    for ordinal, pull in enumerate(state.pulls, start=1):
        if pull and pull.state is PullRequestState.OPEN:
            yield from _pull_moves(state, ordinal)


def _words(state: State) -> Iterator[Move]:
    ordinal = RUNS[state.runs[-1]].ordinal if state.runs else 0
    age = 1 if run_of(state) else 0
    has_pull = bool(ordinal) and state.pulls[ordinal - 1] is not None
    for words in WORDS:
        if words != "reviews":
            yield Move(f"a person {words!r}s", state._replace(said=(*state.said, Said(words, 0, age))))
    if has_pull:
        review = Said("reviews", ordinal, 2)
        yield Move("a person reviews the pull request", state._replace(said=(*state.said, review)))
        steer = Said("steers", ordinal, age)
        yield Move("a person steers on the pull request", state._replace(said=(*state.said, steer)))


def _issue_moves(state: State) -> Iterator[Move]:
    if POLICY.label in state.labels:
        yield Move("a person removes the label", _with_labels(state, remove={POLICY.label}))
    else:
        asked = _with_labels(state, add={POLICY.label})._replace(request=state.request + 1, by_stranger=False, edit=0)
        yield Move("a person adds the label", asked)
        yield Move("a stranger adds the label", asked._replace(by_stranger=True))
    opened = "closes" if state.open else "opens"
    yield Move(f"a person {opened} the issue", state._replace(open=not state.open))
    yield Move("a person deletes the issue", state._replace(there=False))
    if not state.mute:
        yield Move("the tracker refuses what only shows", state._replace(mute=2))
    if state.open:
        yield Move("a stranger edits the issue", state._replace(edit=state.edit + 1))


def _with_labels(state: State, *, add: set[str] = frozenset(), remove: set[str] = frozenset()) -> State:
    hidden = None if state.hidden_labels is None else (state.hidden_labels - remove) | add
    return state._replace(labels=(state.labels - remove) | add, hidden_labels=hidden)


def _pull_moves(state: State, ordinal: int) -> Iterator[Move]:
    pull = state.pulls[ordinal - 1]
    assert pull
    merge = pull._replace(state=PullRequestState.MERGED)
    yield Move("a person merges", state._replace(pulls=put(state.pulls, ordinal, merge), open=False))
    closed = pull._replace(state=PullRequestState.CLOSED)
    yield Move("a person closes the pull request", state._replace(pulls=put(state.pulls, ordinal, closed)))
    for checks in (CheckState.RED, CheckState.GREEN):
        if pull.checks is not checks:
            shown = pull._replace(checks=checks)
            yield Move(f"checks are {checks}", state._replace(pulls=put(state.pulls, ordinal, shown)))
    if not pull.conflicts:
        clash = pull._replace(conflicts=True)
        yield Move("the base moves on and conflicts", state._replace(pulls=put(state.pulls, ordinal, clash)))
    theirs = merged(state.branches[ordinal - 1], f"p{ordinal}")
    if theirs != state.branches[ordinal - 1]:
        pushed = state._replace(branches=put(state.branches, ordinal, theirs), shown=put(state.shown, ordinal, ""))
        yield Move("a person pushes a commit", pushed)


# Services and the machine

_REMOTE = (ShowLabels, PostComment, React, PushBranch, OfferPullRequest, RemoveBranch, SalvageWork)


def service_disturbances(state: State) -> Iterator[Move]:
    if not state.step or daemon.is_saved(state):
        return
    action = daemon.next_action(state)
    if not isinstance(action, _REMOTE):
        return
    what = name_of(action)
    yield Move(f"refused: {what}", daemon.act(state, refused=NeedsHuman))
    yield Move(f"unreachable: {what}", state._replace(step=None))
    yield Move(f"done, but the answer is lost: {what}", daemon.act(state)._replace(step=None))
    if isinstance(action, ShowLabels):
        if state.hidden_labels is None:
            late = daemon.act(state._replace(hidden_labels=state.labels))
            yield Move(f"done, but not visible yet: {what}", late)
        if not state.delayed:
            delayed = state._replace(step=None, delayed=((action.add, action.remove),))
            yield Move(f"the answer is lost, and it is done later: {what}", delayed)
    if isinstance(action, PushBranch):
        yield Move(f"somebody else pushed, and that conflicts: {what}", daemon.act(state, refused=NeedsTurn))
        yield from _pushed_late(state, what)


def _pushed_late(state: State, what: str) -> Iterator[Move]:
    pushed = daemon.act(state)
    for ordinal in (1, 2):
        old, new = state.branches[ordinal - 1], pushed.branches[ordinal - 1]
        if old and new != old:
            yield Move(f"done, but not visible yet: {what}", pushed._replace(shown=put(pushed.shown, ordinal, old)))


def machine_disturbances(state: State) -> Iterator[Move]:
    if (crashed := daemon.crash(state)) != state:
        yield Move("the daemon is killed and started again", crashed)
    if state.runs:
        yield Move("the daemon is killed, and its database is lost", _without_database(state))
    if not state.step and is_working(state):
        yield Move("the daemon is told to end", daemon.begin_parking(state))


def _without_database(state: State) -> State:
    """Only the spending recorded in notes can still be known."""
    notes = [TEXTS[number][1] for number in state.progress if number >= 0]
    runs = [run for note in notes if (run := parse_note(note, key=KEY, project="shop"))]
    return daemon.lose_database(state)._replace(spent=sum(run.spend.tokens for run in runs))


def moves(state: State) -> Iterator[Move]:
    yield from expected_moves(state)
    yield from disturbances(state)
    yield from machine_disturbances(state)


def disturbances(state: State) -> Iterator[Move]:
    """Returns the disturbances of one issue alone."""
    yield from agent_disturbances(state)
    yield from people_disturbances(state)
    yield from service_disturbances(state)
