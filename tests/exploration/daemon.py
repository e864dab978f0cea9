"""A daemon as moves between states: the shipped intake, `observe`, `schedule`, `decide` and `perform`, in the order of
the engine's loop.

Rule: this module checks nothing. Data that the loop keeps in memory is in the state: the current step and its rest.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from bot.domain.run import Phase, Run
from bot.domain.spend import TotalSpend
from bot.domain.turn import TurnState
from bot.engine import unshown
from bot.engine.act import perform
from bot.engine.decide import ask_for_help, decide, park, send_back_to_agent
from bot.engine.decision import Decision
from bot.engine.intake import Intake
from bot.engine.observation import Observation, Slot
from bot.engine.observe import ProjectSnapshot, observe, read_texts
from bot.engine.schedule import Capacity, schedule
from bot.engine.unshown import NotShown
from bot.errors import NeedsHuman, NeedsTurn, Retryable
from tests.exploration.hands import Hands, end_early, finish, ports_for
from tests.exploration.state import (
    DECISIONS,
    KEY,
    NOW,
    POLICY,
    PROJECT,
    REPORTS,
    RUNS,
    SIGHTS,
    State,
    Step,
    Working,
    reports_of,
    run_of,
    shows_its_end,
    undated,
)


class Judged(NamedTuple):
    """A run, its observation and its decision."""

    run: int
    sight: int
    decision: int


class Stumbled(Exception):
    """The shipped code raised an unexpected error."""


# Observing and deciding


def take_in(state: State) -> State:
    """Lets the intake start or restore runs. A restored run waits for the next poll."""
    hands, ports, project = ports_for(state)
    intake = Intake(ports, lambda: NOW)
    intake.stale = {PROJECT} if state.fresh else set()
    if state.unexplained:
        intake._unexplained[KEY] = NOW + 1 if state.unexplained == 1 else NOW
    view = _snapshot(hands)
    before = ports.store.active()
    if intake.is_needed(project, view, before):
        finish(intake.start_runs(project, view, before))
    waits = 0 if KEY not in intake._unexplained else (state.unexplained or 1)
    found = hands.state._replace(fresh=PROJECT in intake.stale, unexplained=waits)
    if len(found.runs) > len(state.runs):
        found = found._replace(said=tuple(said._replace(age=0) for said in found.said))
    return found


def must_take_in(state: State) -> bool:
    return state.fresh or (run_of(state) is None and state.there and state.open and POLICY.label in state.labels)


_sights: dict[tuple[object, ...], int] = {}


def see(state: State) -> int:
    """Returns the number of the observation of the active run, without its slot."""
    run = RUNS[state.runs[-1]]
    ordinal = run.ordinal
    pull = state.pulls[ordinal - 1]
    key = (
        *(state.there, state.open, state.labels, state.request, state.by_stranger, state.edit, state.said, state.eyes),
        *(ordinal, pull, state.branches[ordinal - 1], state.shown[ordinal - 1]),
        *(run.turns.number, run.turns.ended, state.turns, _paid(state)),
    )
    if key not in _sights:
        hands, _, _ = ports_for(state)
        seen = observe(run, _snapshot(hands), reports_of(state), now=NOW, spent=TotalSpend(0.0, _paid(state)))
        _sights[key] = SIGHTS.of(seen)
    return _sights[key]


_judged: dict[tuple[int, int], Judged] = {}


def judge(run: int, sight: int) -> Judged:
    """Decides about a run that is alone: it has a slot if the scheduler grants one."""
    if (run, sight) not in _judged:
        seen = SIGHTS[sight]
        active = [(RUNS[run], seen)] if RUNS[run].phase is not Phase.DONE else []
        slots = schedule(active, [], {PROJECT: POLICY}, Capacity(POLICY.max_working))
        _judged[run, sight] = judge_with(run, sight, slots.get(RUNS[run].id, Slot()))
    return _judged[run, sight]


def judge_with(run: int, sight: int, slot: Slot) -> Judged:
    seen = replace(SIGHTS[sight], slot=slot)
    return Judged(run, SIGHTS.of(seen), DECISIONS.of(_decided(decide, RUNS[run], seen)))


def _decided(how: Callable[..., Decision], run: Run, seen: Observation, *words: str) -> Decision:
    try:
        return how(run, seen, POLICY, *words)
    except Exception as bug:
        raise Stumbled(f"{how.__name__} raised {type(bug).__name__}: {bug}") from bug


def _snapshot(hands: Hands) -> ProjectSnapshot:
    _, _, project = ports_for(hands.state)
    return read_texts(
        finish(project.tracker.snapshot([KEY] if run_of(hands.state) or shows_its_end(hands.state) else [])),
        finish(project.forge.snapshot(["treehand/shop-1", "treehand/shop-1-2"])),
    )


def _paid(state: State) -> int:
    return sum(tokens for _, _, tokens in state.bills)


def begin_step(state: State, judged: Judged) -> State:
    """Returns the state with the decision under way; the same state if there is nothing to do."""
    decision = DECISIONS[judged.decision]
    if decision.run == RUNS[judged.run] and not decision.actions:
        return state
    return state._replace(step=Step(judged.decision, judged.run, judged.sight))


# Performing


Perform = Callable[[State], State]


def next_action(state: State) -> object | None:
    """Returns the next action of the step; None if all are done."""
    assert state.step
    actions = DECISIONS[state.step.decision].actions
    return actions[state.step.done] if state.step.done < len(actions) else None


def is_saved(state: State) -> bool:
    assert state.step
    return state.step.done > len(DECISIONS[state.step.decision].actions)


def act(state: State, *, refused: type[NeedsHuman] | None = None) -> State:
    """Performs the next action as `perform` does. `refused`: the service refuses it for good."""
    assert state.step
    step, action = state.step, next_action(state)
    hands, ports, project = ports_for(state)
    if refused and unshown.effect_of(action):
        return state._replace(step=step._replace(done=step.done + 1, refused=(*step.refused, step.done)))
    if refused:
        return _ask(state, "It is refused.", by_agent=refused is NeedsTurn)
    try:
        lapse = finish(perform(action, DECISIONS[step.decision].run, project, ports.executor))
    except Retryable:
        return hands.state._replace(step=None)
    except NeedsHuman as problem:
        return _ask(state, str(problem), by_agent=isinstance(problem, NeedsTurn))
    except Exception as bug:
        raise Stumbled(f"perform raised {type(bug).__name__}: {bug}") from bug
    refusals = (*step.refused, step.done) if lapse else step.refused
    return hands.state._replace(step=step._replace(done=step.done + 1, refused=refusals))


_asked: dict[tuple[int, int, bool, str], int] = {}


def _ask(state: State, words: str, *, by_agent: bool) -> State:
    """A refused action becomes a question, once; a question that is refused too waits."""
    assert state.step
    step = state.step
    if step.asks:
        return state._replace(step=None, rests=True)
    key = (step.before, step.sight, by_agent, words)
    if key not in _asked:
        how = send_back_to_agent if by_agent else ask_for_help
        _asked[key] = DECISIONS.of(_decided(how, RUNS[step.before], SIGHTS[step.sight], words))
    return state._replace(step=Step(_asked[key], step.before, step.sight, instead_of=step.decision))


_after: dict[tuple[int, int, tuple[int, ...]], int] = {}


def save(state: State) -> State:
    assert state.step
    step, decision = state.step, DECISIONS[state.step.decision]
    made = (step.decision, step.before, step.refused)
    if made not in _after:
        refused = [NotShown(decision.actions[number], "It is refused.") for number in step.refused]
        recorded = unshown.record(decision, refused, NOW, before=RUNS[step.before].status)
        _after[made] = undated(RUNS.of(recorded.run))
    spend, ordinal = decision.spend, decision.run.ordinal
    bills = state.bills
    if spend and not any(bill[:2] == (ordinal, spend.turn) for bill in bills):
        bills |= {(ordinal, spend.turn, spend.tokens)}
    runs, step = (*state.runs[:-1], _after[made]), step._replace(done=step.done + 1)
    return state._replace(runs=runs, bills=bills, step=step)


def release(state: State) -> State:
    """Forgets the report of a turn whose end was saved."""
    assert state.step
    before, after = RUNS[state.step.before], DECISIONS[state.step.decision].run
    turns = state.turns
    if after.turns.ended > before.turns.ended:
        name = (after.ordinal, after.turns.ended)
        turns = tuple(turn for turn in turns if turn[:2] != name or isinstance(REPORTS[turn[2]], Working))
    return state._replace(step=None, turns=turns)


# The end of the process


def crash(state: State) -> State:
    """The process is killed and started again: running turns and data in memory are lost."""
    hands = Hands(state)
    for ordinal, number, report in state.turns:
        if isinstance(REPORTS[report], Working):
            end_early(hands, f"{KEY}/{ordinal}/turn-{number}", TurnState.LOST)
    return hands.state._replace(step=None, rests=False, fresh=True, unexplained=0)


def lose_database(state: State) -> State:
    """The process is killed, and started again without its database."""
    bare = crash(state)
    return bare._replace(runs=(), bills=frozenset(), turns=())


def stop_turns(state: State) -> State:
    """The daemon gets SIGTERM: its turns are interrupted."""
    hands = Hands(state)
    for ordinal, number, report in state.turns:
        if isinstance(REPORTS[report], Working):
            end_early(hands, f"{KEY}/{ordinal}/turn-{number}", TurnState.STOPPED)
    return hands.state


def begin_parking(state: State) -> State:
    """The daemon saves the place of an interrupted run before it ends."""
    stopped = stop_turns(state)
    run = run_of(stopped)
    if run is None or not run.has_turn_in_flight:
        return stopped
    number, sight = stopped.runs[-1], see(stopped)
    return begin_step(stopped, Judged(number, sight, DECISIONS.of(_decided(park, run, SIGHTS[sight]))))
