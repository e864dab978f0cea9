"""Offers a branch to the remote. Rule: what others have pushed there is never overwritten, not even by a race."""

from bot.errors import NeedsHuman, Retryable
from bot.ports import Remote
from bot.workspace.git import GitFailed, git
from bot.workspace.mirror import Mirror, cannot_reach
from bot.workspace.places import ORIGIN, PUSHED

_PUSH_SECONDS = 900


def push(mirror: Mirror, branch: str, remote: Remote) -> None:
    ours = mirror.refs(f"refs/heads/{branch}").get(f"refs/heads/{branch}", "")
    if not ours:
        raise NeedsHuman(f"There is nothing to push: {branch} does not exist here.")
    theirs = mirror.remote_tip(remote, branch)
    if theirs and theirs != ours and not mirror.is_ancestor(theirs, ours):
        mirror.fetch_branch(remote, branch)
        if mirror.is_ancestor(ours, theirs):
            return
        raise NeedsHuman(
            f"Somebody else has pushed to `{branch}` ({theirs[:10]}), and my commit {ours[:10]} does not build on it. "
            f"I leave both as they are. Take their commits off the branch, or take it over from here."
        )
    if theirs != ours:
        _send(mirror, branch, remote, ours, theirs)
    _remember(mirror, branch, ours)


def _send(mirror: Mirror, branch: str, remote: Remote, ours: str, theirs: str) -> None:
    ref = f"refs/heads/{branch}"
    try:
        git(
            mirror.path, "push", "--quiet", "--no-verify", f"--force-with-lease={ref}:{theirs}", remote.url,
            f"{ours}:{ref}", env=remote.env, timeout=_PUSH_SECONDS,
        )  # fmt: skip
    except GitFailed as exc:
        if "[remote rejected]" in exc.stderr:
            raise NeedsHuman(f"The push of `{branch}` was refused: {_said(exc)}") from exc
        if "[rejected]" in exc.stderr:
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
