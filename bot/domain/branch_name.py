"""Branch name of a run."""

import re

from bot.domain.run import Run

PREFIX = "treehand/"


def branch_for(run: Run) -> str:
    """Readable, valid for git whatever the issue is called, and never shared by two runs of an issue."""
    slug = re.sub(r"[^a-z0-9]+", "-", run.key.lower()).strip("-")
    return f"{PREFIX}{slug}" if run.ordinal == 1 else f"{PREFIX}{slug}-{run.ordinal}"
