"""Turns a regular expression into an automaton in which each path is one way to match: Glushkov's, with counted paths.

Rule: where an expression says more than an automaton can (what looks ahead, back-references, long counted repeats), the
automaton allows more, so that no slow pattern is taken for a quick one.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

UNROLLED = 16
"""Longer counted repeats become loops."""
_TWO = 2
_WORD, _DIGIT, _SPACE = re.compile(r"\w"), re.compile(r"\d"), re.compile(r"\s")
_SAMPLES = "\0\t\n\r !#-/0159:@AGZ[_`agz{\x7f\x85\xa0\xe9\xdf\u0130\u0660\u2028\u4e2d\ue000"


class Test(NamedTuple):
    """What must hold between the letter before and the one behind."""

    before: frozenset[str]
    after: frozenset[str]
    """Each with "" for the end of the text."""
    swapped: bool = False
    """Exactly one of them holds; otherwise both."""


class Step(NamedTuple):
    place: int
    tests: frozenset[Test] = frozenset()


class Link(NamedTuple):
    source: int
    target: int
    tests: frozenset[Test]
    bound: float
    """Most times that the loop it closes goes round; 0 if it closes none."""


@dataclass(slots=True)
class Part:
    """A part of an expression: the ways in, the ways out, and the ways past it."""

    first: list[Step] = field(default_factory=list)
    last: list[Step] = field(default_factory=list)
    empty: list[frozenset[Test]] = field(default_factory=list)


_NO_TEST: frozenset[Test] = frozenset()


@dataclass(slots=True)
class Automaton:
    letters: frozenset[str]
    """One for each kind of letter that the expression tells apart."""
    places: list[frozenset[str]] = field(default_factory=list)
    """The letters that each place reads."""
    links: list[Link] = field(default_factory=list)
    accepting: frozenset[int] = frozenset()
    """Places at which the expression has matched, whatever follows."""

    def edges(self) -> Mapping[int, list[tuple[int, frozenset[str], float]]]:
        """For each place, the next places with the letters that lead there; as often as there are ways."""
        found: dict[int, list[tuple[int, frozenset[str], float]]] = {at: [] for at in range(len(self.places))}
        for link in self.links:
            if letters := self._allowed(link):
                found[link.source].append((link.target, letters, link.bound))
        return found

    def _allowed(self, link: Link) -> frozenset[str]:
        """Exact for places that read letters of one side of a test: see `_split`."""
        letters = self.places[link.target]
        for test in link.tests:
            is_before = bool(self.places[link.source] & test.before)
            if test.swapped:
                letters = letters - test.after if is_before else letters & test.after
            else:
                letters = letters & test.after if is_before else frozenset()
        return letters


def automaton_of(pattern: str | bytes, flags: int, *, is_searched: bool, is_whole: bool) -> Automaton:
    """`is_searched`: it is tried at each place of a text; `is_whole`: it must match up to the end."""
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    if isinstance(pattern, bytes):
        flags |= re.ASCII
    tree = _parser.parse(text, flags & ~re.UNICODE if flags & re.ASCII else flags)
    builder = _Builder(_letters_of(tree, tree.state.flags), tree.state.flags)
    whole = builder.sequence(list(tree), 1)
    done = frozenset() if is_whole else frozenset(step.place for step in whole.last if not step.tests)
    if is_searched:
        builder.search(whole)
    return _split(Automaton(builder.letters, builder.places, builder.links, done), builder.tests)


class _Builder:
    def __init__(self, letters: frozenset[str], flags: int) -> None:
        self.letters, self.flags = letters, flags
        self.places: list[frozenset[str]] = []
        self.links: list[Link] = []
        self.tests: set[Test] = set()
        self._groups: dict[int, list[Any]] = {}

    def search(self, whole: Part) -> None:
        """Adds the loop that tries the expression at each place of the text."""
        loop = Part([Step(self._place(self.letters))], [Step(len(self.places) - 1)], [_NO_TEST])
        self._connect(loop.last, loop.first, float("inf"))
        self._connect(loop.last, whole.first, 0)

    def sequence(self, items: Iterable[Any], copies: int, flags: int | None = None) -> Part:
        before, self.flags = self.flags, self.flags if flags is None else flags
        made = [self._item(kind, value, copies) for kind, value in items]
        self.flags = before
        return reduce(self._then, made, Part(empty=[_NO_TEST]))

    def _item(self, kind: Any, value: Any, copies: int) -> Part:
        match kind:
            case sre.MAX_REPEAT | sre.MIN_REPEAT | sre.POSSESSIVE_REPEAT:
                return self._repeat(*value, copies)
            case sre.BRANCH:
                return self._either([self.sequence(branch, copies) for branch in value[1]])
            case sre.SUBPATTERN | sre.ATOMIC_GROUP | sre.GROUPREF:
                return self._group(kind, value, copies)
            case sre.GROUPREF_EXISTS:
                return self._either([self.sequence(branch or (), copies) for branch in value[1:]])
            case sre.ASSERT | sre.ASSERT_NOT:
                return self._look(value[0], list(value[1]), copies, is_not=kind is sre.ASSERT_NOT)
            case sre.AT:
                return self._test(_tests_of(value, self.letters, self.flags))
            case _:
                at = Step(self._place(_letters(kind, value, self.flags, self.letters)))
                return Part([at], [at])

    def _group(self, kind: Any, value: Any, copies: int) -> Part:
        if kind is sre.ATOMIC_GROUP:
            return self.sequence(value, copies)
        if kind is sre.GROUPREF:
            return self.sequence(self._groups[value], copies)
        group, on, off, body = value
        self._groups[group] = list(body)
        return self.sequence(body, copies, (self.flags | on) & ~off)

    def _place(self, letters: frozenset[str]) -> int:
        self.places.append(letters)
        return len(self.places) - 1

    def _test(self, tests: frozenset[Test]) -> Part:
        self.tests |= tests
        return Part(empty=[tests])

    def _look(self, direction: int, body: list[Any], copies: int, *, is_not: bool) -> Part:
        """The nearest letter is a test. Long bodies ahead are a way that leads nowhere; those behind are short."""
        nearest = body[-1 if direction < 0 else 0 :][:1] if not is_not or len(body) == 1 else []
        if nearest and (letters := _one_letter(nearest[0], self.flags, self.letters)) is not None and _is_short(body):
            end = self.letters | {""}
            wanted = end - letters if is_not else letters
            return self._test(frozenset({Test(wanted, end) if direction < 0 else Test(end, wanted)}))
        if direction < 0:
            return Part(empty=[_NO_TEST])
        return Part(self.sequence(body, copies).first, [], [_NO_TEST])

    def _repeat(self, least: int, most: Any, body: Sequence[Any], copies: int) -> Part:
        if most is not sre.MAXREPEAT and copies * most <= UNROLLED:
            needed, optional, loop = least, most - least, False
        elif least and copies * least <= UNROLLED:
            needed, optional, loop = least, 0, True
        else:
            needed, optional, loop = min(least, 1), 0, True
        bound = float("inf") if most is sre.MAXREPEAT else float(most)
        inner = copies * max(needed, optional, 1)
        parts = [self.sequence(body, inner) for _ in range(needed)]
        if loop and parts:
            self._connect(parts[-1].last, parts[-1].first, bound)
        elif loop:
            parts = [self._loop(self.sequence(body, inner), bound)]
        tail = Part(empty=[_NO_TEST])
        for _ in range(optional):
            tail = self._optional(self._then(self.sequence(body, inner), tail))
        return reduce(self._then, [*parts, tail], Part(empty=[_NO_TEST]))

    def _loop(self, part: Part, bound: float) -> Part:
        self._connect(part.last, part.first, bound)
        return self._optional(part)

    def _optional(self, part: Part) -> Part:
        return Part(part.first, part.last, [_NO_TEST, *part.empty])

    def _either(self, parts: Sequence[Part]) -> Part:
        made = Part()
        for part in parts:
            made.first += part.first
            made.last += part.last
            made.empty += part.empty
        return made

    def _then(self, one: Part, other: Part) -> Part:
        self._connect(one.last, other.first, 0)
        first = [*one.first, *_after(one.empty, other.first)]
        last = [*other.last, *_after(other.empty, one.last)]
        empty = [mine | theirs for mine in one.empty for theirs in other.empty]
        return Part(_at_most_two(first), _at_most_two(last), _at_most_two(empty))

    def _connect(self, last: Iterable[Step], first: Sequence[Step], bound: float) -> None:
        for source in last:
            for target in first:
                self.links.append(Link(source.place, target.place, source.tests | target.tests, bound))


def _after(empty: Sequence[frozenset[Test]], steps: Sequence[Step]) -> Iterator[Step]:
    return (Step(step.place, step.tests | tests) for tests in empty for step in steps)


def _at_most_two(ways: list[Any]) -> list[Any]:
    """Two equal ways are as telling as a hundred."""
    return [way for way, count in Counter(ways).items() for _ in range(min(count, _TWO))]


def _split(whole: Automaton, tests: Iterable[Test]) -> Automaton:
    """Splits each place by what the tests want to have read before, so that an edge knows it."""
    groups = [whole.letters]
    for test in tests:
        groups = [part for one in groups for part in (one & test.before, one - test.before) if part]
    if len(groups) == 1:
        return whole
    made = Automaton(whole.letters)
    parts: dict[int, list[int]] = {}
    for at, letters in enumerate(whole.places):
        kinds = [letters & group for group in groups if letters & group]
        parts[at] = list(range(len(made.places), len(made.places) + len(kinds)))
        made.places += kinds
    for link in whole.links:
        made.links += [
            link._replace(source=source, target=target)
            for source in parts[link.source]
            for target in parts[link.target]
        ]
    made.accepting = frozenset(part for at in whole.accepting for part in parts[at])
    return made


def _tests_of(at: Any, letters: frozenset[str], flags: int) -> frozenset[Test]:
    everything = letters | {""}
    word = frozenset(letter for letter in letters if _in_category("WORD", letter, flags))
    match at:
        case sre.AT_BOUNDARY:
            return frozenset({Test(word, word, swapped=True)})
        case sre.AT_END if flags & re.MULTILINE:
            return frozenset({Test(everything, frozenset({"\n", ""}))})
        case sre.AT_BEGINNING if flags & re.MULTILINE:
            return frozenset({Test(frozenset({"\n", ""}), everything)})
        case sre.AT_END:
            return frozenset({Test(everything, frozenset({"\n", ""}))})
        case sre.AT_END_STRING:
            return frozenset({Test(everything, frozenset({""}))})
        case sre.AT_BEGINNING | sre.AT_BEGINNING_STRING:
            return frozenset({Test(frozenset({""}), everything)})
        case _:
            return _NO_TEST


def _is_short(body: Sequence[Any]) -> bool:
    """It consists of single letters and boundaries."""
    return all(kind in {sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY, sre.AT} for kind, _ in body)


def _one_letter(item: Any, flags: int, letters: frozenset[str]) -> frozenset[str] | None:
    kind, value = item
    if kind in {sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY}:
        return _letters(kind, value, flags, letters)
    return None


def _letters(kind: Any, value: Any, flags: int, letters: frozenset[str]) -> frozenset[str]:
    return frozenset(letter for letter in letters if _reads(kind, value, letter, flags))


def _reads(kind: Any, value: Any, letter: str, flags: int) -> bool:
    if kind is sre.FAILURE:  # `(?!)`, as Python 3.13 parses it
        return False
    if kind is sre.ANY:
        return letter != "\n" or bool(flags & re.DOTALL)
    if kind is sre.NOT_LITERAL:
        return not _reads(sre.LITERAL, value, letter, flags)
    spellings = {letter, letter.lower(), letter.upper()} if flags & re.IGNORECASE else {letter}
    if kind is sre.LITERAL:
        return chr(value) in spellings
    is_negated = value[0][0] is sre.NEGATE
    found = any(_in_item(item, one, flags) for item in value for one in spellings)
    return found != is_negated


def _in_item(item: Any, letter: str, flags: int) -> bool:
    kind, value = item
    if kind is sre.LITERAL:
        return chr(value) == letter
    if kind is sre.RANGE:
        return len(letter) == 1 and value[0] <= ord(letter) <= value[1]
    return kind is sre.CATEGORY and _in_category(str(value).removeprefix("CATEGORY_"), letter, flags)


def _in_category(name: str, letter: str, flags: int) -> bool:
    kind = {"WORD": _WORD, "DIGIT": _DIGIT, "SPACE": _SPACE}[name.removeprefix("NOT_")]
    is_in = bool(kind.match(letter)) and not (flags & re.ASCII and not letter.isascii())
    return is_in != name.startswith("NOT_")


def _letters_of(tree: Any, flags: int) -> frozenset[str]:
    """Samples of every kind of letter that the expression can tell apart, one of each."""
    sets = list(_sets_in(tree))
    edges = {chr(min(max(at, 0), 0x10FFFF)) for one in sets for at in _edges_of(*one)}
    cased = {letter for one in edges for letter in (one.lower(), one.upper()) if len(letter) == 1}
    kinds: dict[tuple[bool, ...], str] = {}
    for letter in sorted(edges | cased | set(_SAMPLES)):
        known = (_in_category("WORD", letter, flags), letter == "\n")
        kinds.setdefault((*known, *(_reads(*one, letter, flags) for one in sets)), letter)
    return frozenset(kinds.values())


def _sets_in(tree: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(tree, tuple) and any(tree and tree[0] is kind for kind in (sre.LITERAL, sre.NOT_LITERAL, sre.IN)):
        yield tree[0], tree[1]
    elif isinstance(tree, tuple | list | _parser.SubPattern):
        for item in tree:
            yield from _sets_in(item)


def _edges_of(kind: Any, value: Any) -> Iterator[int]:
    if kind is not sre.IN:
        yield from (value - 1, value, value + 1)
        return
    for inner, one in value:
        if inner is sre.RANGE:
            yield from (one[0] - 1, one[0], one[1], one[1] + 1)
        elif inner is sre.LITERAL:
            yield from (one - 1, one, one + 1)
