"""What the page of one run may look at: its conversation, its changes, its money, and what is said about it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from bot.app import desk_of, store_of, transcripts_of
from bot.control.run_server import FindRun, Viewing
from bot.domain.diff_view import SeenFile, Sight, Version
from bot.domain.evidence import Piece
from bot.domain.names import branch_for
from bot.domain.run import Phase, Run
from bot.domain.setup_plan import Step
from bot.domain.spend import Spend
from bot.domain.transcript import Stretch
from bot.domain.turn import EventKind
from bot.errors import NeedsHuman
from bot.evidence.store import Evidence
from bot.services.local.comments import Said as SaidThere
from bot.services.local.input_rules import BOT
from bot.services.local.server import Desk
from bot.settings import ProjectSettings, Settings
from bot.status import snapshot as glance
from bot.status.as_json import Glimpse
from bot.status.closeup import Said
from bot.store.transcript_pages import stretch_after, stretch_before, stretch_of
from bot.text import pull_request_body as body
from bot.workspace.live_diff import Looks
from bot.workspace.workspaces import IGNORED

_NOWHERE = ("", "")


@dataclass(slots=True)
class CloseUp:
    """The `Closeup` of whoever uses the dashboard."""

    settings: Settings
    find_run: FindRun
    """Asked often, in the loop, for as long as somebody is shown something."""
    _looks: dict[str, Looks] = field(default_factory=dict)
    """By project."""
    _ended: dict[str, tuple[str, str]] = field(default_factory=dict)
    """What runs that are over have changed, by their ids: that stays as it is."""
    _servers: dict[tuple[str, str], Mapping[str, Step]] = field(default_factory=dict)
    """By run and the commit that says so."""

    async def see(self, run: Run) -> Sight:
        ended = await asyncio.to_thread(self._ends, run) if run.phase is Phase.DONE else _NOWHERE
        return await self._looks_of(run).see(branch_for(run), ended=ended)

    async def patch(self, run: Run, file: SeenFile) -> bytes:
        return await self._looks_of(run).patch(branch_for(run), file)

    async def content(self, run: Run, version: Version | None) -> bytes:
        return await self._looks_of(run).content(branch_for(run), version)

    def glimpse(self, run: Run) -> Glimpse:
        return glance.glimpse(self.settings, run)

    def talk_before(self, run: Run, place: int | None) -> Stretch:
        return stretch_before(transcripts_of(self.settings).path(run.id), place)

    def talk_after(self, run: Run, place: int) -> Stretch:
        return stretch_after(transcripts_of(self.settings).path(run.id), place)

    def given(self, run: Run) -> Stretch:
        return stretch_of(transcripts_of(self.settings).path(run.id), EventKind.GIVEN)

    def spending(self, run: Run) -> Sequence[Spend]:
        store = store_of(self.settings)
        try:
            return store.spending(run)
        finally:
            store.close()

    def said(self, run: Run) -> Sequence[Said]:
        project = self._project(run)
        if project is None or project.tracker != "local":
            return ()
        desk = desk_of(self.settings)
        try:
            return _said(desk, project, desk.parse_key(run.key)[1])
        except NeedsHuman:  # the issue is not here any more
            return ()
        finally:
            desk.close()

    def evidence(self, run: Run) -> Sequence[Piece]:
        return self._evidence.of(run.id)

    def find_evidence(self, run: Run, name: str) -> tuple[bytes, str] | None:
        return self._evidence.open(run.id, name)

    def servers(self, run: Run) -> Mapping[str, Step] | None:
        viewing = self._viewing(run)
        if viewing is None or not viewing.has_worktree:
            return None
        known = run.id, viewing.base
        if known not in self._servers:
            self._servers[known] = viewing.servers_at(known[1])
        return self._servers[known]

    async def show(
        self, run: Run, name: str, *, begun: Callable[[str, Step], None], heard: Callable[[Sequence[str]], None]
    ) -> str:
        viewing = self._viewing(run)
        if viewing is None:
            raise NeedsHuman(f"There is no project {run.project} now.")
        return await viewing.show(name, begun=begun, heard=heard, find_run=self.find_run)

    def _viewing(self, run: Run) -> Viewing | None:
        project = self._project(run)
        return Viewing(self.settings, project, run) if project else None

    @property
    def _evidence(self) -> Evidence:
        return Evidence(self.settings.state_dir / "evidence")

    def _project(self, run: Run) -> ProjectSettings | None:
        return next((one for one in self.settings.projects if one.name == run.project), None)

    def _looks_of(self, run: Run) -> Looks:
        if run.project not in self._looks:
            bare = self.settings.state_dir / "forge" / f"{run.project}.git"
            self._looks[run.project] = Looks(self.settings.state_dir, run.project, ignored=IGNORED, borrowed=[bare])
        return self._looks[run.project]

    def _ends(self, run: Run) -> tuple[str, str]:
        project = self._project(run)
        if project is None or project.tracker != "local" or project.forge != "local":
            return _NOWHERE
        if run.id not in self._ended:
            desk = desk_of(self.settings)
            try:
                self._ended[run.id] = desk.pulls(project.name).ends(desk.parse_key(run.key)[1])
            except NeedsHuman:  # it never came to a pull request
                self._ended[run.id] = _NOWHERE
            finally:
                desk.close()
        return self._ended[run.id]


def _said(desk: Desk, project: ProjectSettings, number: int) -> Sequence[Said]:
    """With what the issue and the pull request say of themselves."""
    thread = desk.issues(project.name).show(number)
    asked = Said("issue", thread.author, ours=False, at=thread.issue.created_at, text=thread.issue.body)
    found = [asked, *(_one("issue", said) for said in thread.said)]
    if project.forge == "local":
        with suppress(NeedsHuman):  # there is none yet
            offered = desk.pulls(project.name).thread(number)
            found.append(Said("pull request", BOT, ours=True, at=offered.opened_at, text=body.shown(offered.pull.body)))
            found += [_one("pull request", said) for said in offered.said]
    return sorted((one for one in found if one.text or one.verdict or one.remarks), key=lambda one: one.at)


def _one(where: str, said: SaidThere) -> Said:
    return Said(where, said.author, said.ours, said.at, said.text, said.verdict, said.remarks)
