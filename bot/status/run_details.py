"""Run details: reads what the page of one run shows: transcript, diff, money, comments, evidence and servers."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field

from bot.control.run_server import FindRun, RunServer
from bot.domain.branch_name import branch_for
from bot.domain.diff_view import DiffView, FileDiff, FileVersion
from bot.domain.evidence import EvidenceFile
from bot.domain.run import Phase, Run
from bot.domain.setup_plan import SetupStep
from bot.domain.spend import Spend
from bot.domain.transcript import TranscriptPage
from bot.domain.turn import EventKind
from bot.errors import NeedsHuman
from bot.evidence.store import EvidenceStore
from bot.services.local.comments import ShownComment
from bot.services.local.connect import open_local_server
from bot.services.local.input_rules import BOT
from bot.services.local.server import LocalServer
from bot.services.registry import forge_of, is_kept_here, tracker_of
from bot.settings.schema import ProjectSettings, Settings
from bot.status.as_json import RunSummary
from bot.status.interface import RunComment
from bot.status.snapshot import summarize_run
from bot.store.build import open_store, open_transcripts
from bot.store.transcript_pages import lines_of_kind, page_after, page_before
from bot.text import pull_request_section
from bot.workspace.live_diff import LiveDiffs
from bot.workspace.workspaces import ALWAYS_IGNORED

_NO_COMMITS = ("", "")


@dataclass(slots=True)
class RunDetails:
    """The port `RunDetailsReader`."""

    settings: Settings
    find_run: FindRun
    """Called often, in the loop, while a server runs."""
    _diffs: dict[str, LiveDiffs] = field(default_factory=dict)
    """Keyed by project."""
    _ended: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Keyed by run id: base and head of finished runs, which no longer change."""
    _servers: dict[tuple[str, str], Mapping[str, SetupStep]] = field(default_factory=dict)
    """Keyed by run id and base commit."""

    async def changes(self, run: Run) -> DiffView:
        ended = await asyncio.to_thread(self._base_and_head, run) if run.phase is Phase.DONE else _NO_COMMITS
        return await self._diffs_of(run).read(branch_for(run), ended=ended)

    async def patch(self, run: Run, file: FileDiff) -> bytes:
        return await self._diffs_of(run).patch(branch_for(run), file)

    async def content(self, run: Run, version: FileVersion | None) -> bytes:
        return await self._diffs_of(run).content(branch_for(run), version)

    def summary(self, run: Run) -> RunSummary:
        return summarize_run(self.settings, run)

    def transcript_before(self, run: Run, place: int | None) -> TranscriptPage:
        return page_before(open_transcripts(self.settings).path(run.id), place)

    def transcript_after(self, run: Run, place: int) -> TranscriptPage:
        return page_after(open_transcripts(self.settings).path(run.id), place)

    def prompts(self, run: Run) -> TranscriptPage:
        return lines_of_kind(open_transcripts(self.settings).path(run.id), EventKind.PROMPT)

    def spending(self, run: Run) -> Sequence[Spend]:
        with closing(open_store(self.settings)) as store:
            return store.spending(run)

    def comments(self, run: Run) -> Sequence[RunComment]:
        project = self._project(run)
        if project is None or not tracker_of(project).kept_here:
            return ()
        server = open_local_server(self.settings)
        try:
            return _comments(server, project, server.parse_key(run.key)[1])
        except NeedsHuman:  # the issue no longer exists
            return ()
        finally:
            server.close()

    def evidence(self, run: Run) -> Sequence[EvidenceFile]:
        return self._evidence.list_files(run.id)

    def find_evidence(self, run: Run, name: str) -> tuple[bytes, str] | None:
        return self._evidence.read(run.id, name)

    def servers(self, run: Run) -> Mapping[str, SetupStep] | None:
        server = self._server(run)
        if server is None or not server.has_worktree:
            return None
        known = run.id, server.base
        if known not in self._servers:
            self._servers[known] = server.servers_at(known[1])
        return self._servers[known]

    async def run_server(
        self,
        run: Run,
        name: str,
        *,
        on_start: Callable[[str, SetupStep], None],
        on_output: Callable[[Sequence[str]], None],
    ) -> str:
        server = self._server(run)
        if server is None:
            raise NeedsHuman(f"The settings have no project {run.project}.")
        return await server.run_to_end(name, on_start=on_start, on_output=on_output, find_run=self.find_run)

    def _server(self, run: Run) -> RunServer | None:
        project = self._project(run)
        return RunServer(self.settings, project, run) if project else None

    @property
    def _evidence(self) -> EvidenceStore:
        return EvidenceStore(self.settings.state_dir / "evidence")

    def _project(self, run: Run) -> ProjectSettings | None:
        return next((one for one in self.settings.projects if one.name == run.project), None)

    def _diffs_of(self, run: Run) -> LiveDiffs:
        if run.project not in self._diffs:
            bare = self.settings.state_dir / "forge" / f"{run.project}.git"
            self._diffs[run.project] = LiveDiffs(
                self.settings.state_dir, run.project, ignored=ALWAYS_IGNORED, borrowed=[bare]
            )
        return self._diffs[run.project]

    def _base_and_head(self, run: Run) -> tuple[str, str]:
        project = self._project(run)
        if project is None or not is_kept_here(project):
            return _NO_COMMITS
        if run.id not in self._ended:
            server = open_local_server(self.settings)
            try:
                self._ended[run.id] = server.pull_requests(project.name).base_and_head(server.parse_key(run.key)[1])
            except NeedsHuman:  # the run had no pull request
                self._ended[run.id] = _NO_COMMITS
            finally:
                server.close()
        return self._ended[run.id]


def _comments(server: LocalServer, project: ProjectSettings, number: int) -> Sequence[RunComment]:
    """Starts with the texts of the issue and of the pull request."""
    thread = server.issues(project.name).show(number)
    request = RunComment("issue", thread.author, ours=False, at=thread.issue.created_at, text=thread.issue.body)
    texts = [request, *(_as_run_comment("issue", one) for one in thread.comments)]
    if forge_of(project).kept_here:
        with suppress(NeedsHuman):  # the run has no pull request yet
            page = server.pull_requests(project.name).thread(number)
            texts.append(
                RunComment(
                    "pull request",
                    BOT,
                    ours=True,
                    at=page.opened_at,
                    text=pull_request_section.without_markers(page.pull.body),
                )
            )
            texts += [_as_run_comment("pull request", one) for one in page.comments]
    return sorted((one for one in texts if one.text or one.verdict or one.remarks), key=lambda one: one.at)


def _as_run_comment(where: str, comment: ShownComment) -> RunComment:
    return RunComment(where, comment.author, comment.ours, comment.at, comment.text, comment.verdict, comment.remarks)
