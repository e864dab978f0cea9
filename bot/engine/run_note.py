"""Writes a run into its progress comment, and reads it back, for a daemon whose database is lost. Pure."""

import json
from dataclasses import replace

from bot.domain.run import Run, RunStatus
from bot.domain.serialize import as_record, from_record

_SHOWN = RunStatus(digest="noted")
"""A note is in the run's progress comment: so there is one, which may be out of date."""
_LONGEST = 30_000
"""Characters: a comment has room for 65,000, and people come first."""


def note_for(run: Run) -> str:
    """Leaves out the status, which the comment itself shows, and the agent's summary and output, which are long."""
    noted = _noted(run)
    text = json.dumps(as_record(noted), separators=(",", ":"))
    return text if len(text) <= _LONGEST else _shortened(noted)


def _noted(run: Run) -> Run:
    hold, checks = replace(run.hold, agent_summary=""), replace(run.checks, verification=None)
    return replace(run, status=RunStatus(), hold=hold, checks=checks, unshown=())


def parse_note(text: str, *, key: str, project: str) -> Run | None:
    """Returns None if it cannot be read, or was not written about this issue."""
    try:
        run = from_record(Run, json.loads(text))
    except ValueError:
        return None
    return replace(run, project=project, status=_SHOWN) if run.key == key else None


def _shortened(run: Run) -> str:
    """Keeps only the newest comment records: older ones were answered long ago."""
    while run.comments and len(text := json.dumps(as_record(run), separators=(",", ":"))) > _LONGEST:
        run = replace(
            run, comments=tuple(replace(row, reason="") for row in run.comments[len(run.comments) // 4 + 1 :])
        )
    return text if len(text) <= _LONGEST else ""
