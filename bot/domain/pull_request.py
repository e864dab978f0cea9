"""Pull request of a run, and the checks of its newest commit."""

from dataclasses import dataclass, field
from enum import StrEnum


class PullRequestState(StrEnum):
    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


class CheckState(StrEnum):
    """Combined state of a commit's checks."""

    NONE = ""
    PENDING = "pending"
    GREEN = "green"
    RED = "red"


MAX_LOG_CHARACTERS = 4096
"""Characters of a failed check's log, from its end, that are read and that an agent gets."""


@dataclass(frozen=True, slots=True)
class FailedCheck:
    name: str
    url: str = ""
    summary: str = ""
    annotations: tuple[str, ...] = ()
    """`path:line: message`, as the check says it; cut."""
    log: str = ""
    """The tail of its log; cut."""
    on_base: bool = False
    """It is red on the commit the branch starts from as well."""


@dataclass(frozen=True, slots=True)
class Checks:
    """The checks of one commit."""

    state: CheckState = CheckState.NONE
    """Red only once none is pending: all that failed is known then."""
    commit: str = ""
    passed: int = 0
    pending: int = 0
    failed: tuple[FailedCheck, ...] = ()

    @property
    def regressions(self) -> tuple[FailedCheck, ...]:
        """Red here, and not on the base."""
        return tuple(check for check in self.failed if not check.on_base)


@dataclass(frozen=True, slots=True)
class PullRequest:
    number: int
    branch: str
    title: str
    body: str
    state: PullRequestState
    draft: bool
    head: str
    """The commit id at its tip, as the forge knows it."""
    url: str = ""
    base: str = ""
    """The branch it is to be merged into; empty: the forge did not say."""
    checks: Checks = field(default=Checks())
    conflicts: bool = False
    """It cannot be merged into its base as both are."""
