"""CI workflows: finds those of GitHub that would run an agent's code with secrets or write permissions. Pure.

Rule: this reads words, not YAML. It may name a workflow too many, for a word in a comment, but none too few.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

_FILE = re.compile(r"\.github/workflows/[^/]+\.ya?ml", re.IGNORECASE)
_EVENTS = re.compile(
    r"\b(?:push|pull_request|pull_request_target|pull_request_review|pull_request_review_comment|issue_comment"
    r"|workflow_run|create|check_run|check_suite|deployment_status)\b"
    r"|(?<![\w.-])(?:deployment|status)(?=['\"]?\s*(?:[:,\]}#]|$))",
    re.MULTILINE,
)
"""Events at which GitHub runs what a branch contains, or workflows that often fetch it. Words that are common elsewhere
count where they can be a name in YAML."""
_HELD_EVENTS = frozenset({"push", "pull_request"})
"""Events that a commit message with `[skip ci]` keeps from starting workflows."""
_ESCAPES = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|\r?\n[ \t]*)")
_LAST_LETTER = 0x10FFFF
_SECRETS = re.compile(r"\bsecrets\b(?!\s*\.\s*GITHUB_TOKEN\b)", re.IGNORECASE)
_ENVIRONMENT = re.compile(r"\benvironment['\"]?\s*:")
_WRITE = re.compile(r":\s*['\"]?write(?:-all)?\b")
_PERMISSIONS = re.compile(r"^['\"]?permissions['\"]?\s*:", re.MULTILINE)
"""Permissions of the whole workflow; one job's do not limit another."""
_RUNNERS = re.compile(r"\bself-hosted\b|\bruns-on['\"]?:\s?\{|^\s{0,40}group['\"]?:", re.MULTILINE)
_CALLED = re.compile(r"([^\s'\"#,}]{0,200})\.github/workflows/([^\s'\"#@,}/]{1,200}\.ya?ml)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PowerfulWorkflow:
    name: str
    events: tuple[str, ...]
    powers: tuple[str, ...]

    @property
    def is_held(self) -> bool:
        """It waits for an approval, with `ci = "after-approval"`."""
        return set(self.events) <= _HELD_EVENTS

    def __str__(self) -> str:
        return f"{self.name} (on {', '.join(self.events)}: {', '.join(self.powers)})"


def find_powerful_workflows(names: Iterable[str], read: Callable[[str], str]) -> tuple[PowerfulWorkflow, ...]:
    """`read` returns the text of a file of the base branch."""
    texts = {name: _as_parsed(read(name)) for name in names if _FILE.fullmatch(name)}
    found = (
        PowerfulWorkflow(name.rpartition("/")[2], tuple(sorted(set(_EVENTS.findall(text)))), _powers(name, texts))
        for name, text in texts.items()
    )
    return tuple(one for one in found if one.events and one.powers)


def _as_parsed(text: str) -> str:
    """Escapes in quotes are the letters that they stand for; UTF-16 has a zero byte with each letter."""
    return _ESCAPES.sub(_letter, text.replace("\0", ""))


def _letter(escape: re.Match[str]) -> str:
    code = int(next(filter(None, escape.groups()), "0"), 16)
    return chr(code) if 0 < code <= _LAST_LETTER else ""


def _powers(name: str, texts: Mapping[str, str]) -> tuple[str, ...]:
    """With those of the workflows that it calls."""
    called, waiting = dict.fromkeys([name]), [name]
    powers: dict[str, None] = {}
    while waiting:
        text = texts[waiting.pop()]
        powers |= dict.fromkeys(_powers_in(text))
        for where, file in _CALLED.findall(text):
            inner = f".github/workflows/{file}"
            if where not in {"", "./"}:
                powers["a workflow of another repository"] = None
            elif inner in texts and inner not in called:
                called[inner] = None
                waiting.append(inner)
    return tuple(powers)


def _powers_in(text: str) -> Iterator[str]:
    if _SECRETS.search(text):
        yield "secrets"
    if _ENVIRONMENT.search(text):
        yield "an environment"
    if _RUNNERS.search(text):
        yield "a runner of yours"
    if _WRITE.search(text):
        yield "write permissions"
    elif not _PERMISSIONS.search(text):
        yield "the repository's default permissions"
