"""Reads scripts of other tools line by line: plain shell commands, and what they are for. Pure.

Rule: a script with more than plain commands, such as a loop, a pipe or an expression of the other tool, is not read.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from bot.setup.declared.command_kinds import ORDER, CommandKind, kind_of

_LONGEST_SCRIPT = 4000
_LONGEST_LINE = 400
_MOST_LINES = 40
_NOT_PLAIN = re.compile(r"[`|<>()\[\]{}*?~#!\\]|(?<!&)&(?!&)|&&&|\$(?![A-Za-z_])")
_EXPRESSION = re.compile(r"\$\{\{|\$\(|`|\bGITHUB_[A-Z]|\bRUNNER_[A-Z]")
"""Not even in quotes."""
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
_KEYWORDS = frozenset(
    (
        *("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function", "."),
        *("select", "source", "eval", "exec", "trap", "pushd", "popd", "exit", "return", "ulimit", "time", "env"),
    )
)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_SEPARATORS = frozenset({"&&", ";"})
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9.+:-]*")


@dataclass(frozen=True, slots=True)
class CommandLine:
    text: str
    kind: CommandKind
    commands: tuple[tuple[str, ...], ...] = ()
    """The words of each of its commands."""

    @property
    def system_packages(self) -> tuple[str, ...]:
        """Packages that it installs with the package manager of the system."""
        words = [word for command in self.commands if kind_of(command) is CommandKind.SYSTEM for word in command]
        behind = words[words.index("install") + 1 :] if "install" in words else ()
        named = takewhile(lambda word: word not in {"update", "sudo"}, behind)
        return tuple(word for word in named if _PACKAGE.fullmatch(word))


def read_script(text: str) -> tuple[CommandLine, ...] | None:
    """Returns None if the script is not plain."""
    if len(text) > _LONGEST_SCRIPT:
        return None
    lines = [line.strip() for line in text.replace("\\\n", " ").splitlines()]
    lines = [line for line in lines if line and not line.startswith(("#", "set -"))]
    if len(lines) > _MOST_LINES:
        return None
    found = [read_line(line) for line in lines]
    read = tuple(one for one in found if one)
    return read if len(read) == len(found) else None


def read_line(line: str) -> CommandLine | None:
    """Returns None if the line is more than plain commands, joined by `&&` or `;`."""
    if len(line) > _LONGEST_LINE or not (line.isascii() and line.isprintable()) or _EXPRESSION.search(line):
        return None
    if _NOT_PLAIN.search(_QUOTED.sub("x", line)):
        return None
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";&")
        lexer.whitespace_split, lexer.commenters = True, ""
        commands = tuple(_split(list(lexer)))
    except ValueError:
        return None
    if not commands or any(words[0] in _KEYWORDS for words in commands):
        return None
    text = " ".join(line.split()) if "'" not in line and '"' not in line else line
    return CommandLine(text.rstrip("; "), _kind_of_all(commands), commands)


def _split(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yields the words of each command, without variables in front. Raises ValueError if a command is missing."""
    command: list[str] = []
    for word in (*words, ";"):
        if word not in _SEPARATORS:
            if command or not _ASSIGNMENT.match(word):
                command.append(word)
        elif command:
            yield tuple(command)
            command = []
        elif word == "&&":
            raise ValueError(word)


def _kind_of_all(commands: Sequence[Sequence[str]]) -> CommandKind:
    kinds = {kind_of(words) for words in commands}
    if {CommandKind.TEST, CommandKind.INSTALL} <= kinds:
        return CommandKind.OTHER  # the one needs a network, and the other gets none
    return next(kind for kind in ORDER if kind in kinds)
