"""Explores every state that is reachable with a given number of disturbances, and checks the laws in each.

States are distinguished by a 64-bit hash. They are found in layers: first those without a disturbance, then those with
one, and so on; a state is expanded once, in its lowest layer. Of each state, only its hash and its origin are kept.
"""

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from bot.domain.pull_request import PullRequestState
from bot.domain.run import Phase, TurnPurpose
from tests.exploration import daemon, laws
from tests.exploration.daemon import Stumbled
from tests.exploration.events import Move, expected_moves, moves
from tests.exploration.state import DECISIONS, POLICY, REPORTS, RUNS, SIGHTS, Said, State, Working, issue_for, run_of

_MOST_MOVES_TO_REST = 300
_NO_ORIGIN = 0


@dataclass(frozen=True, slots=True)
class Violation:
    law: str
    sentence: str
    trace: tuple[str, ...]
    state: str

    def __str__(self) -> str:
        steps = "\n".join(f"  {number}. {name}" for number, name in enumerate(self.trace, start=1))
        return f"{self.law}: {self.sentence}\n{steps}\n  then: {self.state}"


class Broken(Exception):
    """A law is broken in this state."""

    def __init__(self, law: Callable[..., object] | str, state: State, *more: str) -> None:
        super().__init__(str(law))
        self.law = law if isinstance(law, str) else law.__name__
        self.sentence = (law if isinstance(law, str) else law.__doc__ or "").split("\n", maxsplit=1)[0]
        self.state, self.more = state, more


@dataclass(slots=True)
class Exploration:
    start: State
    disturbances: int
    """Most disturbances of a story."""
    most_states: int = 0
    """0: all."""
    moves: int = 0
    """Moves tried so far."""
    violations: dict[str, Violation] = field(default_factory=dict)
    """The first of each law; the exploration ends soon after the first."""
    layers: list[int] = field(default_factory=list)
    """Number of states by number of disturbances."""
    _seen: set[int] = field(default_factory=set)
    _origins: "array[int]" = field(default_factory=partial(array, "I"))
    _choices: "array[int]" = field(default_factory=partial(array, "B"))
    _rests: dict[int, tuple[object, ...]] = field(default_factory=dict)
    """What people see once nothing more happens by itself, by the hash of a state."""
    _judged: set[tuple[int, int, int]] = field(default_factory=set)

    @property
    def states(self) -> int:
        return len(self._seen)

    def run(self) -> None:
        seeds = [(self._add(self.start, _NO_ORIGIN, 0), self.start)]
        for layer in range(self.disturbances + 1):
            before = self.states - len(seeds)
            seeds = self._explore(seeds, is_last=layer == self.disturbances)
            self.layers.append(self.states - before - len(seeds))
            if self._is_full():
                break

    def _is_full(self) -> bool:
        return bool(self.violations) or 0 < self.most_states <= self.states

    def _explore(self, seeds: list[tuple[int, State]], *, is_last: bool) -> list[tuple[int, State]]:
        """Returns the states of the next layer that are one disturbance away."""
        disturbed: list[tuple[int, int, State]] = []
        for seed in seeds:
            todo = [seed]
            for index, state in todo:
                for choice, move in enumerate(self._moves(index, state, is_last=is_last)):
                    if move.disturbs:
                        if hash(move.state) not in self._seen:
                            disturbed.append((index, choice, move.state))
                    elif (found := self._add(move.state, index, choice)) >= 0:
                        todo.append((found, move.state))
            if self._is_full():
                return []
        added = ((self._add(state, index, choice), state) for index, choice, state in disturbed)
        return [(index, state) for index, state in added if index >= 0]

    def _moves(self, index: int, state: State, *, is_last: bool) -> list[Move]:
        try:
            found = list(expected_moves(state) if is_last else moves(state))
        except Stumbled as problem:
            self._report(Broken(f"the daemon stumbles: {problem}", state), index)
            return []
        self.moves += len(found)
        return found

    def _add(self, state: State, origin: int, choice: int) -> int:
        """Returns the index of a new state, or -1. Checks the laws."""
        name = hash(state)
        if name in self._seen:
            return -1
        self._seen.add(name)
        self._origins.append(origin)
        self._choices.append(choice)
        index = len(self._origins) - 1
        try:
            self._check(state)
        except (Broken, Stumbled) as problem:
            self._report(problem if isinstance(problem, Broken) else Broken(str(problem), state), index)
        return index

    # The laws

    def _check(self, state: State) -> None:
        for law in laws.OF_STATES:
            if not law(state):
                raise Broken(law, state)
        if state.step and not state.step.done:
            self._check_decision(state)
        rest = self._rest_of(state)
        if self._may_be_killed(state) and self._rest_of(daemon.crash(state)) != rest:
            raise Broken(a_crash_changes_nothing_but_time, state, "killed and started again, it ends otherwise")

    def _check_decision(self, state: State) -> None:
        assert state.step
        made = (state.step.before, state.step.sight, state.step.decision)
        if made in self._judged:
            return
        self._judged.add(made)
        run, seen, decision = RUNS[made[0]], SIGHTS[made[1]], DECISIONS[made[2]]
        for law in laws.OF_DECISIONS:
            if not law(run, seen, decision):
                raise Broken(law, state, f"decided: {', '.join(type(action).__name__ for action in decision.actions)}")

    @staticmethod
    def _may_be_killed(state: State) -> bool:
        """Returns True if a kill may change the result: a refused action is retried after a restart, a turn that is
        lost too often is not, and an action of a person since the last poll may meet another phase."""
        run = run_of(state)
        if run is None or state.rests or (state.step and state.step.asks):
            return False
        if run.purpose is TurnPurpose.PLAN:
            return False  # ordered while another turn runs, which is followed by the plan all the sooner
        heard = {row.comment for row in run.comments}
        if any(f"c{number}" not in heard for number in range(len(state.said))) or not _is_as_seen(state):
            return False
        is_moving = state.step or any(isinstance(REPORTS[report], Working) for *_, report in state.turns)
        return bool(is_moving) and run.turns.losses + 1 < POLICY.max_losses

    def _rest_of(self, state: State) -> tuple[object, ...]:
        """Lets everything happen that needs no disturbance, and checks the state at rest."""
        path: list[int] = []
        names: list[str] = []
        begin = state
        while (name := hash(state)) not in self._rests:
            path.append(name)
            self.moves += 1
            move = next(expected_moves(state), None)
            if move is None:
                self._rests[name] = laws.essence(state)
                self._check_rest(state, names)
                break
            if len(path) > _MOST_MOVES_TO_REST:
                self._rests.update(dict.fromkeys(path, ("never",)))
                raise Broken("it never comes to rest", begin, *names)
            names.append(move.name)
            state = move.state
        found = self._rests[name]
        self._rests.update(dict.fromkeys(path, found))
        return found

    def _check_rest(self, state: State, names: list[str]) -> None:
        for law in laws.OF_REST:
            if not law(state):
                raise Broken(law, state, *names)
        run = run_of(state)
        if run and state.there:
            stopped = state._replace(said=(*state.said, Said("stop")))
            if Phase.DONE not in self._rest_of(stopped):
                raise Broken(every_run_can_be_ended, state, *names, "a person says stop")

    # Traces

    def _report(self, broken: Broken, index: int) -> None:
        if broken.law not in self.violations:
            trace = (*self.trace(index), *broken.more)
            self.violations[broken.law] = Violation(broken.law, broken.sentence, trace, described(broken.state))

    def trace(self, index: int) -> tuple[str, ...]:
        """Returns the names of the moves from the start to a state."""
        choices: list[int] = []
        while index:
            choices.append(self._choices[index])
            index = self._origins[index]
        return tuple(self._replay(choices[::-1]))

    def _replay(self, choices: list[int]) -> Iterator[str]:
        state = self.start
        for choice in choices:
            move = list(moves(state))[choice]
            state = move.state
            yield move.name


def _is_as_seen(state: State) -> bool:
    """Returns True if no person has changed the issue or the pull request since the step was decided."""
    if not state.step:
        return True
    seen, pull = SIGHTS[state.step.sight], state.pulls[RUNS[state.step.before].ordinal - 1]
    if seen.issue is None or not state.there:
        return (seen.issue is None) is (not state.there)
    now = issue_for(state)
    label = POLICY.label
    was = (seen.issue.open, label in seen.issue.labels, seen.issue.edit, seen.issue.request, seen.issue.requester)
    if was != (now.open, label in now.labels, now.edit, now.request, now.requester):
        return False
    if pull is None or seen.pull_request is None:
        return pull is None or pull.state is PullRequestState.OPEN
    before = seen.pull_request
    return (before.state, before.checks.state, before.conflicts) == (pull.state, pull.checks, pull.conflicts)


def a_crash_changes_nothing_but_time() -> None:
    """A daemon that is killed and started again ends where it would have ended."""


def every_run_can_be_ended() -> None:
    """A person's command ends every run."""


def described(state: State) -> str:
    run = RUNS[state.runs[-1]] if state.runs else None
    stands = f"run {run.id} is {run.phase} ({run.wait_reason or '-'}: {run.reason or '-'})" if run else "no run"
    pulls = [pull.state.value if pull else "-" for pull in state.pulls]
    paid = sum(tokens for *_, tokens in state.bills)
    return f"{stands}; labels {sorted(state.labels)}; pull requests {pulls}; billed {paid} of {state.spent} tokens"
