"""The people of the demo: they open issues, comment, merge and stop. Rule: each step looks first, then acts once."""

import asyncio
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.app import App
from bot.demo.agent_script import BODIES, DISCOUNT, GERMAN, PRICES, REDIRECT_DISCOUNT, REDIRECT_PRICES, TOTAL
from bot.domain.comment import CommentOutcome
from bot.domain.pull_request import PullRequest, PullRequestState
from bot.domain.run import Phase, Run
from bot.domain.turn import EventKind
from bot.git.command import git
from bot.services.local.server import LocalServer

PROJECT = "teashop"
SAMPLE = Path(__file__).parent / "sample"

_POLL_SECONDS = 0.2


def create_repository(folder: Path) -> None:
    """Creates the sample project as a repository with one commit on `main`, unless it exists."""
    if (folder / ".git" / "HEAD").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    unfinished = folder.with_name(f"{folder.name}.making")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(SAMPLE, unfinished, ignore=shutil.ignore_patterns("__pycache__"))
    (unfinished / ".gitignore").write_text("__pycache__/\n")
    author = {f"GIT_{role}_{field}": text for role in ("AUTHOR", "COMMITTER") for field, text in _MIRA.items()}
    env = {"GIT_WORK_TREE": str(unfinished), **author}
    git(unfinished / ".git", "init", "--quiet", "--initial-branch=main", env=env)
    git(unfinished / ".git", "add", "--all", str(unfinished), env=env)
    git(unfinished / ".git", "commit", "--quiet", "--message=A very small shop", env=env)
    unfinished.rename(folder)


_MIRA = {"NAME": "Mira", "EMAIL": "mira@teashop.example"}


@dataclass(frozen=True, slots=True)
class DemoPeople:
    """Mira and Jonas. They use the local tracker and forge like anybody else."""

    app: App
    server: LocalServer
    log: Callable[[str], None]

    async def act(self) -> None:
        """Returns when the story has ended."""
        while not self.is_finished():
            for step in (self._open_issues, self._redirect, self._merge, self._comment_on_pull, self._stop):
                step()
            await asyncio.sleep(_POLL_SECONDS)

    def is_finished(self) -> bool:
        runs = {title: self.run(title) for title in BODIES}
        return (
            all(run is not None for run in runs.values())
            and self._is(TOTAL, Phase.DONE)
            and self._is(GERMAN, Phase.DONE)
            and self._has_applied_comment(PRICES)
            and self._has_applied_comment(DISCOUNT)
        )

    def key(self, title: str) -> str:
        issues = self.server.issues(PROJECT).list_issues(closed=True)
        return next((issue.key for issue in issues if issue.title == title), "")

    def run(self, title: str) -> Run | None:
        return self.app.store.find_run(self.key(title))

    def _open_issues(self) -> None:
        for title, body in BODIES.items():
            if not self.key(title):
                issue = self.server.issues(PROJECT).open(title, by="Mira", body=body, labels=["ai"])
                self.log(f"Mira opens {issue.key} and labels it `ai`: {title}")

    def _redirect(self) -> None:
        if self._is(PRICES, Phase.WORKING) and self._has_edited(PRICES) and not self._has_comment(PRICES):
            self.server.issues(PROJECT).comment(self._number(PRICES), REDIRECT_PRICES, by="Mira")
            self.log(f"Mira comments on {self.key(PRICES)} while its agent works: {REDIRECT_PRICES}")

    def _merge(self) -> None:
        """Waits for the pull request whose branch then conflicts."""
        if self._is(TOTAL, Phase.REVIEW) and self._is(DISCOUNT, Phase.REVIEW) and self._is_open(TOTAL):
            merged = self.server.merger(PROJECT).merge(self._number(TOTAL), by="Mira")
            self.log(f"Mira merges the pull request of {self.key(TOTAL)}: {merged.base} is now at {merged.commit[:10]}")
            self.log(f"The branch of {self.key(DISCOUNT)} conflicts with this merge: both change `total()`")

    def _comment_on_pull(self) -> None:
        """Waits until the conflict is resolved, so that this has a turn of its own."""
        if self._is(TOTAL, Phase.DONE) and self._is(DISCOUNT, Phase.REVIEW) and not self._pull_comments(DISCOUNT):
            if not self._can_be_merged(DISCOUNT):
                return
            self.log(f"The conflict of {self.key(DISCOUNT)} is resolved: its agent has combined both changes")
            self.server.pull_requests(PROJECT).comment(self._number(DISCOUNT), REDIRECT_DISCOUNT, by="Jonas")
            self.log(f"Jonas comments on the pull request of {self.key(DISCOUNT)}: {REDIRECT_DISCOUNT}")

    def _stop(self) -> None:
        if self._is(GERMAN, Phase.WORKING) and self._has_edited(GERMAN) and not self._has_comment(GERMAN):
            self.server.issues(PROJECT).comment(self._number(GERMAN), "/ai stop", by="Jonas")
            self.log(f"Jonas has changed his mind about {self.key(GERMAN)} and comments: /ai stop")

    def _number(self, title: str) -> int:
        return self.server.parse_key(self.key(title))[1]

    def _is(self, title: str, phase: Phase) -> bool:
        run = self.run(title)
        return run is not None and run.phase is phase

    def _has_applied_comment(self, title: str) -> bool:
        run = self.run(title)
        return (
            self._is(title, Phase.REVIEW)
            and run is not None
            and any(row.outcome is CommentOutcome.APPLIED for row in run.comments)
        )

    def _has_edited(self, title: str) -> bool:
        run = self.run(title)
        lines = self.app.transcripts.read(run.id) if run else ()
        return any(line["kind"] == EventKind.TOOL and line.get("tool") == "Write" for line in lines)

    def _has_comment(self, title: str) -> bool:
        return any(not comment.ours for comment in self.server.issues(PROJECT).show(self._number(title)).comments)

    def _pull(self, title: str) -> PullRequest:
        return self.server.pull_requests(PROJECT).show(self._number(title)).pull

    def _is_open(self, title: str) -> bool:
        return self._pull(title).state is PullRequestState.OPEN

    def _can_be_merged(self, title: str) -> bool:
        pull = self._pull(title)
        return self.server.repository(PROJECT).can_merge(pull.base, pull.head)

    def _pull_comments(self, title: str) -> Sequence[object]:
        return [
            comment
            for comment in self.server.pull_requests(PROJECT).show(self._number(title)).comments
            if not comment.ours
        ]
