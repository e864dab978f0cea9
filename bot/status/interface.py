"""Dashboard interface: the readers and the user actions that the pages call. Implemented in `status/` and `control/`.

Rule: people have no private lever. Their actions become comments, labels and issues, as on the tracker.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.domain.comment import Remark
from bot.domain.diff_view import DiffView, FileDiff, FileVersion
from bot.domain.evidence import EvidenceFile
from bot.domain.health import Health
from bot.domain.history import History
from bot.domain.issue import NewIssue
from bot.domain.run import JournalEntry, Run
from bot.domain.setup_plan import SetupStep
from bot.domain.spend import Spend
from bot.domain.transcript import TranscriptPage
from bot.status.as_json import RunSummary, StatusSnapshot


@dataclass(frozen=True, slots=True)
class ProjectSite:
    """A project and the place of its issues, for people."""

    name: str
    place: str
    """Site of its issues, in words for people."""
    has_own_forge: bool
    """Its pull requests are on the local forge."""
    is_kept_here: bool
    """Its issues and its pull requests are in the state directory."""


class DashboardReader(Protocol):
    """Methods may block, so they are called in a thread, from any thread."""

    @property
    def label(self) -> str:
        """Label that starts a run, and the prefix of our other labels."""
        ...

    def projects(self) -> Sequence[ProjectSite]: ...
    def snapshot(self) -> StatusSnapshot: ...
    def health(self) -> Sequence[Health]:
        """Every dependency, OK or failing."""
        ...

    def setup_reports(self) -> Mapping[str, Sequence[Health]]:
        """Keyed by project."""
        ...

    def history(self, since: float) -> History: ...
    def find_run(self, key: str) -> Run | None:
        """The latest run of an issue."""
        ...

    def journal(self, run: Run) -> Sequence[JournalEntry]: ...


class UserActions(Protocol):
    """Raises NeedsHuman and Retryable with a message for people."""

    async def comment(self, key: str, text: str, *, by: str) -> None: ...
    async def command(self, key: str, words: str, *, by: str) -> None:
        """`words` is a comment command without its prefix: `stop`, `budget 10`."""
        ...

    async def file_issue(self, issue: NewIssue, *, by: str) -> str:
        """Returns the key of the new issue."""
        ...

    # Only on the local forge: other forges have pages of their own.

    async def merge(self, key: str, *, squash: bool = False, by: str) -> str:
        """Returns the result in words for people."""
        ...

    async def ready(self, key: str, *, by: str) -> None: ...
    async def close(self, key: str, *, by: str) -> None: ...
    async def review(self, key: str, text: str, *, verdict: str, remarks: Sequence[Remark], by: str) -> None:
        """`verdict` is comment, approve or request changes."""
        ...


@dataclass(frozen=True, slots=True)
class RunComment:
    """A comment or review on the issue or its pull request."""

    where: str
    author: str
    ours: bool
    at: float
    text: str
    verdict: str = ""
    remarks: tuple[Remark, ...] = ()


class RunDetailsReader(Protocol):
    """Methods that are not async may block, so they are called in a thread, from any thread."""

    async def changes(self, run: Run) -> DiffView:
        """Changes against the base, also while the agent works."""
        ...

    async def patch(self, run: Run, file: FileDiff) -> bytes:
        """Patch of a file in `changes`, in git's format."""
        ...

    async def content(self, run: Run, version: FileVersion | None) -> bytes: ...
    def summary(self, run: Run) -> RunSummary: ...
    def transcript_before(self, run: Run, place: int | None) -> TranscriptPage:
        """The lines before a place in the transcript; None means its end."""
        ...

    def transcript_after(self, run: Run, place: int) -> TranscriptPage: ...
    def prompts(self, run: Run) -> TranscriptPage:
        """Everything that was sent to the agent, in all turns."""
        ...

    def spending(self, run: Run) -> Sequence[Spend]:
        """Keyed by turn."""
        ...

    def comments(self, run: Run) -> Sequence[RunComment]:
        """Oldest first; empty unless the issue is on the local tracker."""
        ...

    def evidence(self, run: Run) -> Sequence[EvidenceFile]:
        """Untrusted files that the agent left for people."""
        ...

    def find_evidence(self, run: Run, name: str) -> tuple[bytes, str] | None:
        """The content and its media type."""
        ...

    def servers(self, run: Run) -> Mapping[str, SetupStep] | None:
        """Servers that a person can start in the worktree, by name; None without a worktree."""
        ...

    async def run_server(
        self,
        run: Run,
        name: str,
        *,
        on_start: Callable[[str, SetupStep], None],
        on_output: Callable[[Sequence[str]], None],
    ) -> str:
        """Runs a server until it ends, and returns the reason. `on_start` gets its address, `on_output` its output."""
        ...
