"""Finds what makes a regular expression slow: two ways to read the same text again and again.

A place that reaches itself by two paths over one word takes exponential time on that word repeated; two places p and q
with p -> p, p -> q and q -> q over one word take quadratic time. Both are exact for the automaton: the paths are walked
side by side. (Weber and Seidl, On the degree of ambiguity of finite automata, 1991.)
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from tests.patterns.automaton import Automaton, automaton_of

SHORT = 300
"""A loop that goes round at most so often is a constant for each letter."""
Node = TypeVar("Node")
Edge = tuple[int, frozenset[str], float]


class Slow(NamedTuple):
    kind: str
    """`exponential` or `quadratic`."""
    word: str
    """Repeated in a text, it makes the expression slow."""


def slowness_of(
    pattern: str | bytes, flags: int = 0, *, is_searched: bool = True, is_whole: bool = True
) -> Slow | None:
    made = automaton_of(pattern, flags, is_searched=is_searched, is_whole=is_whole)
    walk = _Walk(made)
    return walk.exponential() or walk.quadratic()


class _Walk:
    def __init__(self, automaton: Automaton) -> None:
        self._edges = automaton.edges()
        self._accepting = automaton.accepting
        self._component = _components(range(len(automaton.places)), lambda at: (edge[0] for edge in self._edges[at]))
        self._bounds: dict[int, float] = {}
        for at, edges in self._edges.items():
            for target, _, bound in edges:
                if self._is_inside(at, target):
                    component = self._component[at]
                    self._bounds[component] = max(self._bounds.get(component, 0), bound)

    def _is_inside(self, at: int, target: int) -> bool:
        return self._component[at] == self._component[target]

    def exponential(self) -> Slow | None:
        """One place for each set of places that reach each other: if one of them has two ways back, so have all."""
        words = map(self._two_ways_back, sorted(self._bounds))
        return next((Slow("exponential", word) for word in words if word), None)

    def _two_ways_back(self, at: int) -> str:
        """A word with two paths from this place to itself; empty if there is none."""
        steps: dict[tuple[int, int, bool], tuple[tuple[int, int, bool], str]] = {}
        start, goal = (at, at, False), (at, at, True)
        waiting = [start]
        while waiting:
            node = waiting.pop()
            for target, letter in self._pairs(node):
                if target not in steps:
                    steps[target] = (node, letter)
                    waiting.append(target)
            if goal in steps:
                return _spell(steps, start, goal)
        return ""

    def _pairs(self, node: tuple[int, int, bool]) -> Iterator[tuple[tuple[int, int, bool], str]]:
        one, other, apart = node
        for at, (target, letters, _) in enumerate(self._edges[one]):
            for at_other, (target_other, letters_other, _) in enumerate(self._edges[other]):
                both = letters & letters_other
                inside = self._is_inside(one, target) and self._is_inside(other, target_other)
                if both and inside:
                    yield (target, target_other, apart or one != other or at != at_other), min(both)

    def quadratic(self) -> Slow | None:
        """Two places that reach each other need no look: with a way back, they would be exponential."""
        loops = [at for at in self._edges if self._bounds.get(self._component[at], 0) > SHORT]
        ahead = {at: _reached([at], lambda node: (edge[0] for edge in self._edges[node])) for at in loops}
        for p in loops:
            for q in loops:
                is_behind = q in ahead[p] and not self._is_inside(p, q)
                if is_behind and (word := self._from_loop_to_loop(p, q)):
                    return Slow("quadratic", word)
        return None

    def _from_loop_to_loop(self, p: int, q: int) -> str:
        """A word that leads from p to p, from p to q, and from q to q; empty if there is none.

        A loop through a place that accepts is no waste: what it has read is matched, and not read again.
        """
        steps: dict[tuple[int, int, int], tuple[tuple[int, int, int], str]] = {}
        start, goal = (p, p, q), (p, q, q)
        waiting = [start]
        while waiting:
            node = waiting.pop()
            for target, letter in self._triples(node):
                if target not in steps:
                    steps[target] = (node, letter)
                    waiting.append(target)
            if goal in steps:
                return _spell(steps, start, goal)
        return ""

    def _triples(self, node: tuple[int, int, int]) -> Iterator[tuple[tuple[int, int, int], str]]:
        a, b, c = node
        for to_a, first, _ in self._inner(a):
            for to_c, last, _ in self._inner(c):
                if to_c not in self._accepting and (both := first & last):
                    for to_b, middle, _ in self._edges[b]:
                        if letters := both & middle:
                            yield (to_a, to_b, to_c), min(letters)

    def _inner(self, at: int) -> Iterable[Edge]:
        return (edge for edge in self._edges[at] if self._is_inside(at, edge[0]))


def _spell(steps: dict[Node, tuple[Node, str]], start: Node, goal: Node) -> str:
    node, letter = steps[goal]
    word = letter
    while node != start:
        node, letter = steps[node]
        word = letter + word
    return word


def _reached(begin: Iterable[Node], after: Callable[[Node], Iterable[Node]]) -> set[Node]:
    found, waiting = set[Node](), list(begin)
    while waiting:
        fresh = set(after(waiting.pop())) - found
        found |= fresh
        waiting += fresh
    return found


def _components(nodes: Iterable[int], after: Callable[[int], Iterable[int]]) -> dict[int, int]:
    """The strongly connected component of each node, named by its least."""
    nodes = list(nodes)
    ahead = {node: _reached([node], after) for node in nodes}
    return {node: min([node, *(other for other in ahead[node] if node in ahead[other])]) for node in nodes}
