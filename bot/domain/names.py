"""Names derived from a run: branch, turn id, agent's home, labels."""

import re
from collections.abc import Mapping
from pathlib import Path

from bot.domain.run import Phase, Run
from bot.domain.turn import TurnOrder

PREFIX = "treehand/"


def branch_for(run: Run) -> str:
    """Readable, valid for git whatever the issue is called, and never shared by two runs of an issue."""
    slug = re.sub(r"[^a-z0-9]+", "-", run.key.lower()).strip("-")
    return f"{PREFIX}{slug}" if run.ordinal == 1 else f"{PREFIX}{slug}-{run.ordinal}"


def home_for(homes: Path, project: str, branch: str) -> Path:
    """Returns the folder for the configuration and history of a run's agent."""
    return homes / project / branch.replace("/", "-")


def turn_id_for(run: Run, number: int) -> str:
    return f"{run.id}/turn-{number}"


def phase_label(label: str, phase: Phase) -> str:
    return f"{label}:{phase}"


def phase_labels(label: str) -> frozenset[str]:
    """Every label of ours that shows a phase; a finished run shows none."""
    return frozenset(phase_label(label, phase) for phase in Phase if phase is not Phase.DONE)


def log_fields(run: Run) -> Mapping[str, str]:
    """Fields for `logging_about`."""
    turn = str(run.turns.number) if run.turns.number else ""
    return {"project": run.project, "issue": run.key, "run": run.id, "turn": turn}


def turn_log_fields(request: TurnOrder) -> Mapping[str, str]:
    key, number = request.run_id.rpartition("/")[0], request.turn_id.rpartition("-")[2]
    return {"project": request.project, "issue": key, "run": request.run_id, "turn": number}
