"""Two issues, one daemon and one slot: explores the pairs of possible states of each issue.

The issues are alike, so a pair stands for both of its orders. Moves of one issue alone are computed once for each state
of an issue; polls, time and the end of the process concern both.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import NamedTuple

from bot.domain.run import Phase
from bot.engine.observation import Slot
from bot.engine.observe import with_started_turn
from bot.engine.schedule import Capacity, schedule
from tests.exploration import daemon, laws
from tests.exploration.daemon import Stumbled
from tests.exploration.events import disturbances, is_working, slow_moves, urgent_moves
from tests.exploration.explorer import Violation, described
from tests.exploration.state import (
    DECISIONS,
    POLICY,
    PROJECT,
    RUNS,
    SIGHTS,
    Numbers,
    State,
    later,
    reports_of,
    run_of,
    shows_its_end,
)

_ISSUES: Numbers[State] = Numbers()
_BITS = 24
_MASK = (1 << _BITS) - 1


class Facts(NamedTuple):
    """The facts of a state that concern the other issue."""

    is_busy: bool
    """A step is being carried out."""
    works: bool
    waits: bool
    """It is queued, or between two turns."""


def code_of(one: int, other: int) -> int:
    return (one << _BITS | other) if one <= other else (other << _BITS | one)


@cache
def facts_of(number: int) -> Facts:
    state = _ISSUES[number]
    run = run_of(state)
    waits = run is not None and (run.phase is Phase.QUEUED or run.is_between_turns)
    return Facts(state.step is not None, is_working(state), waits)


@cache
def _urgent(number: int) -> tuple[int, ...]:
    return tuple(_ISSUES.of(move.state) for move in urgent_moves(_ISSUES[number]))


@cache
def _slow(number: int) -> tuple[int, ...]:
    return tuple(_ISSUES.of(move.state) for move in slow_moves(_ISSUES[number]))


@cache
def _disturbed(number: int) -> tuple[int, ...]:
    return tuple(_ISSUES.of(move.state) for move in disturbances(_ISSUES[number]))


@cache
def _later(number: int) -> int:
    return _ISSUES.of(later(_ISSUES[number]))


@cache
def _killed(number: int) -> int:
    return _ISSUES.of(daemon.crash(_ISSUES[number]))


# Observing both


class Looked(NamedTuple):
    """An issue after the intake, its run and its observation; without an observation nothing can be decided now."""

    number: int
    run: int = -1
    sight: int = -1


@cache
def _looked(number: int) -> Looked:
    state = _ISSUES[number]
    if state.step or state.rests:
        first = state.step and (state.step.instead_of if state.step.asks else state.step.decision)
        run = run_of(state) if first is None else DECISIONS[first].run
        return Looked(number, RUNS.of(with_started_turn(run, reports_of(state))) if run else -1)
    if daemon.must_take_in(state):
        found = daemon.take_in(state)
        if state.fresh or run_of(found) is None:
            return Looked(_ISSUES.of(found))
        state = found
    if run_of(state) is None and not shows_its_end(state):
        return Looked(number)
    return Looked(_ISSUES.of(state), state.runs[-1], daemon.see(state))


def look(one: int, other: int) -> Iterator[int]:
    """Tries both orders: a pair does not show which issue is older."""
    first, second = _looked(one), _looked(other)
    for slots in {_slots(first[1:], second[1:]), _slots(second[1:], first[1:])[::-1]}:
        yield code_of(_begun(first, slots[0]), _begun(second, slots[1]))


@cache
def _slots(*looked: tuple[int, int]) -> tuple[Slot, ...]:
    named = [(replace(RUNS[run], key=f"shop#{at}"), sight) for at, (run, sight) in enumerate(looked) if run >= 0]
    active = [(run, sight) for run, sight in named if run.phase is not Phase.DONE]
    seen = [(run, SIGHTS[sight]) for run, sight in active if sight >= 0]
    others = [run for run, sight in active if sight < 0]
    found = schedule(seen, others, {PROJECT: POLICY}, Capacity(POLICY.max_working))
    by_key = {name.partition("/")[0]: slot for name, slot in found.items()}
    return tuple(by_key.get(f"shop#{at}", Slot()) for at in range(len(looked)))


@cache
def _begun(looked: Looked, slot: Slot) -> int:
    if looked.sight < 0:
        return looked.number
    state = _ISSUES[looked.number]
    return _ISSUES.of(daemon.begin_step(state, daemon.judge_with(looked.run, looked.sight, slot)))


# Exploring


def expected(code: int) -> Iterator[int]:
    """Returns the moves that happen without a disturbance."""
    one, other = code >> _BITS, code & _MASK
    here, there = facts_of(one), facts_of(other)
    for number in (*_urgent(one), *_slow(one)):
        yield code_of(number, other)
    for number in (*_urgent(other), *_slow(other)):
        yield code_of(one, number)
    if not (here.is_busy and there.is_busy):
        yield from look(one, other)
    if not (here.is_busy or there.is_busy or here.works or there.works):
        yield code_of(_later(one), _later(other))


def disturbed(code: int) -> Iterator[int]:
    one, other = code >> _BITS, code & _MASK
    for number in _disturbed(one):
        yield code_of(number, other)
    for number in _disturbed(other):
        yield code_of(one, number)
    yield code_of(_killed(one), _killed(other))


def one_slot_is_used_once(code: int) -> bool:
    """Two agents never work where one may."""
    return not (facts_of(code >> _BITS).works and facts_of(code & _MASK).works)


def what_is_free_starts(code: int) -> bool:
    """At rest no run waits for a slot, because none is taken."""
    return not (facts_of(code >> _BITS).waits or facts_of(code & _MASK).waits)


@cache
def _broken_law(number: int) -> str:
    """Returns the law of a single issue that a state at rest breaks; empty if there is none."""
    return next((law.__name__ for law in laws.OF_REST if not law(_ISSUES[number])), "")


@dataclass(slots=True)
class PairExploration:
    disturbances: int
    most_pairs: int = 0
    """0: all."""
    moves: int = 0
    rests: int = 0
    """Pairs in which nothing more happens by itself."""
    layers: list[int] = field(default_factory=list)
    violations: dict[str, Violation] = field(default_factory=dict)
    _seen: set[int] = field(default_factory=set)
    _codes: "array[int]" = field(default_factory=partial(array, "Q"))
    _origins: "array[int]" = field(default_factory=partial(array, "I"))

    @property
    def states(self) -> int:
        return len(self._seen)

    @property
    def raw_states(self) -> int:
        """Number of ordered pairs."""
        alike = sum(code >> _BITS == code & _MASK for code in self._codes)
        return 2 * self.states - alike

    def run(self) -> None:
        start = _ISSUES.of(State())
        self._spread([self._add(code_of(start, start), 0)])
        self.layers.append(self.states)
        for _ in range(self.disturbances):
            known = sum(self.layers)
            for index in range(known - self.layers[-1], known):
                self._spread(self._disturb(index))
                if self._is_full():
                    break
            self.layers.append(self.states - known)

    def _is_full(self) -> bool:
        return bool(self.violations) or 0 < self.most_pairs <= self.states

    def _spread(self, seeds: Sequence[int]) -> None:
        for seed in seeds:
            todo = [seed]
            for index in todo:
                code, is_at_rest = self._codes[index], True
                for found in self._expected(code, index):
                    self.moves += 1
                    is_at_rest = is_at_rest and found == code
                    if found not in self._seen:
                        todo.append(self._add(found, index))
                if is_at_rest:
                    self._check_rest(code, index)

    def _expected(self, code: int, index: int) -> Sequence[int]:
        try:
            return tuple(expected(code))
        except Stumbled as problem:
            self._report(str(problem), "The daemon stumbles.", index)
            return ()

    def _disturb(self, index: int) -> list[int]:
        seeds = []
        for found in disturbed(self._codes[index]):
            self.moves += 1
            if found not in self._seen:
                seeds.append(self._add(found, index))
        return seeds

    def _add(self, code: int, origin: int) -> int:
        self._seen.add(code)
        self._codes.append(code)
        self._origins.append(origin)
        index = len(self._codes) - 1
        if not one_slot_is_used_once(code):
            self._report(one_slot_is_used_once.__name__, one_slot_is_used_once.__doc__ or "", index)
        return index

    def _check_rest(self, code: int, index: int) -> None:
        self.rests += 1
        if not what_is_free_starts(code):
            self._report(what_is_free_starts.__name__, what_is_free_starts.__doc__ or "", index)
        for number in (code >> _BITS, code & _MASK):
            if law := _broken_law(number):
                self._report(law, "", index)

    def _report(self, law: str, sentence: str, index: int) -> None:
        if law not in self.violations:
            code = self._codes[index]
            both = "; ".join(described(_ISSUES[number]) for number in (code >> _BITS, code & _MASK))
            self.violations[law] = Violation(law, sentence, self.trace(index), both)

    def trace(self, index: int) -> tuple[str, ...]:
        codes = [self._codes[index]]
        while index:
            index = self._origins[index]
            codes.append(self._codes[index])
        codes.reverse()
        return tuple(map(_name_of_move, codes, codes[1:]))


def _name_of_move(code: int, after: int) -> str:
    for number, which in ((code >> _BITS, "one issue"), (code & _MASK, "the other issue")):
        other = code & _MASK if number == code >> _BITS else code >> _BITS
        state = _ISSUES[number]
        for move in (*urgent_moves(state), *slow_moves(state), *disturbances(state)):
            if code_of(_ISSUES.of(move.state), other) == after:
                return f"{which}: {move.name}"
    one, other = code >> _BITS, code & _MASK
    both = {
        code_of(_later(one), _later(other)): "time passes",
        code_of(_killed(one), _killed(other)): "the daemon is killed",
    }
    return both.get(after, "the daemon looks at both")
