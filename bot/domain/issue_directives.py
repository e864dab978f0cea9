"""Parses directives of an issue: lines `blocked by`, `owns`, `forbids`, `base`, and labels of plan, model and agent.

Rule: a directive stands on a line of its own; a line that reads like a sentence is a sentence. Code is ignored.
"""

import posixpath
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache

_LINE = re.compile(
    r"\s*(?:[-*+]\s+)?\*{0,3}(?P<word>blocked by|depends on|owns|forbids|base)\*{0,3}:?\*{0,3}\s*(?P<rest>\S.*)",
    re.IGNORECASE,
)
_KEY = re.compile(r"(?:[\w.-]+(?:/[\w.-]+)?)?#[0-9]{1,9}|[A-Za-z][A-Za-z0-9]*-[0-9]{1,9}", re.ASCII)
_BETWEEN = re.compile(r"[\s,;]+|\band\b", re.IGNORECASE)
_BRANCH = re.compile(r"(?!.*(?:\.\.|//|@\{|\.lock(?:/|$)|/\.|/$))[\w][\w./+-]*", re.ASCII)
_MOST = 100
_MOST_KEYS = 50
"""Each one costs a request per tick."""
_FENCE = re.compile(r"\s*(?:```|~~~)")
_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class IssueDirectives:
    blocked_by: tuple[str, ...] = ()
    """Keys of the issues that have to be closed first, as the tracker says them aloud."""
    owns: tuple[str, ...] = ()
    """Paths, and patterns of them, that nobody else should change at the same time."""
    forbids: tuple[str, ...] = ()
    """Paths and patterns that must not be changed without a person's approval."""
    base: str = ""
    """The branch to start from, and to be merged into; empty: the project's."""


@lru_cache(maxsize=4000)  # each tick parses the same text again
def parse_directives(key: str, body: str) -> IssueDirectives:
    """`key`: whose text it is; `#12` means one of the same place."""
    keys: dict[str, None] = {}
    paths: dict[str, dict[str, None]] = {"owns": {}, "forbids": {}}
    base = ""
    for word, rest in _lines(body):
        if word in paths:
            paths[word] |= dict.fromkeys(_paths(rest))
        elif word == "base":
            base = base or _branch(rest)
        else:
            keys |= dict.fromkeys(_keys(key, rest))
    owns, forbids = (tuple(paths[word])[:_MOST] for word in ("owns", "forbids"))
    return IssueDirectives(tuple(one for one in keys if one != key)[:_MOST_KEYS], owns, forbids, base)


def _paths(rest: str) -> Iterator[str]:
    named = (part.strip().strip("`") for part in rest.split(","))
    return (one for one in named if one.strip("/ ") and not one.startswith("!"))


def _branch(rest: str) -> str:
    """The first one counts, if it is a valid branch name."""
    name = rest.strip().strip("`")
    return name if _BRANCH.fullmatch(name) else ""


def _lines(body: str) -> Iterator[tuple[str, str]]:
    fenced = False
    for line in body.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and (found := _LINE.fullmatch(line.rstrip())):
            yield found["word"].lower(), found["rest"]


def _keys(key: str, rest: str) -> Iterator[str]:
    """Yields keys only if the whole text consists of keys."""
    named = [part for part in _BETWEEN.split(rest.strip().rstrip(".")) if part]
    if all(_KEY.fullmatch(one) for one in named):
        place = key.rpartition("#")[0]
        yield from (f"{place}{one}" if one.startswith("#") else one if "#" in one else one.upper() for one in named)


def overlap(ours: tuple[str, ...], theirs: tuple[str, ...]) -> bool:
    """Returns True if a file may match both.

    Compares the paths before the first wildcard, so it may report an overlap that does not exist.
    """
    return any(_holds(a, b) or _holds(b, a) for a in map(_stem, ours) for b in map(_stem, theirs))


def _stem(pattern: str) -> tuple[str, bool]:
    """Returns the normalised path before the first wildcard.

    Also returns True if the wildcard may extend the last component of the path.
    """
    fixed = _WILD.split(pattern, maxsplit=1)[0].replace("\\", "/")
    path = posixpath.normpath(f"/{fixed}").strip("/").casefold()
    return path, fixed != pattern and bool(path) and not fixed.endswith("/")


def _holds(outer: tuple[str, bool], inner: tuple[str, bool]) -> bool:
    path, goes_on = outer
    if not path or path == inner[0]:
        return True
    return inner[0].startswith(path if goes_on else f"{path}/")


MODEL_NAME = re.compile(r"[A-Za-z0-9][\w.:@/\[\]-]{0,99}", re.ASCII)
"""Format of a model name; only the service knows whether the model exists."""
AGENTS = ("claude",)


def wants_plan(labels: Collection[str], label: str) -> bool:
    return f"{label}:plan" in labels


def models_in(labels: Collection[str], label: str) -> tuple[str, ...]:
    return _named(labels, f"{label}:model=")


def agents_in(labels: Collection[str], label: str) -> tuple[str, ...]:
    return _named(labels, f"{label}:agent=")


def _named(labels: Collection[str], prefix: str) -> tuple[str, ...]:
    return tuple(sorted(label.removeprefix(prefix).strip() for label in labels if label.startswith(prefix)))
