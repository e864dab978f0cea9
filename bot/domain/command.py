"""Parses the command in the first line of a comment, such as `/ai stop`."""

import re
from dataclasses import dataclass
from enum import StrEnum


class CommandName(StrEnum):
    """Listed in this order by `help`."""

    STATUS = "status"
    WHY = "why"
    PLAN = "plan"
    APPROVE = "approve"
    STOP = "stop"
    PAUSE = "pause"
    RESUME = "resume"
    RETRY = "retry"
    BUDGET = "budget"
    MODEL = "model"
    REBASE = "rebase"
    TAKE = "take"
    GIVE = "give"
    HELP = "help"


MEANINGS = {
    CommandName.STATUS: "show the state of the run",
    CommandName.WHY: "explain what the run is doing or waiting for",
    CommandName.PLAN: "let the agent propose a plan before it makes more changes",
    CommandName.APPROVE: "approve what Treehand asked about, such as a plan; each question gives its own command",
    CommandName.STOP: "end the run; unpublished work is salvaged",
    CommandName.PAUSE: "interrupt the agent and wait",
    CommandName.RESUME: "continue after a pause or a question",
    CommandName.RETRY: "try again after a failure",
    CommandName.BUDGET: "set the budget of this issue: `budget 10` (dollars), `50M tokens`, `150 turns` or `30 hours`",
    CommandName.MODEL: "choose the model from the next turn on: `model NAME`; without a name, show the current one",
    CommandName.REBASE: "merge the newest base into the branch; no commit is rewritten",
    CommandName.TAKE: "take over the worktree and work in it yourself; the reply names its path",
    CommandName.GIVE: "give the worktree back; your changes are kept, and the agent continues from there",
    CommandName.HELP: "this list",
}

_QUESTION = re.compile(r"q-[0-9a-f]{6}")


@dataclass(frozen=True, slots=True)
class CommentCommand:
    name: CommandName | None
    """Empty for an unknown command."""
    typed: str
    argument: str = ""
    rest: str = ""
    """Text of the comment after its first line."""

    @property
    def question(self) -> str:
        """Id of the question that it approves; empty if it names none."""
        first = self.argument.partition(" ")[0].lower()
        return first if self.name is CommandName.APPROVE and _QUESTION.fullmatch(first) else ""

    @property
    def text(self) -> str:
        """Argument and further text of the comment."""
        words = self.argument.partition(" ")[2] if self.question else self.argument
        return f"{words}\n{self.rest}".strip()


def parse_command(text: str, prefix: str) -> CommentCommand | None:
    """Returns the command in the first line, such as `/ai stop`; None if there is none."""
    line, _, below = text.strip().partition("\n")
    first = line.split()
    if not first or first[0].lower() != f"/{prefix}".lower():
        return None
    word = first[1].lower() if len(first) > 1 else CommandName.HELP.value
    name = CommandName(word) if word in set(CommandName) else None
    return CommentCommand(name, word, " ".join(first[2:]), below.strip())
