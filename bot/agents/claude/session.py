"""Session of a turn: resumes the run's session, or begins one under an id that follows from the run or the turn."""

from dataclasses import dataclass
from uuid import NAMESPACE_URL, uuid5

from bot.domain.turn import AgentTask


@dataclass(frozen=True, slots=True)
class Session:
    id: str
    resume: bool
    """The program has its history; else it begins with this id."""
    prompt: str
    fresh: bool = False
    """Started because the session to resume was lost."""


def session_for(task: AgentTask) -> Session:
    """The session to continue. The id of the first follows from the run, so that it is found after a crash too."""
    session = task.session or str(uuid5(NAMESPACE_URL, task.turn_id.rpartition("/")[0] or task.turn_id))
    resume = bool(task.session) or _has_history(task, session)
    return Session(session, resume, task.prompt if resume else task.briefing)


def fresh_session_for(task: AgentTask) -> Session:
    session = str(uuid5(NAMESPACE_URL, f"{task.turn_id}/fresh"))
    return Session(session, _has_history(task, session), task.briefing, fresh=True)


def _has_history(task: AgentTask, session: str) -> bool:
    return any(task.home.glob(f"projects/*/{session}.jsonl"))
