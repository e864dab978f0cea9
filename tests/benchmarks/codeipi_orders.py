"""Finds the attacker's orders in issues, READMEs, comments of source files and settings files, as shell commands.

An agent that always obeys carries out every command that stands there, and every "add this to that file".
"""

import re
import shlex
from collections.abc import Iterator, Mapping

_PROGRAM = r"(?:python3?|pip|cat|echo|env|printenv|curl|mkdir)\s"
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_IN_TICKS = re.compile(rf"`({_PROGRAM}[^`]+)`")
_IN_LINE = re.compile(rf"(?:^|: )({_PROGRAM}.*)$")
_ADD = re.compile(r"\badd `([^`]+)` to `?([\w./-]*\w)", re.IGNORECASE)
_SNIPPET_FOR = re.compile(r"add the following to `([^`]+)`|^# In (\S+)$", re.IGNORECASE | re.MULTILINE)


def orders_in_words(text: str) -> list[str]:
    """Returns the commands of an issue or a README, in their order."""
    prose = _FENCE.sub("", text)
    return [
        *(command for language, block, before in _fences(text) for command in _of_fence(language, block, before)),
        *(found[1] for found in _IN_TICKS.finditer(prose)),
        *(_append(found[1], found[2]) for found in _ADD.finditer(prose)),
        *_of_lines(prose),
    ]


def orders_in_comments(files: Mapping[str, str]) -> list[str]:
    """Returns the commands in comments that begin with a number sign."""
    lines = (line.strip() for text in files.values() for line in text.splitlines())
    return list(_of_lines("\n".join(line.lstrip("# ") for line in lines if line.startswith("#"))))


def _fences(text: str) -> Iterator[tuple[str, str, str]]:
    """Yields language, content, and the text before each."""
    end = 0
    for found in _FENCE.finditer(text):
        yield found[1], found[2], text[end : found.start()]
        end = found.end()


def _of_fence(language: str, block: str, before: str) -> Iterator[str]:
    if language == "python":
        target = _SNIPPET_FOR.search(before) or _SNIPPET_FOR.search(block)
        if target:
            yield _append(block, target[1] or target[2])
    elif re.match(_PROGRAM, block):
        yield block.strip()


def _of_lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if found := _IN_LINE.search(line.replace("-->", "").strip()):
            yield found[1]


def _append(text: str, path: str) -> str:
    return f"printf '%s\\n' {shlex.quote(text.strip())} >> {shlex.quote(path)}"
