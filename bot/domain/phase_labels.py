"""Labels that show the phase of a run on its issue, such as `ai:working`."""

from bot.domain.run import Phase


def phase_label(label: str, phase: Phase) -> str:
    return f"{label}:{phase}"


def phase_labels(label: str) -> frozenset[str]:
    """Every label of ours that shows a phase; a finished run shows none."""
    return frozenset(phase_label(label, phase) for phase in Phase if phase is not Phase.DONE)
