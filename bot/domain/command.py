"""What a person may order in the first line of a comment: `/ai stop`. Answered without a model."""

from dataclasses import dataclass
from enum import StrEnum


class CommandName(StrEnum):
    """In the order `help` lists them."""

    STATUS = "status"
    WHY = "why"
    STOP = "stop"
    PAUSE = "pause"
    RESUME = "resume"
    RETRY = "retry"
    BUDGET = "budget"
    HELP = "help"


MEANINGS = {
    CommandName.STATUS: "how things stand",
    CommandName.WHY: "why nothing is happening, or what is",
    CommandName.STOP: "end this; what is not published is kept safe",
    CommandName.PAUSE: "interrupt the agent and wait",
    CommandName.RESUME: "go on after a pause or a question",
    CommandName.RETRY: "try again after a failure",
    CommandName.BUDGET: "allow this issue that many dollars in all: `budget 10`",
    CommandName.HELP: "this list",
}


@dataclass(frozen=True, slots=True)
class Command:
    name: CommandName | None
    """None: somebody meant a command, but there is no such one."""
    word: str
    argument: str = ""


def parse_command(text: str, prefix: str) -> Command | None:
    """The command in the first line, if it is one: `/ai`, then a word."""
    first = text.strip().partition("\n")[0].split()
    if not first or first[0].lower() != f"/{prefix}".lower():
        return None
    word = first[1].lower() if len(first) > 1 else CommandName.HELP.value
    name = CommandName(word) if word in set(CommandName) else None
    return Command(name, word, " ".join(first[2:]))
