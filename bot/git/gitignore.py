"""Parses and matches .gitignore rules exactly as git does, without running git in the worktree.

Rule: paths are tuples of byte strings, one per folder; no pattern can make matching slow: every expression has a fixed
length, so nothing is ever retried. What is over a limit raises TooManyRules: an ignored file is never taken for work.
https://git-scm.com/docs/gitignore
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import islice

PathParts = tuple[bytes, ...]

MAX_LINE_BYTES = 4096
MAX_RULES = 10_000
"""Most rules that all files of a worktree may have together."""

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


class TooManyRules(ValueError):
    """The ignore rules are over a limit. The message says which, and what to do."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """The part of a pattern between two stars."""

    size: int
    literal: bytes | None
    """Without a set or a question mark: the bytes themselves."""
    expression: re.Pattern[bytes] | None

    def is_at(self, name: bytes, at: int) -> bool:
        if self.literal is not None:
            return name.startswith(self.literal, at)
        return self.expression is not None and self.expression.match(name, at) is not None

    def find_end(self, name: bytes, at: int) -> int:
        """Returns the end of its first occurrence from there; -1 if there is none."""
        if self.literal is not None:
            found = name.find(self.literal, at)
            return found + self.size if found >= 0 else -1
        match = self.expression.search(name, at) if self.expression else None
        return match.end() if match else -1


@dataclass(frozen=True, slots=True)
class _Glob:
    """The pattern of one folder or file name: the pieces between its stars."""

    pieces: tuple[_Piece, ...]
    size: int
    """Letters that a name needs at least."""

    @property
    def literal(self) -> bytes | None:
        return self.pieces[0].literal if len(self.pieces) == 1 else None

    @property
    def suffix(self) -> bytes | None:
        """The ending of every matching name, for a pattern such as `*.log`."""
        return self.pieces[1].literal if len(self.pieces) == 2 and not self.pieces[0].size else None  # noqa: PLR2004

    def matches(self, name: bytes) -> bool:
        """Each star takes as little as possible, which is sufficient: the next star compensates."""
        first, last = self.pieces[0], self.pieces[-1]
        if len(name) < self.size or not first.is_at(name, 0):
            return False
        if first is last:
            return len(name) == self.size
        at = first.size
        for piece in self.pieces[1:-1]:
            at = piece.find_end(name, at)
            if at < 0:
                return False
        return len(name) - at >= last.size and last.is_at(name, len(name) - last.size)


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """One line of a .gitignore file."""

    pattern: tuple[_Glob | None, ...]
    """One per folder; None stands for any number of folders."""
    negated: bool
    folders_only: bool
    anywhere: bool
    """Matches the last name of a path at any depth."""

    def matches(self, path: Sequence[bytes], *, is_folder: bool) -> bool:
        if self.folders_only and not is_folder:
            return False
        if self.anywhere:
            (name,) = self.pattern
            return name is not None and name.matches(path[-1])
        return _matches(self.pattern, path)


@dataclass(frozen=True)
class IgnoreRules:
    """The rules of one file in their order, found by the name they are for."""

    rules: tuple[IgnoreRule, ...] = ()
    _by_name: Mapping[bytes, list[int]] = field(init=False, repr=False, compare=False)
    """Numbers of the rules for exactly this last name."""
    _by_suffix: Mapping[bytes, list[int]] = field(init=False, repr=False, compare=False)
    """Numbers of the rules for names that end so."""
    _others: Sequence[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_name: dict[bytes, list[int]] = {}
        by_suffix: dict[bytes, list[int]] = {}
        others: list[int] = []
        for number, rule in enumerate(self.rules):
            last = rule.pattern[-1]
            if last is not None and last.literal is not None:
                by_name.setdefault(last.literal, []).append(number)
            elif last is not None and last.suffix is not None:
                by_suffix.setdefault(last.suffix, []).append(number)
            else:
                others.append(number)
        for name, value in (("_by_name", by_name), ("_by_suffix", by_suffix), ("_others", others)):
            object.__setattr__(self, name, value)

    @cached_property
    def _suffix_sizes(self) -> Sequence[int]:
        return sorted({len(suffix) for suffix in self._by_suffix})

    def last_match(self, path: PathParts, *, is_folder: bool) -> IgnoreRule | None:
        """The last line that matches decides."""
        name, best = path[-1], -1
        endings = (name[len(name) - size :] for size in self._suffix_sizes if size <= len(name))
        for numbers in (
            self._by_name.get(name, ()),
            *(self._by_suffix.get(ending, ()) for ending in endings),
            self._others,
        ):
            for number in reversed(numbers):
                if number <= best:
                    break
                if self.rules[number].matches(path, is_folder=is_folder):
                    best = number
                    break
        return self.rules[best] if best >= 0 else None


@dataclass(frozen=True, slots=True)
class IgnoreLayer:
    """The rules of one .gitignore file and the depth of its folder."""

    depth: int
    rules: IgnoreRules


def is_ignored(path: PathParts, layers: Sequence[IgnoreLayer], *, is_folder: bool) -> bool:
    """The deepest file decides, and in it the last matching line. Callers check the parent folders first."""
    for layer in reversed(layers):
        if found := layer.rules.last_match(path[layer.depth :], is_folder=is_folder):
            return not found.negated
    return False


def parse_gitignore(text: bytes, *, most: int = MAX_RULES) -> IgnoreRules:
    """Raises TooManyRules if a line is too long or there are more rules than `most`."""
    lines = text.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if any(len(line) > MAX_LINE_BYTES for line in lines):
        raise TooManyRules(f"a line has more than {MAX_LINE_BYTES:,} bytes; shorten or delete that line")
    rules = tuple(islice((rule for line in lines if (rule := _parse_rule(line))), most + 1))
    if len(rules) > most:
        raise TooManyRules(f"there are more than {MAX_RULES:,} ignore rules in all; name folders instead of files")
    return IgnoreRules(rules)


def _parse_rule(line: bytes) -> IgnoreRule | None:
    """Returns None for a line that can match nothing: empty, a comment, or malformed to git."""
    line = _without_trailing_spaces(line.removesuffix(b"\r"))
    if not line or line.startswith(b"#"):
        return None
    negated, line = line.startswith(b"!"), line.removeprefix(b"!")
    folders_only, line = line.endswith(b"/"), line.removesuffix(b"/")
    names = _read_names(line.removeprefix(b"/")) if line else None
    if names is None:
        return None
    if b"/" not in line:
        return IgnoreRule((_glob(names[0]),), negated, folders_only, anywhere=True)
    pattern = [_ANY_DEPTH if _is_any_depth(name) else _glob(name) for name in names]
    if pattern[-1] is _ANY_DEPTH:
        pattern.append(_glob([_STAR]))  # matches the contents, not the folder itself
    return IgnoreRule(tuple(pattern), negated, folders_only, anywhere=False)


def _without_trailing_spaces(line: bytes) -> bytes:
    stripped = line.rstrip(b" ")
    escaped = (len(stripped) - len(stripped.rstrip(b"\\"))) % 2
    return line[: len(stripped) + 1] if escaped and stripped != line else stripped


def _matches(pattern: Sequence[_Glob | None], path: Sequence[bytes]) -> bool:
    """Goes back only to the last "any depth", which is sufficient and takes linear time."""
    if sum(glob is not _ANY_DEPTH for glob in pattern) > len(path):
        return False
    at, name, resume, taken = 0, 0, -1, 0
    while name < len(path):
        glob = pattern[at] if at < len(pattern) else _MATCHES_NOTHING
        if glob is _ANY_DEPTH:
            resume, taken = at, name
            at += 1
        elif glob.matches(path[name]):
            at, name = at + 1, name + 1
        elif resume >= 0:
            taken += 1
            at, name = resume + 1, taken
        else:
            return False
    return all(rest is _ANY_DEPTH for rest in pattern[at:])


# Reading a line: each byte becomes a token once; a token is a star or the set of the bytes that it stands for

_Token = bytes
"""The bytes that one letter of a name may be, in order; empty for a set that nothing is in."""
_STAR: _Token = b"*" * 2
"""Stands for itself: no set holds a byte twice."""
_ANY: _Token = bytes(range(256))


def _read_names(line: bytes) -> list[list[_Token]] | None:
    """Returns the tokens of each name; None if git finds the line malformed.

    A slash inside brackets is part of the set, and matches nothing.
    """
    names: list[list[_Token]] = [[]]
    at = 0
    while at < len(line):
        found = _read_token(line, at)
        if found is None:
            return None
        token, at = found
        if token == b"/":
            names.append([])
        else:
            names[-1].append(token)
    return names


def _read_token(line: bytes, at: int) -> tuple[_Token, int] | None:
    """Returns the token that begins here and where it ends."""
    match line[at : at + 1]:
        case b"*":
            return _STAR, at + 1
        case b"?":
            return _ANY, at + 1
        case b"[":
            return _read_set(line, at + 1)
        case b"\\":
            return (line[at + 1 : at + 2], at + 2) if at + 1 < len(line) else None
        case letter:
            return letter, at + 1


def _read_set(line: bytes, at: int) -> tuple[_Token, int] | None:
    """Reads a set as git's wildmatch.c does. Returns None without an end, and for an unknown class."""
    negated = line[at : at + 1] in {b"!", b"^"}
    start = at = at + negated
    members: set[int] = set()
    low = -1
    while at < len(line) and (at == start or line[at : at + 1] != b"]"):
        item = _read_item(line, at, low)
        if item is None:
            return None
        fresh, low, at = item
        members |= fresh
    if at >= len(line):
        return None
    chosen = set(range(256)) - members if negated else members
    return bytes(sorted(chosen - {ord("/")})), at + 1


def _read_item(line: bytes, at: int, low: int) -> tuple[set[int], int, int] | None:
    """Returns what the next item of a set stands for, what a range may begin with, and the item's end.

    `low`: what a range that ends with this item begins with; -1 if nothing.
    """
    if line.startswith(b"[:", at):
        end = line.find(b"]", at + 2)
        if end > at + 2 and line[end - 1 : end] == b":":
            members = _class_members(line[at + 2 : end - 1])
            return (members, -1, end + 1) if members is not None else None
    is_range = line[at : at + 1] == b"-" and low >= 0 and line[at + 1 : at + 2] not in {b"", b"]"}
    at += is_range
    at += line[at : at + 1] == b"\\"
    if at >= len(line):
        return None
    letter = line[at]
    return (set(range(low, letter + 1)), -1, at + 1) if is_range else ({letter}, letter, at + 1)


@cache
def _class_members(name: bytes) -> set[int] | None:
    if name not in _CLASSES:
        return None
    expression = re.compile(b"[" + _CLASSES[name] + b"]")
    return {byte for byte in range(256) if expression.match(bytes([byte]))}


def _is_any_depth(name: Sequence[_Token]) -> bool:
    return len(name) > 1 and all(token == _STAR for token in name)


def _glob(name: Sequence[_Token]) -> _Glob:
    parts: list[list[_Token]] = [[]]
    for token in name:
        if token == _STAR:
            parts.append([])
        else:
            parts[-1].append(token)
    inner = (part for part in parts[1:-1] if part)
    kept = [parts[0], *inner, parts[-1]] if len(parts) > 1 else parts
    return _Glob(tuple(map(_piece, kept)), sum(map(len, kept)))


def _piece(tokens: Sequence[_Token]) -> _Piece:
    if all(len(token) == 1 for token in tokens):
        return _Piece(len(tokens), b"".join(tokens), None)
    return _Piece(len(tokens), None, re.compile(b"".join(map(_expression, tokens)), re.DOTALL))


def _expression(token: _Token) -> bytes:
    """Returns the set as ranges, so that its size does not depend on how many bytes are in it."""
    if token == _ANY:
        return b"."
    members = frozenset(token)
    begins = [byte for byte in token if byte - 1 not in members]
    ends = [byte for byte in token if byte + 1 not in members]
    ranges = (rb"\x%02x-\x%02x" % both for both in zip(begins, ends, strict=True))
    return b"[" + b"".join(ranges) + b"]" if token else rb"(?!)"


_MATCHES_NOTHING = _Glob((_Piece(1, None, re.compile(rb"(?!)")),), 1)
