"""Offers a branch to the remote. Rule: what others have pushed there is never overwritten, not even by a race."""

import re

from bot.domain.remote import Remote
from bot.errors import NeedsHuman, NeedsTurn, Retryable
from bot.git.command import GitFailed, RepositoryDamaged, git
from bot.workspace.merge import take_in
from bot.workspace.mirror import Mirror, cannot_reach
from bot.workspace.paths import BASES, ORIGIN, PUSHED
from bot.workspace.worktree import Worktree

_PUSH_SECONDS = 900
_NAMED = 5
BESIDE_US = re.compile(r"is at [0-9a-f]+ but expected|reference already exists|Unable to create '[^']*\.lock'")
"""The remote took another push at the same moment: one that our last life began, for instance."""


def push(worktree: Worktree, remote: Remote) -> None:
    """What others pushed meanwhile is merged with ours, where git can; where it cannot, the agent has to."""
    mirror, branch = worktree.mirror, worktree.place.branch
    known = mirror.refs(worktree.ref, f"{PUSHED}{branch}")
    ours = known.get(worktree.ref, "")
    if not ours:
        raise NeedsTurn(f"My copy of the repository was lost, and what was committed to `{branch}` last went with it.")
    theirs = mirror.remote_tip(remote, branch)
    if theirs and theirs != ours and known.get(f"{PUSHED}{branch}") == ours:
        return  # nothing is new here, and what they made of it is theirs to decide
    if theirs and not mirror.is_ancestor(theirs, ours):
        mirror.fetch_branch(remote, branch)
        ours, theirs = _joined(worktree)
        if mirror.is_ancestor(ours, theirs):
            return
    if theirs != ours:
        _send(mirror, branch, remote, ours, theirs)
    _remember(mirror, branch, ours)


def _joined(worktree: Worktree) -> tuple[str, str]:
    """Ours, with theirs in it, and theirs."""
    branch = worktree.place.branch
    refs = worktree.mirror.refs(ORIGIN, worktree.ref, f"{BASES}{branch}")
    taken = take_in(worktree, refs, onto=worktree.onto)
    if taken.held:
        named = ", ".join(f"{one.rule}: {one.path}" for one in taken.held[:_NAMED])
        raise NeedsHuman(f"What lies in the worktree of `{branch}` may not be published ({named}). I push nothing.")
    if taken.pending:
        raise NeedsTurn(
            f"Somebody else has pushed to `{branch}` ({taken.pending.theirs[:10]}), and my commit "
            f"{taken.pending.ours[:10]} conflicts with that. I keep both, and merge them next."
        )
    return taken.refs[worktree.ref], taken.refs[f"{ORIGIN}{branch}"]


def push_as(mirror: Mirror, ref: str, branch: str, remote: Remote) -> str:
    """What a ref has, as a branch of the remote. Its name: one that was free, or has just that."""
    commit, name, number = mirror.refs(ref)[ref], branch, 1
    while (tip := mirror.remote_tip(remote, name)) not in {"", commit}:
        number += 1
        name = f"{branch}-{number}"
    if not tip:
        _send(mirror, name, remote, commit, "")
    return name


def _send(mirror: Mirror, branch: str, remote: Remote, ours: str, theirs: str) -> None:
    ref = f"refs/heads/{branch}"
    mirror.fence()
    try:
        git(
            mirror.path, "push", "--quiet", "--no-verify", f"--force-with-lease={ref}:{theirs}", remote.url,
            f"{ours}:{ref}", env=remote.env, timeout=_PUSH_SECONDS,
        )  # fmt: skip
    except RepositoryDamaged:
        raise
    except GitFailed as exc:
        if "[remote rejected]" in exc.stderr and not BESIDE_US.search(exc.stderr):
            raise NeedsHuman(f"The push of `{branch}` was refused: {_said(exc)}") from exc
        if "rejected]" in exc.stderr:
            raise Retryable(f"`{branch}` moved while I was pushing to it.") from exc
        raise cannot_reach(remote, exc) from exc


def _remember(mirror: Mirror, branch: str, ours: str) -> None:
    known = mirror.refs(f"{PUSHED}{branch}", f"{ORIGIN}{branch}")
    changes = {name: (ours, known.get(name, "")) for name in (f"{PUSHED}{branch}", f"{ORIGIN}{branch}")}
    mirror.update({name: change for name, change in changes.items() if change[0] != change[1]})


def _said(exc: GitFailed) -> str:
    """The remote's own words, and git's reason."""
    lines = [line.removeprefix("remote:").strip() for line in exc.stderr.splitlines()]
    return " ".join(line for line in lines if line and not line.startswith(("error:", "To ")))[:500]
