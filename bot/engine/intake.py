"""Intake: starts a run for each labelled issue, and restores runs from notes that earlier daemons left on issues.

Rule: if an issue carries our traces and no note explains them, wait until the note had time to appear.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from bot.domain.branch_name import branch_for
from bot.domain.issue import Issue
from bot.domain.phase_labels import phase_labels
from bot.domain.pull_request import PullRequest, PullRequestState
from bot.domain.run import Phase, Run, TurnPurpose, WaitReason
from bot.domain.run_names import log_fields
from bot.engine import comment_ledger, unshown
from bot.engine.messages import progress_comment, question_comment
from bot.engine.observe import ProjectSnapshot
from bot.engine.run_note import parse_note
from bot.errors import NeedsHuman
from bot.ports import Ports, Project
from bot.system.log_context import logging_about

log = logging.getLogger(__name__)

SECONDS_TO_APPEAR = 30.0
_ORDINALS = 100
_SECONDS_REFUSED = 3600.0


class Intake:
    def __init__(self, outside: Ports, clock: Callable[[], float]) -> None:
        self._ports = outside
        self._clock = clock
        self.stale = set(outside.projects)
        """Projects whose runs may have continued without us: all of them at first."""
        self._held_elsewhere: set[str] = set()
        """Projects that another daemon has held since."""
        self.restored: set[str] = set()
        """Runs that were restored in this tick: the next snapshot shows them completely."""
        self._refused_until: dict[str, float] = {}
        """Issues on which the question for their repository was refused, and when it is tried again."""
        self._unexplained: dict[str, float] = {}
        """Issues with unexplained traces, and the time when they count as new."""
        self._closed_lately: dict[str, float] = {}
        """Runs whose closed pull request is shown as open, and the time when that counts as reopened."""

    def mark_stale(self, project: str) -> None:
        """Marks the project's runs as outdated, because another daemon held its lease."""
        self.stale.add(project)
        self._held_elsewhere.add(project)

    def next_due(self) -> float | None:
        """Returns the time when an unexplained issue, or a reopened pull request, becomes clear."""
        return min((*self._unexplained.values(), *self._closed_lately.values()), default=None)

    async def start_runs(self, project: Project, view: ProjectSnapshot, active: Collection[Run]) -> None:
        """Starts a run for each labelled issue without one."""
        if project.name in self.stale:
            await self._catch_up(project, view, active)
            await self._find_abandoned(project)
            self.stale.discard(project.name)
            self._held_elsewhere.discard(project.name)
        for key, labels in view.tracker.unplaced.items():
            await self._ask_which(project, key, labels)
        # includes a run that ended during the poll: its label is still in the snapshot
        taken = {run.key for run in (*active, *self._ports.store.active())}
        for issue in self._labelled_issues(project, view):
            if issue.key not in taken:
                await self._start_run(project, issue, view)
        for run in self._reopened_runs(project, view):
            self._continue_reopened(run)

    async def _ask_which(self, project: Project, key: str, labels: Sequence[str]) -> None:
        """A refusal stops no other issue, and is tried again later."""
        if self._refused_until.get(key, 0.0) > self._clock():
            return
        text = progress_comment.which_repository(labels)
        try:
            await project.tracker.ensure_comment(key, slug="which", text=text)
        except NeedsHuman as refusal:
            self._refused_until[key] = self._clock() + _SECONDS_REFUSED
            log.warning("question refused issue=%s: %s", key, refusal)

    def is_needed(self, project: Project, view: ProjectSnapshot, active: Collection[Run]) -> bool:
        """Returns True if the project has runs or new issues."""
        new = (self._is_new(issue) for issue in self._labelled_issues(project, view))
        is_active = any(run.project == project.name for run in active)
        return is_active or bool(view.tracker.unplaced) or any(new) or bool(self._reopened_runs(project, view))

    def _labelled_issues(self, project: Project, view: ProjectSnapshot) -> Sequence[Issue]:
        label = project.policy.label
        return [issue for issue in view.tracker.issues.values() if issue.open and label in issue.labels]

    async def _start_run(self, project: Project, issue: Issue, view: ProjectSnapshot) -> None:
        store = self._ports.store
        if store.find_run(issue.key) is None and (known := await self._read_run_notes(project, issue.key)):
            self._take_over(known)
            if known[-1].phase is not Phase.DONE:
                return
        if not self._is_new(issue) or self._is_unexplained(project, issue, view):
            return
        run = self._adopt_pull_request(project, issue, view)
        if run:
            self._take_over([run])
            return
        run = self._reopen(project, issue, view) or self._next_run(project, issue, view)
        note = f"{issue.requester.name} requested this: {issue.title}"
        store.save(run, at=self._clock(), notes=[note])

    def _reopened_runs(self, project: Project, view: ProjectSnapshot) -> Sequence[Run]:
        """Returns runs that ended when their pull request was closed, and whose pull request is open."""
        store = self._ports.store
        unclaimed = {branch for branch, pull in view.forge.pulls.items() if pull.state is PullRequestState.OPEN}
        unclaimed -= {branch_for(run) for run in store.active()}
        ended = store.ended_with_pull_request(project.name) if unclaimed else ()
        return [run for run in ended if branch_for(run) in unclaimed]

    def _continue_reopened(self, run: Run) -> None:
        """A forge that lags may still show a pull request as open that was just closed."""
        now, known_at = self._clock(), run.changed_at + SECONDS_TO_APPEAR
        if now < known_at:
            self._closed_lately[run.id] = known_at
            return
        self._closed_lately.pop(run.id, None)
        again = self._in_review_again(run, question_comment.reopened())
        self._ports.store.save(replace(again, reopened=True), at=now, notes=["The pull request was reopened."])
        self.restored.add(run.id)

    async def _catch_up(self, project: Project, view: ProjectSnapshot, active: Collection[Run]) -> None:
        """Restores runs from notes that are newer than the database: another daemon's, or ours before a restore."""
        store, elsewhere = self._ports.store, project.name in self._held_elsewhere
        ours = {run.key for run in active if run.project == project.name}
        asking = {issue.key for issue in self._labelled_issues(project, view)}
        newest = {run.key: run for run in store.active()}
        for key in sorted((ours | asking) & view.tracker.issues.keys()):
            mine = newest.get(key) or store.find_run(key)
            for run in await self._read_run_notes(project, key):
                if mine and (run.ordinal, elsewhere or _is_ahead(run, mine)) >= (mine.ordinal, True):
                    self._take_over([run])

    async def _find_abandoned(self, project: Project) -> None:
        """Restores runs whose issues ended before an earlier daemon could clean up; shows known ends once more."""
        store = self._ports.store
        for key in sorted(await project.tracker.find_orphaned(phase_labels(project.policy.label))):
            run = store.find_run(key)
            if run is None:
                self._take_over(await self._read_run_notes(project, key))
            elif run.phase is Phase.DONE and not run.unshown:
                store.save(unshown.show_end_again(run), at=self._clock())
                self.restored.add(run.id)

    def _take_over(self, known: Sequence[Run]) -> None:
        for run in known:
            self._ports.store.take_over(run, at=self._clock())
            self.restored.add(run.id)
            with logging_about(**log_fields(run)):
                log.info("run restored run=%s phase=%s", run.id, run.phase)

    async def _read_run_notes(self, project: Project, key: str) -> Sequence[Run]:
        """Returns the runs on the issue's notes, oldest first."""
        notes = [parse_note(text, key=key, project=project.name) for text in await project.tracker.read_run_notes(key)]
        return sorted({run.ordinal: run for run in notes if run}.values(), key=lambda run: run.ordinal)

    def _is_new(self, issue: Issue) -> bool:
        """Returns False for a request that had its run: a removed label may be visible for a while longer."""
        last = self._ports.store.find_run(issue.key) if issue.request else None
        return last is None or last.request != issue.request

    def _is_unexplained(self, project: Project, issue: Issue, view: ProjectSnapshot) -> bool:
        if self._ports.store.find_run(issue.key) or not _has_traces(project, issue, view):
            self._unexplained.pop(issue.key, None)
            return False
        now = self._clock()
        return now < self._unexplained.setdefault(issue.key, now + SECONDS_TO_APPEAR)

    def _adopt_pull_request(self, project: Project, issue: Issue, view: ProjectSnapshot) -> Run | None:
        """Returns a run for an open pull request of ours without a note, so that no second one is opened."""
        open_one = _run_of_open_pull(project.name, issue.key, view)
        if open_one is None or self._ports.store.find_run(issue.key):
            return None
        now = self._clock()
        found = replace(open_one, phase=Phase.REVIEW, reason=question_comment.found_again(), request=issue.request)
        return replace(
            found,
            person=issue.requester.name,
            turns=replace(found.turns, number=1, ended=1, started_at=now),
            begun_at=now,
            changed_at=now,
        )

    def _reopen(self, project: Project, issue: Issue, view: ProjectSnapshot) -> Run | None:
        """Returns the last run in review if its pull request is still open: an issue gets no second one beside it.

        Who asks is judged as on any other run: the request that it answered stays noted until then.
        """
        last, open_one = self._ports.store.find_run(issue.key), _run_of_open_pull(project.name, issue.key, view)
        if last is None or open_one is None or open_one.ordinal != last.ordinal:
            return None
        return self._in_review_again(last, question_comment.asked_again())

    def _in_review_again(self, last: Run, reason: str) -> Run:
        return replace(
            comment_ledger.reopened(last),
            phase=Phase.REVIEW,
            wait_reason=WaitReason.NONE,
            reason=reason,
            reopened=False,
            purpose=TurnPurpose.NONE,
            turns=replace(last.turns, ended=last.turns.number, failures=0, losses=0, not_before=0.0),
            hold=replace(last.hold, objections=()),
            unshown=(),
            changed_at=self._clock(),
        )

    def _next_run(self, project: Project, issue: Issue, view: ProjectSnapshot) -> Run:
        """Numbers the run so that its branch is new; an existing branch is not touched."""
        key, now, store = issue.key, self._clock(), self._ports.store
        last = store.find_run(key)
        heard = comment_ledger.answered(last) if last else ()
        ordinal = store.last_ordinal(key) + 1
        begun = Run(key, project.name, ordinal, begun_at=now, changed_at=now)
        run = replace(begun, person=issue.requester.name, request=issue.request, comments=heard)
        in_flight = last is None and bool(phase_labels(project.policy.label) & issue.labels)
        while branch_for(run) in view.forge.pulls or (branch_for(run) in view.forge.branches and not in_flight):
            run = replace(run, ordinal=run.ordinal + 1)
        return run


def _is_ahead(noted: Run, mine: Run) -> bool:
    """Returns True if the note is newer than the database, which may be restored from a backup."""
    return _progress(noted) > _progress(mine)


def _progress(run: Run) -> tuple[int, int, bool, int]:
    return run.turns.number, run.turns.ended, run.phase is Phase.DONE, len(run.comments)


def _has_traces(project: Project, issue: Issue, view: ProjectSnapshot) -> bool:
    shown = phase_labels(project.policy.label) & issue.labels
    return bool(shown) or _run_of_open_pull(project.name, issue.key, view) is not None


def _run_of_open_pull(project: str, key: str, view: ProjectSnapshot) -> Run | None:
    """Returns the newest run of the issue with an open pull request."""
    runs = (Run(key, project, ordinal) for ordinal in range(_ORDINALS, 0, -1))
    return next((run for run in runs if _is_open(view.forge.pulls, branch_for(run))), None)


def _is_open(pulls: Mapping[str, PullRequest], branch: str) -> bool:
    return branch in pulls and pulls[branch].state is PullRequestState.OPEN
