"""No regular expression of the program takes exponential or quadratic time, except on short text."""

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import pytest

from bot.domain import price
from bot.git import gitignore
from bot.publish_guard import protected_paths
from bot.secret_scan import token_patterns
from bot.setup import download_hosts
from tests.patterns.ambiguity import Slow, slowness_of
from tests.patterns.automaton import Automaton, automaton_of
from tests.patterns.found import ROOT, Everything, patterns_in

QUADRATIC = {
    "bot/cli/main.py: \"argument (?:COMMAND|ACTION): invalid choice: '(.*)' \\\\(choose from (.*)\\\\)\"": (
        "reads the command line of the person who typed it"
    ),
    "bot/demo/messages_api.py: _REMINDER": "the scripted model of demo and tests reads its own prompts",
    "bot/demo/messages_api.py: _INTERRUPTION": "the scripted model of demo and tests reads its own prompts",
    "bot/notifications/text.py: _NAME": "the text is cut before, to a few hundred letters",
    "bot/publish_guard/auto_run_files.py: _REQUIREMENTS": "reads the name of one file: at most 255 bytes",
    "bot/publish_guard/auto_run_files.py: _ORDINARY_REQUIREMENT": "longer lines than 2,000 letters are held before",
    "bot/publish_guard/auto_run_files.py: _OTHER_CODING": "reads the first 400 bytes",
    "bot/workspace/paths.py: AGENT_WORK": "reads the name of one folder: at most 255 bytes",
    "bot/setup/test_files.py: _NAMES": "reads the name of one file: at most 255 bytes",
}
"""Calls whose expression is quadratic on purpose, with what bounds the text."""


class Made(NamedTuple):
    """An expression that is made while the program runs."""

    reason: str
    examples: Callable[[], Iterable[re.Pattern[str] | re.Pattern[bytes]]]
    why_quadratic: str = ""


MADE: Mapping[str, Made] = {
    "bot/domain/price.py: re.escape(known) + _NAME_END": Made(
        "the table of prices",
        lambda: (re.compile(re.escape(name) + price._NAME_END) for name in price.PRICES),
    ),
    "bot/git/gitignore.py: expression": Made("a class of letters", lambda: [re.compile(b"[a-z]")]),
    "bot/git/gitignore.py: b''.join(map(_expression, tokens))": Made(
        "as many single letters as it has tokens",
        lambda: (
            piece.expression
            for name in gitignore._read_names(b"[ab]?c*[!d]?*x") or ()
            for piece in gitignore._glob(name).pieces
            if piece.expression
        ),
    ),
    "bot/publish_guard/protected_paths.py: '|'.join((f'(?:{_expression(pattern)})' for pattern in patterns))": Made(
        "protected paths of ours and of the settings",
        lambda: (protected_paths._matcher(patterns) for _, patterns in protected_paths._CLASSES),
        "once a name has matched, the rest of the path does; the automaton of a whole match cannot know",
    ),
    "bot/publish_guard/protected_paths.py: _of_name(name)": Made(
        "the name of one file or folder in them",
        lambda: (re.compile(protected_paths._of_name(name)) for name in ("*a*b*", "x?[y")),
        "reads the name of one file: at most 255 bytes",
    ),
    "bot/secret_scan/token_patterns.py: regex": Made(
        "the table of tokens", lambda: (one.regex for one in token_patterns._TOKEN_PATTERNS)
    ),
    """bot/setup/download_hosts.py: f'(?:{before})' + '(?:[^@/\\\\s\\\\"\\']*@)?' + _HOST""": Made(
        "the table of lock files",
        download_hosts._PATTERNS.values,
        "an atomic group and a look ahead keep each attempt before the next; the automaton knows neither",
    ),
}
"""Calls whose expression only the running program has, with examples of it."""


@functools.cache
def everything() -> Everything:
    return patterns_in(ROOT / "bot")


@functools.cache
def slow() -> Mapping[str, Slow]:
    return {one.place.key: how for one in everything().found if (how := one.slowness())}


def test_no_regular_expression_takes_exponential_time():
    assert [(at, how.word) for at, how in slow().items() if how.kind == "exponential"] == []


def test_only_expressions_that_read_short_text_take_quadratic_time():
    assert set(slow()) == set(QUADRATIC)


def test_expressions_that_the_running_program_makes_are_known():
    assert {place.key for place in everything().unknown} == set(MADE)


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_expressions_that_the_running_program_makes_are_no_slower(made):
    examples = list(made.examples())
    found = [how for one in examples if (how := slowness_of(one.pattern, one.flags))]
    assert examples
    assert {how.kind for how in found} == ({"quadratic"} if made.why_quadratic else set())


def test_no_use_of_regular_expressions_is_missed():
    """All are calls of functions of `re` by that name."""
    assert everything().odd == []
    assert len(everything().found) > 200


@pytest.mark.parametrize(
    "pattern",
    [
        r"\[((?:[^\[\]\\]|\\.?)*)\]", "(a|a)*b", "(a+)+b", r"(?:x|\\.?)*]", "(a*)*b", "(a?b?)*c", "(?:ab|a|b)*c",
        "(?:a{1,50}){1,50}b", r"(\w|\dx?)+:", "(?i:Ab?|a)*c", r"^(?:[a-z]+[ \t]*)*$", r"(?:a|[^\W_])*;", "(?=(a|a)*b)c",
    ],
)  # fmt: skip
def test_two_ways_to_read_the_same_text_again_and_again_are_exponential(pattern):
    how = slowness_of(pattern)
    assert how
    assert how.kind == "exponential"


@pytest.mark.parametrize("pattern", ["(a|a)*b", "(a+)+b", r"(?:x|\\.?)*]", "(a?b?)*c"])
def test_the_word_that_is_found_makes_it_slow(pattern):
    """Counted by the matches of a copy that tells each way apart: each repeat of the word doubles them, or more."""
    how = slowness_of(pattern)
    assert how
    ways = [_ways(automaton_of(pattern, 0, is_searched=False, is_whole=True), how.word * count) for count in (4, 8)]
    assert ways[1] >= 2**4 * ways[0] > 0


def _ways(made: Automaton, text: str) -> int:
    """The number of paths that read this text, from any place."""
    edges = made.edges()
    at = dict.fromkeys(edges, 1)
    for letter in text:
        then = dict.fromkeys(edges, 0)
        for source, count in at.items():
            for target, letters, _ in edges[source]:
                then[target] += count if letter in letters else 0
        at = then
    return sum(at.values())


@pytest.mark.parametrize(
    "pattern",
    [
        "[^]]*]", r"\[(?:[^\[\]\\]|\\.){0,1000}", "(?:ab|a)(?:bc|c)*", "(?:a|b)*c", "(?:a+b)*c", "(?:a{1,3}b)*",
        r"\w+:", r"(?:(?<=[0-9])[.](?=[0-9])|(?<=[a-z])[.](?=[a-z])|[0-9a-z])*x", r"(?:\b\w|\W)*x",
    ],
)  # fmt: skip
def test_one_way_to_read_a_text_is_quick(pattern):
    assert slowness_of(pattern, is_searched=False, is_whole=False) is None


@pytest.mark.parametrize(
    "pattern", ["[^]]*]", r"\s+$", r"\w+\s*:", "(`+)[^`]+\\1", "x(?=a*)b|aa*c", "<!--.*?-->", "^\\s*-", "a{10,2000}b"]
)
def test_attempts_that_fail_late_at_each_place_are_quadratic(pattern):
    how = slowness_of(pattern, re.MULTILINE)
    assert how
    assert how.kind == "quadratic"


@pytest.mark.parametrize("pattern", [r"\b\w+:", r"(?<!\w)\w+:", "^[^\\n]*x", "[^a-z]+", "a{1,50}b", r"\A\s*-"])
def test_attempts_that_begin_at_few_places_are_linear(pattern):
    assert slowness_of(pattern, re.MULTILINE, is_whole=False) is None
