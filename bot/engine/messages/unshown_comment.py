"""Texts about labels, comments, states and links that a service refused. Pure."""

from bot.domain.run import Run, Unshown
from bot.text.invisible_characters import on_one_line
from bot.text.quote_untrusted import neutralize_line

LABELS, STATE, LINK, PROGRESS, BRANCH = (
    "the labels",
    "the state of the issue",
    "the link to the pull request",
    "the progress comment",
    "the removal of the branch",
)
REPORTED_AFTER = 2
"""Refusals in a row before people are told: one may have been a lapse."""
_LONGEST = 200


def refused_on_issue(why: str, run: Run) -> str:
    """Posted on the pull request, where there is one."""
    state = f"The run is `{run.phase}`" + (f": {neutralize_line(run.reason)}" if run.reason else "")
    later = "The run continues; Treehand tries again later."
    return f"Treehand cannot comment on the issue: {_briefly(why)}\n\n{state}. {later}"


def is_reported(one: Unshown) -> bool:
    """Returns True if the progress comment names it."""
    return one.effect in {LABELS, STATE, LINK} and one.times >= REPORTED_AFTER


def not_shown(one: Unshown) -> str:
    return f"_Treehand could not set {one.effect}: {_briefly(one.why)} The run continues; Treehand tries again later._"


def _briefly(why: str) -> str:
    flat = on_one_line(why)
    short = neutralize_line(flat if len(flat) <= _LONGEST else f"{flat[:_LONGEST]} …")
    return short if short.endswith((".", "!", "?", "…")) else f"{short}."
