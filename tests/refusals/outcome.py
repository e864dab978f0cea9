"""What becomes of an operation that a service answers in an unusual way. Each cell of the tables has one of these."""

from enum import StrEnum

from bot.engine.act import perform
from bot.errors import NeedsHuman, NeedsTurn, RateLimited, Retryable
from bot.ports import Project


class Outcome(StrEnum):
    DONE = "done"
    """The effect is there, once."""
    LATER = "tried later"
    """The step is repeated by itself; nobody is asked."""
    LIMITED = "tried when the limit allows it"
    PARKED = "parked with its cause"
    """Tried later as well, and Health names the cause: a refused credential, an archived repository."""
    NOTED = "noted"
    """What shows a run was refused: the run goes on, and it is tried later."""
    ASKED = "asked"
    """What is the work itself was refused: a person is asked."""
    AGENT = "sent back to the agent"


async def outcome_of(project: Project, action, run, health) -> tuple[Outcome, str]:
    """Carries out one action as the engine does. Returns its outcome and what people may read about it.

    Any other exception is a crash, and leaves as it is. `health` returns the troubles that Health names.
    """
    try:
        refused = await perform(action, run, project, executor=None)
    except RateLimited as problem:
        return Outcome.LIMITED, str(problem)
    except Retryable as problem:
        return (Outcome.PARKED if health() else Outcome.LATER), str(problem)
    except NeedsTurn as problem:
        return Outcome.AGENT, str(problem)
    except NeedsHuman as problem:
        return Outcome.ASKED, str(problem)
    return (Outcome.NOTED, refused.why) if refused else (Outcome.DONE, "")
