"""Names derived from a run, so that every action can find its own past work."""

import re
from pathlib import Path

from bot.domain.run import Phase, Run

PREFIX = "treehand/"


def branch_for(run: Run) -> str:
    """Readable, valid for git whatever the issue is called, and never shared by two runs of an issue."""
    slug = re.sub(r"[^a-z0-9]+", "-", run.key.lower()).strip("-")
    return f"{PREFIX}{slug}" if run.ordinal == 1 else f"{PREFIX}{slug}-{run.ordinal}"


def home_for(homes: Path, project: str, branch: str) -> Path:
    """Where a run's agent keeps its configuration and history."""
    return homes / project / branch.replace("/", "-")


def turn_id_for(run: Run, number: int) -> str:
    return f"{run.id}/turn-{number}"


def phase_label(label: str, phase: Phase) -> str:
    return f"{label}:{phase}"


def phase_labels(label: str) -> frozenset[str]:
    """Every label of ours that shows a phase; a finished run shows none."""
    return frozenset(phase_label(label, phase) for phase in Phase if phase is not Phase.DONE)
