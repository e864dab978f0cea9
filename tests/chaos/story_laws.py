"""Laws of random stories: lists what is broken of what people see, the disk holds, and the model was paid."""

import contextlib
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chaos.hands import BILL, COST, PROTECTED
from tests.chaos.random_people import BEGINNING, PUSHERS, People
from tests.chaos.trackers import LABEL, phase_labels_in, slug_in
from tests.fakes.github import gits

_HEADLINES = {"queued": "Queued", "working": "Working", "review": "In review", "asking": "Needs you", "done": "Done"}
_FINAL = {"applied", "answered", "declined", "command", "not trusted"}
_CLAIM = "refs/treehand/claim"
MARGIN = 120.0
"""Seconds around the begin and the end of a run in which a comment may belong to it or not."""
_FAULT = re.compile(r"Traceback|run crashed|never retrieved| ERROR | CRITICAL ")


def rows(state_dir: Path, sql: str) -> list[dict[str, Any]]:
    file = state_dir / "treehand.db"
    if not file.exists():
        return []
    with contextlib.closing(sqlite3.connect(file, timeout=10)) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(sql)]


@dataclass
class Laws:
    people: People
    folders: Sequence[Path]
    """Of the machines."""

    def runs(self) -> list[dict[str, Any]]:
        """The newest run of each issue, as the daemon knows it that went furthest."""
        newest: dict[str, dict[str, Any]] = {}
        for folder in self.folders:
            for run in rows(folder / "state", "SELECT * FROM runs ORDER BY ordinal, turns_number"):
                old = newest.get(run["key"])
                if old is None or (run["ordinal"], run["changed_at"]) >= (old["ordinal"], old["changed_at"]):
                    newest[run["key"]] = run
        return list(newest.values())

    def at_rest(self) -> list[str]:
        """What is broken while nothing more happens by itself."""
        with self.people.world.lock:
            return [*self._restless(), *self._labels(), *self._progress(), *self._pulls(), *self._unheard_of()]

    def _restless(self) -> Iterator[str]:
        for run in self.runs():
            if run["phase"] in {"queued", "working"}:
                yield f"{run['key']}/{run['ordinal']} is {run['phase']}: {run['reason']}"

    def _labels(self) -> Iterator[str]:
        for run in self.runs():
            if self.people.issues.find(run["key"]) is None:
                if run["phase"] != "done":
                    yield f"{run['key']} is gone, and its run is {run['phase']}"
                continue
            shown = phase_labels_in(self.people.issues.labels(run["key"]))
            wanted = set() if run["phase"] == "done" else {f"{LABEL}:{run['phase']}"}
            if shown != wanted:
                yield f"{run['key']} shows {sorted(shown)} and is {run['phase']} ({run['reason']}) {run['unshown']}"

    def _progress(self) -> Iterator[str]:
        for run in self.runs():
            if self.people.issues.find(run["key"]) is None:
                continue
            bodies = self.people.issues.bodies(run["key"])
            counts = Counter(slug_in(body) for body in bodies)
            for slug, count in counts.items():
                if slug and count > 1:
                    yield f"{run['key']} has {count} comments {slug}"
            mine = [body for body in bodies if slug_in(body) == f"{run['ordinal']}/progress"]
            word = _HEADLINES[run["phase"]]
            if run["phase"] == "done" and "merged" not in run["reason"]:
                word = "Ended"
            if mine and word not in mine[0].splitlines()[0]:
                yield f"{run['key']} says {mine[0].splitlines()[0]!r} and is {run['phase']} ({run['reason']})"
            asks_first = not run["turns_number"] and any(counts)  # a question for permission says it alone
            if not mine and run["phase"] != "done" and not asks_first:
                yield f"{run['key']} is {run['phase']} and has no progress comment"

    def _pulls(self) -> Iterator[str]:
        counts = Counter(_issue_of(pull.pull.head_ref) for pull in self.people.pulls())
        for issue, count in counts.items():
            if count > 1:
                yield f"{count} open pull requests for {issue}"

    def _unheard_of(self) -> Iterator[str]:
        """An open issue whose label somebody with permission added after its last run."""
        known = {run["key"]: run for run in self.runs()}
        issues = self.people.issues
        for key in issues.keys() - known.keys():
            if issues.is_ours(key) and issues.is_open(key) and LABEL in issues.labels(key):
                yield f"{key} has the label, and nobody knows it"

    # At the end

    def at_the_end(self) -> list[str]:
        with self.people.world.lock:
            return [
                *self._alive(), *self._left_behind(), *self._comments(), *self._money(), *self._log(), *self._claim(),
                *self._false_ends(), *self._replied(), *self._unjudged(),
            ]  # fmt: skip

    def _alive(self) -> Iterator[str]:
        for run in self.runs():
            if run["phase"] != "done":
                yield f"{run['key']}/{run['ordinal']} is still {run['phase']}: {run['reason']}"

    def _left_behind(self) -> Iterator[str]:
        for folder in self.folders:
            worktrees = folder / "state" / "worktrees"
            if left := [one.name for one in worktrees.glob("*/*")]:
                yield f"{folder.name} has worktrees {left}"
        there = gits.refs(self.people.world.repository(self.people.repo).path)
        for folder in self.folders:
            for run in rows(folder / "state", "SELECT * FROM runs WHERE phase = 'done'"):
                if "merged" in run["reason"] and f"refs/heads/{branch_of(run)}" in there:
                    yield f"{branch_of(run)} was merged, and is still there"

    def _claim(self) -> Iterator[str]:
        """The ref by which daemons agree says that nobody holds it."""
        home = self.people.world.repository(self.people.repo)
        if not gits.ok(home.path, "rev-parse", "--verify", "--quiet", _CLAIM):
            return
        record = gits.message_of(home.path, _CLAIM)
        if '"free": true' not in record:
            yield f"the claim is not given back: {record}"

    def _false_ends(self) -> Iterator[str]:
        merged = {pull.pull.head_ref for pull in self.people.pulls("closed") if pull.pull.merged_at}
        for folder in self.folders:
            for run in rows(folder / "state", "SELECT * FROM runs WHERE phase = 'done'"):
                if "merged" in run["reason"] and branch_of(run) not in merged:
                    yield f"{run['key']}/{run['ordinal']} says {run['reason']!r}, and nothing was merged"

    def _comments(self) -> Iterator[str]:
        """Every comment of somebody with permission during a run has one outcome."""
        for folder in self.folders[:1]:
            if len(self.folders) > 1:
                return
            records = rows(folder / "state", "SELECT * FROM comment_records")
            for record in records:
                if record["outcome"] not in _FINAL:
                    yield f"{record['comment']} of {record['key']} has the outcome {record['outcome']!r}"
            known = {record["comment"] for record in records}
            for said in self.people.said:
                if said.by in PUSHERS and said.comment not in known and not said.gone and self._was_heard(folder, said):
                    yield f"{said.comment} by {said.by} on {said.key} has no outcome: {said.text!r}"

    def _was_heard(self, folder: Path, said) -> bool:
        for run in rows(folder / "state", "SELECT * FROM runs"):
            is_here = said.key == run["key"] or said.key == branch_of(run)
            if (
                "gone" not in run["reason"]
                and is_here
                and run["begun_at"] + MARGIN < said.at < run["changed_at"] - MARGIN
            ):
                return True
        return False

    def _replied(self) -> Iterator[str]:
        """What was applied or answered was answered in words where it was said, if it was said during the run."""
        if len(self.folders) > 1:
            return
        at = {said.comment: said for said in self.people.said}
        home = self.people.world.repository(self.people.repo)
        there = [slug_in(one.body) for one in (*home.comments.values(), *home.inlines.values())]
        for run in rows(self.folders[0] / "state", "SELECT * FROM runs"):
            if self.people.issues.find(run["key"]) is None:
                continue
            heard = [*there, *map(slug_in, self.people.issues.bodies(run["key"]))]
            sql = f"SELECT * FROM comment_records WHERE key = '{run['key']}' AND ordinal = {run['ordinal']}"
            for record in rows(self.folders[0] / "state", sql):
                said = at.get(record["comment"])
                if said is None or said.gone or said.by not in PUSHERS or said.at < run["begun_at"] + MARGIN:
                    continue
                if record["outcome"] in {"applied", "answered"} and said.text.strip():
                    answer = re.compile(rf"{run['ordinal']}/[a-z]+-{record['turn']}(-.*)?")  # a plan is one, too
                    if not any(map(answer.fullmatch, heard)):
                        yield f"{record['comment']} of {run['key']} is {record['outcome']}, unsaid"

    def _unjudged(self) -> Iterator[str]:
        """A protected file is published only after somebody with push access has approved it."""
        home = self.people.world.repository(self.people.repo)
        approved = {said.key for said in self.people.said if said.by in PUSHERS and "approve" in said.text}
        for ref in gits.refs(home.path):
            branch = ref.removeprefix("refs/heads/")
            is_theirs = branch.startswith(BEGINNING) and gits.ok(home.path, "cat-file", "-e", f"{ref}:{PROTECTED}")
            keys = {branch, *(run["key"] for run in self.runs() if branch.startswith(branch_of({**run, "ordinal": 1})))}
            if is_theirs and not keys & approved:
                yield f"{branch} has {PROTECTED}, and nobody approved it"

    def _money(self) -> Iterator[str]:
        for folder in self.folders:
            bill = folder / BILL
            paid = len(bill.read_text().splitlines()) if bill.exists() else 0
            sql = "SELECT coalesce(sum(usd), 0) AS usd FROM money WHERE turn > 0"
            counted = sum(row["usd"] for row in rows(folder / "state", sql))
            lives = (folder / "daemon.log").read_text().count("\n--- life ")
            kills = lives if any("kill" in deed for deed in self.people.done) else 0
            allowed = COST * (0.01 * paid + kills)
            if abs(counted - paid * COST) > allowed + 1e-9:
                yield f"{folder.name}: the model was paid {paid * COST:.2f}, and {counted:.2f} was counted"

    def _log(self) -> Iterator[str]:
        for folder in self.folders:
            for line in (folder / "daemon.log").read_text(errors="replace").splitlines():
                if _FAULT.search(line):
                    yield f"{folder.name} log: {line[:300]}"


def branch_of(run: dict[str, Any]) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", run["key"].lower()).strip("-")
    return f"{BEGINNING}{slug}" if run["ordinal"] == 1 else f"{BEGINNING}{slug}-{run['ordinal']}"


def _issue_of(branch: str) -> str:
    return re.sub(r"(-\d+)-\d+$", r"\1", branch)
