"""What people do in the demo. Level, not edge: after a kill -9 they look, and do what is still to do."""

import asyncio
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.app import App
from bot.demo.agent_script import BODIES, DISCOUNT, GERMAN, PRICES, REDIRECT_DISCOUNT, REDIRECT_PRICES, TOTAL
from bot.domain.comment import Outcome
from bot.domain.pull_request import PullRequest, PullRequestState
from bot.domain.run import Phase, Run
from bot.domain.turn import EventKind
from bot.git.command import git
from bot.services.local.server import Desk

PROJECT = "teashop"
SAMPLE = Path(__file__).parent / "sample"

_LOOK_SECONDS = 0.2


def make_repository(folder: Path) -> None:
    """The sample project as somebody's own repository, with one commit on `main`."""
    if (folder / ".git" / "HEAD").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    making = folder.with_name(f"{folder.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    shutil.copytree(SAMPLE, making, ignore=shutil.ignore_patterns("__pycache__"))
    (making / ".gitignore").write_text("__pycache__/\n")
    people = {f"GIT_{role}_{what}": text for role in ("AUTHOR", "COMMITTER") for what, text in _MIRA.items()}
    env = {"GIT_WORK_TREE": str(making), **people}
    git(making / ".git", "init", "--quiet", "--initial-branch=main", env=env)
    git(making / ".git", "add", "--all", str(making), env=env)
    git(making / ".git", "commit", "--quiet", "--message=A very small shop", env=env)
    making.rename(folder)


_MIRA = {"NAME": "Mira", "EMAIL": "mira@teashop.example"}


@dataclass(frozen=True, slots=True)
class People:
    """Mira and Jonas, who label, comment and merge, and never touch the bot."""

    app: App
    desk: Desk
    tell: Callable[[str], None]

    async def live(self) -> None:
        """Until the story is told."""
        while not self.is_told():
            for step in (self._ask, self._redirect, self._comment, self._merge, self._stop):
                step()
            await asyncio.sleep(_LOOK_SECONDS)

    def is_told(self) -> bool:
        runs = {title: self.run(title) for title in BODIES}
        return (
            all(run is not None for run in runs.values())
            and self._is(TOTAL, Phase.DONE)
            and self._is(GERMAN, Phase.DONE)
            and self._was_heard(PRICES)
            and self._was_heard(DISCOUNT)
        )

    def key(self, title: str) -> str:
        issues = self.desk.issues(PROJECT).listed(closed=True)
        return next((issue.key for issue in issues if issue.title == title), "")

    def run(self, title: str) -> Run | None:
        return self.app.store.find_run(self.key(title))

    # Each step looks first, so that nothing is done twice.

    def _ask(self) -> None:
        for title, body in BODIES.items():
            if not self.key(title):
                issue = self.desk.issues(PROJECT).open(title, by="Mira", body=body, labels=["ai"])
                self.tell(f"Mira opens {issue.key} and labels it `ai`: {title}")

    def _redirect(self) -> None:
        if self._is(PRICES, Phase.WORKING) and self._has_edited(PRICES) and not self._said(PRICES):
            self.desk.issues(PROJECT).comment(self._number(PRICES), REDIRECT_PRICES, by="Mira")
            self.tell(f"Mira comments on {self.key(PRICES)} while its agent works: {REDIRECT_PRICES}")

    def _comment(self) -> None:
        if self._is(DISCOUNT, Phase.REVIEW) and not self._pull_comments(DISCOUNT):
            self.desk.pulls(PROJECT).comment(self._number(DISCOUNT), REDIRECT_DISCOUNT, by="Jonas")
            self.tell(f"Jonas comments on the pull request of {self.key(DISCOUNT)}: {REDIRECT_DISCOUNT}")

    def _merge(self) -> None:
        if self._is(TOTAL, Phase.REVIEW) and self._pull(TOTAL).state is PullRequestState.OPEN:
            merged = self.desk.merging(PROJECT).merge(self._number(TOTAL), by="Mira")
            self.tell(
                f"Mira merges the pull request of {self.key(TOTAL)}: {merged.base} is at {merged.commit[:10]} now"
            )

    def _stop(self) -> None:
        if self._is(GERMAN, Phase.WORKING) and self._has_edited(GERMAN) and not self._said(GERMAN):
            self.desk.issues(PROJECT).comment(self._number(GERMAN), "/ai stop", by="Jonas")
            self.tell(f"Jonas has changed his mind about {self.key(GERMAN)} and comments: /ai stop")

    # What people can see.

    def _number(self, title: str) -> int:
        return self.desk.parse_key(self.key(title))[1]

    def _is(self, title: str, phase: Phase) -> bool:
        run = self.run(title)
        return run is not None and run.phase is phase

    def _was_heard(self, title: str) -> bool:
        run = self.run(title)
        return (
            self._is(title, Phase.REVIEW)
            and run is not None
            and any(row.outcome is Outcome.APPLIED for row in run.heard)
        )

    def _has_edited(self, title: str) -> bool:
        run = self.run(title)
        lines = self.app.transcripts.read(run.id) if run else ()
        return any(line["kind"] == EventKind.TOOL and line.get("tool") == "Write" for line in lines)

    def _said(self, title: str) -> bool:
        return any(not said.ours for said in self.desk.issues(PROJECT).show(self._number(title)).said)

    def _pull(self, title: str) -> PullRequest:
        return self.desk.pulls(PROJECT).show(self._number(title)).pull

    def _pull_comments(self, title: str) -> Sequence[object]:
        return [said for said in self.desk.pulls(PROJECT).show(self._number(title)).said if not said.ours]
