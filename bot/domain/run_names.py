"""Names derived from a run: id of a turn, home of its agent, fields of its log lines."""

from collections.abc import Mapping
from pathlib import Path

from bot.domain.run import Run
from bot.domain.turn import TurnOrder

PROGRESS_SLUG = "progress"
"""Last part of the slug of a run's progress comment."""


def home_for(homes: Path, project: str, branch: str) -> Path:
    """Returns the folder for the configuration and history of a run's agent."""
    return homes / project / branch.replace("/", "-")


def turn_id_for(run: Run, number: int) -> str:
    return f"{run.id}/turn-{number}"


def parse_turn_id(turn_id: str) -> tuple[str, int, int]:
    """Returns the issue's key, the run's ordinal and the turn's number; zeros for what it does not name."""
    run_id, _, turn = turn_id.rpartition("/")
    key, _, ordinal = run_id.rpartition("/")
    return key, _number(ordinal), _number(turn.removeprefix("turn-"))


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def log_fields(run: Run) -> Mapping[str, str]:
    """Fields for `logging_about`."""
    turn = str(run.turns.number) if run.turns.number else ""
    return {"project": run.project, "issue": run.key, "run": run.id, "turn": turn}


def turn_log_fields(request: TurnOrder) -> Mapping[str, str]:
    key, number = request.run_id.rpartition("/")[0], request.turn_id.rpartition("-")[2]
    return {"project": request.project, "issue": key, "run": request.run_id, "turn": number}
