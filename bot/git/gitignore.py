"""What .gitignore files say, exactly as git reads them, without git ever looking into the worktree.

Rule: paths are tuples of byte strings, one per folder; no pattern can make the matching take long.
https://git-scm.com/docs/gitignore
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

Parts = tuple[bytes, ...]

_ANY_DEPTH = None
_CLASSES = {
    b"alnum": rb"0-9A-Za-z",
    b"alpha": rb"A-Za-z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": rb"0-9",
    b"graph": rb"!-~",
    b"lower": rb"a-z",
    b"print": rb" -~",
    b"punct": rb"!-/:-@\[-`{-~",
    b"space": rb" \t\n\r\f\v",
    b"upper": rb"A-Z",
    b"xdigit": rb"0-9A-Fa-f",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a .gitignore file."""

    pattern: tuple[re.Pattern[bytes] | None, ...]
    """One expression per folder; None: any number of folders."""
    negated: bool
    folders_only: bool
    anywhere: bool
    """It speaks of the last name only, however deep."""

    def matches(self, path: Sequence[bytes], *, is_folder: bool) -> bool:
        if self.folders_only and not is_folder:
            return False
        if self.anywhere:
            (name,) = self.pattern
            return name is not None and name.fullmatch(path[-1]) is not None
        return _matches(self.pattern, path)


@dataclass(frozen=True, slots=True)
class Layer:
    """The rules of one .gitignore file, and how deep it lies."""

    depth: int
    rules: tuple[Rule, ...]


def is_ignored(path: Parts, layers: Sequence[Layer], *, is_folder: bool) -> bool:
    """The last word is the deepest file's, and in it the last line's. Its parents are known not to be ignored."""
    for layer in reversed(layers):
        inside = path[layer.depth :]
        for rule in reversed(layer.rules):
            if rule.matches(inside, is_folder=is_folder):
                return not rule.negated
    return False


def parse_rules(text: bytes) -> tuple[Rule, ...]:
    lines = text.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return tuple(rule for line in lines if (rule := _parse_rule(line)))


def _parse_rule(line: bytes) -> Rule | None:
    line = _without_trailing_spaces(line.removesuffix(b"\r"))
    if not line or line.startswith(b"#"):
        return None
    negated, line = line.startswith(b"!"), line.removeprefix(b"!")
    folders_only, line = line.endswith(b"/"), line.removesuffix(b"/")
    if not line:
        return None
    if b"/" not in line:
        return Rule((_compiled(line),), negated, folders_only, anywhere=True)
    names = _names(line.removeprefix(b"/"))
    pattern = [_ANY_DEPTH if _is_any_depth(name) else _compiled(name) for name in names]
    if pattern[-1] is _ANY_DEPTH:
        pattern.append(_compiled(b"*"))  # what is inside, not the folder itself
    return Rule(tuple(pattern), negated, folders_only, anywhere=False)


def _is_any_depth(name: bytes) -> bool:
    return name.startswith(b"**") and not name.strip(b"*")


def _names(line: bytes) -> list[bytes]:
    """Between the slashes, but for those in brackets: they are part of a set, in which they match nothing."""
    names, at = [b""], 0
    while at < len(line):
        if line[at : at + 1] == b"[" and (found := _BRACKET.match(line, at + 1)):
            end = found.end()
        else:
            end = at + (2 if line[at : at + 1] == b"\\" else 1)
        piece = line[at:end]
        if piece.removeprefix(b"\\") == b"/":
            names.append(b"")
        else:
            names[-1] += piece
        at = end
    return names


def _without_trailing_spaces(line: bytes) -> bytes:
    stripped = line.rstrip(b" ")
    escaped = (len(stripped) - len(stripped.rstrip(b"\\"))) % 2
    return line[: len(stripped) + 1] if escaped and stripped != line else stripped


def _matches(pattern: Sequence[re.Pattern[bytes] | None], path: Sequence[bytes]) -> bool:
    """Going back only ever to the last "any depth": that is enough, and cannot explode."""
    at, name, resume, taken = 0, 0, -1, 0
    while name < len(path):
        expression = pattern[at] if at < len(pattern) else _NOTHING
        if expression is _ANY_DEPTH:
            resume, taken = at, name
            at += 1
        elif expression.fullmatch(path[name]):
            at, name = at + 1, name + 1
        elif resume >= 0:
            taken += 1
            at, name = resume + 1, taken
        else:
            return False
    return all(rest is _ANY_DEPTH for rest in pattern[at:])


def _compiled(glob: bytes) -> re.Pattern[bytes]:
    """Each star takes as little as it can and never gives back: the next star can make up for it."""
    pieces = _pieces(glob)
    if pieces is None:
        return _NOTHING
    if len(pieces) == 1:
        return re.compile(pieces[0], re.DOTALL)
    first, *middle, last = pieces
    stars = b"".join(rb"(?>.*?" + piece + rb")" for piece in middle)
    return re.compile(first + stars + rb".*" + last, re.DOTALL)


def _pieces(glob: bytes) -> list[bytes] | None:
    """The expressions between the stars; None: a pattern git finds malformed, which matches nothing."""
    pieces, at = [b""], 0
    while at < len(glob):
        character = glob[at : at + 1]
        at += 1
        if character == b"*":
            pieces.append(b"")
        elif character == b"?":
            pieces[-1] += b"."
        elif character == b"[":
            found = _bracket(glob, at)
            if found is None:
                return None
            expression, at = found
            pieces[-1] += expression
        elif character == b"\\":
            if at == len(glob):
                return None
            pieces[-1] += re.escape(glob[at : at + 1])
            at += 1
        else:
            pieces[-1] += re.escape(character)
    return pieces


_BRACKET = re.compile(
    rb"""(?P<negated>[!^]?)
         (?P<items>\]?(?:\[:[a-z]*:\]|\\.|[^\]\\])*)
         \]""",
    re.DOTALL | re.VERBOSE,
)
_ITEM = re.compile(rb"\[:(?P<class>[a-z]*):\]|(?P<low>\\.|[^\\])(?:-(?P<high>\\.|[^\\]))?", re.DOTALL)


def _bracket(glob: bytes, at: int) -> tuple[bytes, int] | None:
    """The expression for the set that starts here, and where it ends."""
    found = _BRACKET.match(glob, at)
    if not found:
        return None
    allowed: set[int] = set()
    for item in _ITEM.finditer(found["items"]):
        members = _members(item)
        if members is None:
            return None
        allowed |= members
    chosen = set(range(256)) - allowed if found["negated"] else allowed
    if not chosen:
        return rb"(?!)", found.end()
    return b"[" + b"".join(rb"\x%02x" % member for member in sorted(chosen)) + b"]", found.end()


def _members(item: re.Match[bytes]) -> set[int] | None:
    if item["class"] is not None:
        if item["class"] not in _CLASSES:
            return None
        named = re.compile(b"[" + _CLASSES[item["class"]] + b"]")
        return {byte for byte in range(256) if named.match(bytes([byte]))}
    low = item["low"][-1]
    high = item["high"][-1] if item["high"] else low
    return {low, *range(low, high + 1)}


_NOTHING = re.compile(rb"(?!)")
