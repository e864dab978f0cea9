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
    CommandName.STATUS: "how things stand",
    CommandName.WHY: "why nothing is happening, or what is",
    CommandName.PLAN: "let the agent propose a plan before it changes anything more",
    CommandName.APPROVE: "approve what I asked about, such as a plan, or held work: by name, as the question says",
    CommandName.STOP: "end this; what is not published is kept safe",
    CommandName.PAUSE: "interrupt the agent and wait",
    CommandName.RESUME: "go on after a pause or a question",
    CommandName.RETRY: "try again after a failure",
    CommandName.BUDGET: "allow this issue so much in all: `budget 10` dollars, `50M tokens`, `150 turns` or `30 hours`",
    CommandName.MODEL: "choose the model from the next turn on: `model NAME`; without a name, say which it is",
    CommandName.REBASE: "take the newest base in, as a merge: nobody's commits are rewritten",
    CommandName.TAKE: "take the worktree over and work in it by hand; says where it is",
    CommandName.GIVE: "hand it back: what you changed is kept, and the agent goes on from there",
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
        """All that was said with it."""
        words = self.argument.partition(" ")[2] if self.question else self.argument
        return f"{words}\n{self.rest}".strip()


def parse_command(text: str, prefix: str) -> CommentCommand | None:
    """The command in the first line, if it is one: `/ai`, then a word."""
    line, _, below = text.strip().partition("\n")
    first = line.split()
    if not first or first[0].lower() != f"/{prefix}".lower():
        return None
    word = first[1].lower() if len(first) > 1 else CommandName.HELP.value
    name = CommandName(word) if word in set(CommandName) else None
    return CommentCommand(name, word, " ".join(first[2:]), below.strip())
