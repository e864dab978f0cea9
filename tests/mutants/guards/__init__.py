"""The guards against threats T1 to T24, and those of the doors and the dashboard: one file for each kind."""

from tests.mutants.guards import (
    brakes,
    cell,
    claiming,
    dashboard,
    doors,
    gate,
    judging,
    keeping,
    linear,
    program,
    readying,
    recalling,
    remembering,
    repeating,
    secrets,
    telling,
    trust,
    twice,
    verifying,
    watching,
    words,
    work,
)
from tests.mutants.guards.guard import Guard, NotApplicable, switched_off

GUARDS: tuple[Guard, ...] = tuple(
    guard
    for room in (
        trust,
        words,
        repeating,
        secrets,
        gate,
        judging,
        work,
        doors,
        program,
        readying,
        verifying,
        cell,
        watching,
        claiming,
        dashboard,
        recalling,
        remembering,
        twice,
        brakes,
        keeping,
        linear,
        telling,
    )
    for guard in room.GUARDS
)

__all__ = ["GUARDS", "Guard", "NotApplicable", "switched_off"]
