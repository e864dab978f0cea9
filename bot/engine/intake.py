"""How runs come to be: a label asks for one, or an issue tells of one that other lives of ours have left there.

Rule: where an issue shows that we have been there before, and nothing tells how, we wait until it had time to appear.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from bot.domain.issue import Issue
from bot.domain.names import branch_for, phase_labels
from bot.domain.pull_request import PullRequest, PullRequestState
from bot.domain.run import Phase, Run
from bot.engine import comment_ledger as ledger
from bot.engine.messages import issue as messages
from bot.engine.observe import View
from bot.engine.run_note import parse_note
from bot.ports import Outside, Project
from bot.system.log_context import about

log = logging.getLogger(__name__)

SECONDS_TO_APPEAR = 30.0
_ORDINALS = 100


class Arrivals:
    def __init__(self, outside: Outside, clock: Callable[[], float]) -> None:
        self._outside = outside
        self._clock = clock
        self.doubted = set(outside.projects)
        """Projects whose runs may have gone on without us: at first, all of them."""
        self._lent: set[str] = set()
        """Those that another daemon has had since."""
        self.returned: set[str] = set()
        """Runs of which nothing was known when the look began that is judged now: the next one shows them whole."""
        self._puzzling: dict[str, float] = {}
        """Issues that show traces of us which nothing explains, and since when."""

    def doubt(self, project: str) -> None:
        """Another daemon had it: what is remembered of its runs is old."""
        self.doubted.add(project)
        self._lent.add(project)

    def next_due(self) -> float | None:
        """When something is clear that is not clear yet."""
        return min(self._puzzling.values(), default=None)

    async def welcome(self, project: Project, view: View, active: Collection[Run]) -> None:
        """Every labelled issue has exactly one run at a time."""
        if project.name in self.doubted:
            await self._catch_up(project, view, active)
            await self._find_abandoned(project)
            self.doubted.discard(project.name)
            self._lent.discard(project.name)
        for key, labels in view.tracker.unplaced.items():
            await project.tracker.ensure_comment(key, slug="which", text=messages.which_repository(labels))
        # one that ended while we looked is counted too: its label was still to be seen then
        taken = {run.key for run in (*active, *self._outside.store.active())}
        for issue in self._asking(project, view):
            if issue.key not in taken:
                await self._welcome(project, issue, view)

    def is_needed(self, project: Project, view: View, active: Collection[Run]) -> bool:
        """Is there anything to be done for it at all?"""
        new = (self._is_new(issue) for issue in self._asking(project, view))
        return any(run.project == project.name for run in active) or bool(view.tracker.unplaced) or any(new)

    def _asking(self, project: Project, view: View) -> Sequence[Issue]:
        label = project.policy.label
        return [issue for issue in view.tracker.issues.values() if issue.open and label in issue.labels]

    async def _welcome(self, project: Project, issue: Issue, view: View) -> None:
        store = self._outside.store
        if store.find_run(issue.key) is None and (known := await self._recalled(project, issue.key)):
            self._take_over(known)
            if known[-1].phase is not Phase.DONE:
                return
        if not self._is_new(issue) or self._is_puzzled(project, issue, view):
            return
        run = self._adopted(project, issue, view)
        if run:
            self._take_over([run])
            return
        run = self._next_run(project, issue, view)
        asked = f"{issue.asked_by.name} asked for it: {issue.title}"
        store.save(run, at=run.begun_at, notes=[asked])

    async def _catch_up(self, project: Project, view: View, active: Collection[Run]) -> None:
        """Another daemon was here, and its word counts; or our memory may be older than what we last wrote."""
        store, lent = self._outside.store, project.name in self._lent
        ours = {run.key for run in active if run.project == project.name}
        asking = {issue.key for issue in self._asking(project, view)}
        newest = {run.key: run for run in store.active()}
        for key in sorted((ours | asking) & view.tracker.issues.keys()):
            mine = newest.get(key) or store.find_run(key)
            for run in await self._recalled(project, key):
                if mine and (run.ordinal, lent or _is_ahead(run, mine)) >= (mine.ordinal, True):
                    self._take_over([run])

    async def _find_abandoned(self, project: Project) -> None:
        """Issues that were over when the lives of ours that knew of them had no time left to tidy up."""
        store = self._outside.store
        for key in sorted(await project.tracker.find_left(phase_labels(project.policy.label))):
            if store.find_run(key) is None and (known := await self._recalled(project, key)):
                self._take_over(known)

    def _take_over(self, known: Sequence[Run]) -> None:
        for run in known:
            self._outside.store.take_over(run, at=self._clock())
            self.returned.add(run.id)
            with about(run):
                log.info("going on with run=%s phase=%s", run.id, run.phase)

    async def _recalled(self, project: Project, key: str) -> Sequence[Run]:
        """Oldest first."""
        notes = [parse_note(text, key=key, project=project.name) for text in await project.tracker.recall(key)]
        return sorted({run.ordinal: run for run in notes if run}.values(), key=lambda run: run.ordinal)

    def _is_new(self, issue: Issue) -> bool:
        """A label that we took off may be seen for a while longer: what had its run gets no other."""
        last = self._outside.store.find_run(issue.key) if issue.request else None
        return last is None or last.request != issue.request

    def _is_puzzled(self, project: Project, issue: Issue, view: View) -> bool:
        if self._outside.store.find_run(issue.key) or not _has_traces(project, issue, view):
            self._puzzling.pop(issue.key, None)
            return False
        now = self._clock()
        return now < self._puzzling.setdefault(issue.key, now + SECONDS_TO_APPEAR)

    def _adopted(self, project: Project, issue: Issue, view: View) -> Run | None:
        """An open pull request of ours that nothing tells of: better gone on with than followed by a second one."""
        open_one = _run_of_open_pull(project.name, issue.key, view)
        if open_one is None or self._outside.store.find_run(issue.key):
            return None
        now = self._clock()
        found = replace(open_one, phase=Phase.REVIEW, reason=messages.found_again(), request=issue.request)
        return replace(found, person=issue.asked_by.name, turn=1, ended=1, turn_at=now, begun_at=now, changed_at=now)

    def _next_run(self, project: Project, issue: Issue, view: View) -> Run:
        """Numbered so that its branch is nobody else's: one left over from before is not touched."""
        key, now, store = issue.key, self._clock(), self._outside.store
        last = store.find_run(key)
        heard = ledger.answered(last) if last else ()
        ordinal = store.last_ordinal(key) + 1
        begun = Run(key, project.name, ordinal, begun_at=now, changed_at=now)
        run = replace(begun, person=issue.asked_by.name, request=issue.request, heard=heard)
        in_flight = last is None and bool(phase_labels(project.policy.label) & issue.labels)
        while branch_for(run) in view.forge.pulls or (branch_for(run) in view.forge.branches and not in_flight):
            run = replace(run, ordinal=run.ordinal + 1)
        return run


def _is_ahead(noted: Run, mine: Run) -> bool:
    """A database that came from a copy, or lost its last pages, is behind what it led to."""
    return _progress(noted) > _progress(mine)


def _progress(run: Run) -> tuple[int, int, bool, int]:
    return run.turn, run.ended, run.phase is Phase.DONE, len(run.heard)


def _has_traces(project: Project, issue: Issue, view: View) -> bool:
    shown = phase_labels(project.policy.label) & issue.labels
    return bool(shown) or _run_of_open_pull(project.name, issue.key, view) is not None


def _run_of_open_pull(project: str, key: str, view: View) -> Run | None:
    """The newest."""
    runs = (Run(key, project, ordinal) for ordinal in range(_ORDINALS, 0, -1))
    return next((run for run in runs if _is_open(view.forge.pulls, branch_for(run))), None)


def _is_open(pulls: Mapping[str, PullRequest], branch: str) -> bool:
    return branch in pulls and pulls[branch].state is PullRequestState.OPEN
