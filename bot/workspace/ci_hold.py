"""CI hold: an empty commit at the tip of a branch keeps GitHub's workflows from starting; another one lets them start.

https://docs.github.com/actions/managing-workflow-runs-and-deployments/managing-workflow-runs/skipping-workflow-runs

Rule: refs of the mirror tell these commits, never their messages, which anybody could write.
"""

from bot.git.command import git
from bot.workspace.branch import commit_date
from bot.workspace.mirror import Mirror
from bot.workspace.paths import CI_HELD, CI_STARTED
from bot.workspace.worktree import Worktree

_HOLD = "Wait for approval before CI starts [skip ci]"
_START = "Start CI, which a person has approved"


def hold_ci(worktree: Worktree, tip: str) -> str:
    """Returns the tip to push, at which no workflow starts; a tip that was approved stays."""
    branch = worktree.paths.branch
    refs = worktree.mirror.refs(f"{CI_HELD}{branch}", f"{CI_STARTED}{branch}")
    return tip if tip in refs.values() else _add_empty_commit(worktree, tip, CI_HELD, _HOLD)


def approve_ci(worktree: Worktree) -> None:
    """Lets workflows start at the next push, if the tip still is the commit that holds them."""
    refs = worktree.mirror.refs(worktree.ref, f"{CI_HELD}{worktree.paths.branch}")
    tip = refs.get(worktree.ref, "")
    if tip and tip == refs.get(f"{CI_HELD}{worktree.paths.branch}"):
        _add_empty_commit(worktree, tip, CI_STARTED, _START)


def held_commit(mirror: Mirror, tip: str) -> str:
    """The tip to push to a branch that no run has; people push to it themselves."""
    return _empty_commit(mirror, tip, _HOLD)


def _empty_commit(mirror: Mirror, tip: str, message: str) -> str:
    """A repeat makes the same commit."""
    tree = git(mirror.path, "rev-parse", f"{tip}^{{tree}}")
    return mirror.commit(tree, parents=(tip,), message=message, at=commit_date(mirror, tip))


def _add_empty_commit(worktree: Worktree, tip: str, ref: str, message: str) -> str:
    mirror, name = worktree.mirror, f"{ref}{worktree.paths.branch}"
    made = _empty_commit(mirror, tip, message)
    mirror.update_refs({worktree.ref: (made, tip), name: (made, mirror.refs(name).get(name, ""))})
    return made
