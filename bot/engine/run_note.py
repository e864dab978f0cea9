"""A run as it is noted in its progress comment: enough for a life of ours that knows nothing else. Pure."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bot.domain.run import Run
from bot.domain.serialize import as_record, from_record

_LONGEST = 30_000
"""Characters: a comment has room for 65,000, and people come first."""
_UNTOLD: Mapping[str, Any] = {"shown": "", "shown_at": 0.0, "words": "", "verification": None}


def note_for(run: Run) -> str:
    """Without how it was last shown, which the comment shows, and without words and output, which are long."""
    record = {name: value for name, value in as_record(run).items() if name not in _UNTOLD}
    text = json.dumps(record, separators=(",", ":"))
    return text if len(text) <= _LONGEST else _shortened(replace(run, **_UNTOLD))


def parse_note(text: str, *, key: str, project: str) -> Run | None:
    """None: it cannot be read, or was not written about this issue."""
    try:
        run = from_record(Run, json.loads(text))
    except ValueError:
        return None
    return replace(run, project=project) if run.key == key else None


def _shortened(run: Run) -> str:
    """Of what was said, only the newest is noted: what is older was answered long ago."""
    while run.heard and len(text := json.dumps(as_record(run), separators=(",", ":"))) > _LONGEST:
        run = replace(run, heard=tuple(replace(row, reason="") for row in run.heard[len(run.heard) // 4 + 1 :]))
    return text if len(text) <= _LONGEST else ""
