"""What the code that runs right now is about: a run and its issue, project and turn. Every line of the log says so.

Rule: it is set around the work, and goes wherever the work goes: into tasks and threads that are started from it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

from bot.domain.run import Run
from bot.domain.turn import TurnRequest

_NOTHING: Mapping[str, str] = MappingProxyType({})
_subject: ContextVar[Mapping[str, str]] = ContextVar("subject", default=_NOTHING)


def subject() -> Mapping[str, str]:
    """By name, in the order people want to read it: project, issue, run, turn."""
    return _subject.get()


@contextmanager
def about(what: Run | TurnRequest) -> Iterator[None]:
    token = _subject.set(_of_run(what) if isinstance(what, Run) else _of_turn(what))
    try:
        yield
    finally:
        _subject.reset(token)


def _of_run(run: Run) -> Mapping[str, str]:
    turn = {"turn": str(run.turn)} if run.turn else {}
    return {"project": run.project, "issue": run.key, "run": run.id, **turn}


def _of_turn(request: TurnRequest) -> Mapping[str, str]:
    key, number = request.run_id.rpartition("/")[0], request.turn_id.rpartition("-")[2]
    return {"project": request.project, "issue": key, "run": request.run_id, "turn": number}
