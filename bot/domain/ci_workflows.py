"""CI workflows: finds those of GitHub that would run an agent's code with secrets or write permissions. Pure.

Rule: this reads words, not YAML. It may name a workflow too many, for a word in a comment, but none too few.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

_FILE = re.compile(r"\.github/workflows/[^/]+\.ya?ml", re.IGNORECASE)
_EVENTS = re.compile(r"\b(?:push|pull_request|pull_request_target|workflow_run|create|check_run|check_suite)\b")
_HELD_EVENTS = frozenset({"push", "pull_request"})
"""Events that a commit message with `[skip ci]` keeps from starting workflows."""
_SECRETS = re.compile(r"\bsecrets\b(?!\s*\.\s*GITHUB_TOKEN\b)", re.IGNORECASE)
_ENVIRONMENT = re.compile(r"\benvironment['\"]?\s*:")
_WRITE = re.compile(r":\s*['\"]?write(?:-all)?\b")
_PERMISSIONS = re.compile(r"\bpermissions['\"]?\s*:")


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
    texts = ((name.rpartition("/")[2], read(name)) for name in names if _FILE.fullmatch(name))
    found = (
        PowerfulWorkflow(name, tuple(sorted(set(_EVENTS.findall(text)))), tuple(_powers(text))) for name, text in texts
    )
    return tuple(one for one in found if one.events and one.powers)


def _powers(text: str) -> Iterator[str]:
    if _SECRETS.search(text):
        yield "secrets"
    if _ENVIRONMENT.search(text):
        yield "an environment"
    if _WRITE.search(text):
        yield "write permissions"
    elif not _PERMISSIONS.search(text):
        yield "the repository's default permissions"
