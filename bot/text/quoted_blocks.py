"""Writes lines of untrusted Markdown as prose, lists, quotations, and code between fences of ours. Pure.

Rule: a fence of ours stands at the margin, so that the begin and end of each are unambiguous.
"""

import re
from collections.abc import Iterator, Sequence

from bot.text.invisible_characters import strip_invisible
from bot.text.prose import safe_line

_FENCE = re.compile(
    r"(?P<indent> *)(?:(?:[-*+>]|\d{1,9}[.)]) +){0,9}(?P<marks>`{3,}(?=[^`]*$)|~{3,}) *(?P<language>[\w+.-]{0,20})"
)
_PROSE = re.compile(
    r"(?P<indent> *)(?P<quotes>(?:> ?){0,3}) *(?:(?P<bullet>[-*+]|[0-9]{1,6}[.)])(?: +|$))?(?:\[(?P<task>[ xX])\] )?"
    r"(?P<words>.*)"
)
_LIST = re.compile(r"(?:[-*+]|[0-9]{1,6}[.)]) ")
"""Seven digits may be the name of a commit, if nothing makes a list of them."""
_HEADING = re.compile(r" {0,3}#{1,6} (?P<words>[^*]*)")
_RULE = re.compile(r" *(?:[-=*_] *){3,}")
_LANGUAGES = frozenset(
    [
        "bash",
        "c",
        "console",
        "cpp",
        "cs",
        "css",
        "diff",
        "docker",
        "dockerfile",
        "go",
        "graphql",
        "groovy",
        "html",
        "http",
        "ini",
        "java",
        "javascript",
        "js",
        "json",
        "jsx",
        "kotlin",
        "log",
        "lua",
        "make",
        "makefile",
        "markdown",
        "md",
        "php",
        "pl",
        "plain",
        "powershell",
        "proto",
        "py",
        "pycon",
        "python",
        "r",
        "rb",
        "rs",
        "ruby",
        "rust",
        "scala",
        "sh",
        "shell",
        "sql",
        "swift",
        "text",
        "toml",
        "ts",
        "tsx",
        "txt",
        "typescript",
        "xml",
        "yaml",
        "yml",
        "zsh",
    ]
)
"""Shown as code. Others may be drawn as a diagram or a map, or be a button that commits the code."""
_CODE_INDENT = 4
_LIST_INDENT = 12


def fence(text: str, language: str = "") -> str:
    """Returns a code block; the text cannot end it or hide in it."""
    seen = strip_invisible(text).rstrip()
    longest = max((len(run) for run in re.findall("`+", seen)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language if language.lower() in _LANGUAGES else ''}\n{seen}\n{ticks}"


def safe_blocks(text: str) -> Iterator[str]:
    lines = strip_invisible(text).expandtabs(_CODE_INDENT).split("\n")
    at, in_list, after_blank = 0, False, True
    while at < len(lines):
        if found := _FENCE.match(lines[at]):
            at, block = _fenced(lines, at, found)
        elif end := _end_of_code(lines, at, indented=after_blank and not in_list):
            at, block = end, fence("\n".join(_dedented(line, _CODE_INDENT) for line in lines[at:end]))
        else:
            at, block = at + 1, _safe_prose(lines[at])
        yield block
        last = lines[at - 1] if at <= len(lines) else ""
        after_blank = not last.strip()
        in_list = bool(_LIST.match(last)) if last[:1].strip() else in_list


def _fenced(lines: Sequence[str], start: int, found: re.Match[str]) -> tuple[int, str]:
    """Returns the index of the line after the agent's fence, and our fence."""
    after = start + 1
    end = next((at for at in range(after, len(lines)) if _closes_fence(lines[at], found["marks"])), len(lines))
    inside = "\n".join(_dedented(line, len(found["indent"])) for line in lines[after:end])
    return end + 1, fence(inside, found["language"])


def _closes_fence(line: str, marks: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(marks) and set(stripped) == {marks[0]}


def _dedented(line: str, most: int) -> str:
    return line[min(most, len(line) - len(line.lstrip())) :]


def _end_of_code(lines: Sequence[str], start: int, *, indented: bool) -> int:
    """Returns the index after the rows of a table, or the indented lines, that begin here; 0 if there are none."""
    openings = ("|", " " * _CODE_INDENT) if indented else ("|",)
    opening = next((one for one in openings if lines[start].startswith(one) and lines[start].strip()), "")
    ends = (at for at in range(start, len(lines)) if not (lines[at].startswith(opening) and lines[at].strip()))
    return next(ends, len(lines)) if opening else 0


def _safe_prose(line: str) -> str:
    if _RULE.fullmatch(line):
        return ""
    if heading := _HEADING.fullmatch(line):
        words = safe_line(heading["words"])
        return f"**{words}**" if words else ""
    found = _PROSE.match(line)
    assert found is not None
    words = safe_line(found["words"])
    if not words:
        return ""
    bullet = "- " if found["bullet"] in {"-", "*", "+"} else f"{found['bullet']} " if found["bullet"] else ""
    task = {"x": "☑ ", " ": "☐ "}.get((found["task"] or "").lower(), "")
    indent = min(len(found["indent"]), _LIST_INDENT if bullet else _CODE_INDENT - 1)
    return f"{' ' * indent}{'> ' * found['quotes'].count('>')}{bullet}{task}{words}"
