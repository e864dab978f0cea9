"""People: label each issue, ask for a change, merge, and expect a complete clean-up."""

import asyncio
import re
from dataclasses import dataclass, field
from enum import StrEnum

from bot.demo.messages_api import MessagesRequest
from bot.demo.scripted_model import SayText, ScriptedReply, UseTool
from tests.chaos.chronicle import Chronicle
from tests.chaos.machine import REPOSITORY
from tests.fakes.github import gits
from tests.fakes.github.model import Issue

BOT = "treehand-bot"
_LABEL = "ai"
_FILE = re.compile(r"Write 42 into (f\d+\.txt)")


def play(request: MessagesRequest) -> ScriptedReply:
    """Writes the requested number, 43 after a comment asks for it, and reports that it is done."""
    told = "".join(request.user_texts)
    file = _FILE.search(told)
    number = "43" if "make it 43" in told else "42"
    write = UseTool("Bash", {"command": f"echo {number} > {file[1] if file else 'lost.txt'}", "description": "Write"})
    return ((write,), (SayText("Done."),))[min(request.answers_since_user_text, 1)]


class Stage(StrEnum):
    LABELLED = "labelled"
    REDIRECTED = "redirected"
    MERGED = "merged"
    TIDIED = "tidied"


@dataclass
class People:
    github: Chronicle
    stages: dict[int, Stage] = field(default_factory=dict)
    answered: set[int] = field(default_factory=set)
    """The labels that asked them something, by the event that put them there."""
    waiting: int = 0
    """Number of issues they will still ask for, as earlier ones get done."""

    def ask(self, count: int, *, at_once: int = 0) -> None:
        """`at_once`: the other issues are opened as these are finished."""
        now = min(count, at_once or count)
        self.waiting += count - now
        for _ in range(now):
            file = f"f{len(self.stages) + 1}.txt"
            issue = self.github.world.open_issue(
                REPOSITORY, f"Make {file}", f"Write 42 into {file}, please.", by="ana", labels=[_LABEL]
            )
            self._on(issue, Stage.LABELLED)

    @property
    def content(self) -> bool:
        return not self.waiting and all(stage is Stage.TIDIED for stage in self.stages.values())

    async def until_content(self, *, or_when: asyncio.Event | None = None) -> None:
        while not self.content and not (or_when and or_when.is_set()):
            await asyncio.sleep(0.1)
            self.look()

    def look(self) -> None:
        """Everybody takes the action that is due now."""
        world = self.github.world
        with world.lock:
            for number, stage in [one for one in self.stages.items() if one[1] is not Stage.TIDIED]:
                issue = world.issue(REPOSITORY, number)
                self._encourage(issue)
                match stage:
                    case Stage.LABELLED:
                        self._redirect(issue)
                    case Stage.REDIRECTED:
                        self._merge(issue)
                    case Stage.MERGED:
                        self._look_back(issue)

    def _encourage(self, issue: Issue) -> None:
        """Tells a bot that asks after too many interruptions to continue."""
        asked = [one for one in issue.events if one.label and one.label.name == f"{_LABEL}:asking"]
        if asked and asked[-1].event == "labeled" and asked[-1].id not in self.answered:
            self.answered.add(asked[-1].id)
            self.github.world.comment(REPOSITORY, issue.number, "go on, please", by="ana")
            self.github.log.note("people", issue=issue.number, stage=self.stages[issue.number], answered=True)

    def _redirect(self, issue: Issue) -> None:
        pull = self._pull_up_for_review(issue)
        if pull:
            self._ask_for_more(issue, pull)
            self._on(issue, Stage.REDIRECTED)

    def _ask_for_more(self, issue: Issue, pull: Issue) -> None:
        """Asks for a change, every other time on the line itself, where the answer must be posted too."""
        world, words = self.github.world, "make it 43, please"
        if issue.number % 2:
            world.comment_on_pull(REPOSITORY, pull.number, words, by="ana")
        else:
            world.remark(REPOSITORY, pull.number, _file_of(issue), 1, words, by="ana")

    def _merge(self, issue: Issue) -> None:
        pull = self._pull_up_for_review(issue)
        if pull and self._content(pull, issue) == "43":
            self.github.world.merge(REPOSITORY, pull.number, "squash", by="ana")
            self._on(issue, Stage.MERGED)

    def _look_back(self, issue: Issue) -> None:
        """Checks that no label and no branch of the bot are left."""
        labels = [label.name for label in issue.labels if label.name.startswith(f"{_LABEL}:")]
        if not labels and self.github.world.tip(REPOSITORY, _branch(issue)) is None:
            self._on(issue, Stage.TIDIED)
            if self.waiting:
                self.waiting -= 1
                self.ask(1)

    def _on(self, issue: Issue, stage: Stage) -> None:
        self.stages[issue.number] = stage
        self.github.log.note("people", issue=issue.number, stage=stage)

    def _pull_up_for_review(self, issue: Issue) -> Issue | None:
        if not any(label.name == f"{_LABEL}:review" for label in issue.labels):
            return None
        issues = self.github.world.repository(REPOSITORY).issues.values()
        mine = (one for one in issues if one.pull and one.pull.head_ref == _branch(issue) and one.state == "open")
        return next(mine, None)

    def _content(self, pull: Issue, issue: Issue) -> str:
        home = self.github.world.repository(REPOSITORY)
        return gits.git(home.path, "show", f"{pull.pull.head}:{_file_of(issue)}").strip()


def _file_of(issue: Issue) -> str:
    return issue.title.removeprefix("Make ")


def _branch(issue: Issue) -> str:
    return f"treehand/acme-shop-{issue.number}"
