"""Pushes a branch to the remote.

Rule: commits that others pushed are never overwritten, not even in a race; what they removed is not published again.
"""

import re

from bot.domain.remote import Remote
from bot.errors import NeedsHuman, NeedsTurn, Retryable
from bot.git.command import GitFailed, RepositoryDamaged, git
from bot.text.invisible_characters import printable_path
from bot.workspace.ci_hold import held_commit, hold_ci
from bot.workspace.dropped import is_rewritten
from bot.workspace.lfs_remote import upload_objects
from bot.workspace.merge import merge_incoming
from bot.workspace.mirror import Mirror, remote_error, url_without_credential
from bot.workspace.paths import BASES, ORIGIN, PUSHED
from bot.workspace.pending_merge import PendingMerge
from bot.workspace.salvage import keep_commit
from bot.workspace.worktree import Worktree

_PUSH_SECONDS = 900
_MAX_LISTED = 5
CONCURRENT_PUSH = re.compile(r"is at [0-9a-f]+ but expected|reference already exists|Unable to create '[^']*\.lock'")
"""The remote handled another push at the same moment, for instance of our previous process."""
_INCIDENTS = ("(Internal Server Error)", "(failure)")
"""Answers of GitHub during an incident."""
_NO_PERMISSION = re.compile(r"returned error: 403")


def push_branch(worktree: Worktree, remote: Remote, *, holds_ci: bool = False) -> None:
    """Merges what others pushed first. Raises NeedsTurn if the agent has to resolve conflicts."""
    mirror, branch = worktree.mirror, worktree.paths.branch
    known = mirror.refs(worktree.ref, f"{PUSHED}{branch}")
    ours, published = known.get(worktree.ref, ""), known.get(f"{PUSHED}{branch}", "")
    if not ours:
        raise NeedsTurn(f"The mirror was lost, with the last commits on `{branch}`.")
    remote_tip = mirror.remote_tip(remote, branch)
    if published and not remote_tip:
        raise NeedsHuman(_deleted(branch))
    if remote_tip and remote_tip != ours and published == ours:
        return  # no new commit of Treehand; people may rewrite pushed commits
    known[f"{ORIGIN}{branch}"] = remote_tip
    if remote_tip and (not mirror.is_ancestor(remote_tip, ours) or is_rewritten(mirror, branch, known)):
        mirror.fetch_branch(remote, branch)
        ours, remote_tip = _merge_incoming(worktree)
        if mirror.is_ancestor(ours, remote_tip):
            return
    if remote_tip != ours:
        ours = hold_ci(worktree, ours) if holds_ci else ours
        _push_with_lease(mirror, branch, remote, ours, remote_tip)
    _record_pushed(mirror, branch, ours)


def fit_rewritten(worktree: Worktree, remote: Remote) -> None:
    """Replants our unpublished commits if the remote's branch was rewritten and they fit."""
    mirror, branch = worktree.mirror, worktree.paths.branch
    refs = mirror.refs(worktree.ref, f"{PUSHED}{branch}")
    remote_tip = mirror.remote_tip(remote, branch)
    if not is_rewritten(mirror, branch, {**refs, f"{ORIGIN}{branch}": remote_tip}):
        return
    mirror.fetch_branch(remote, branch)
    refs = _refs(worktree)
    if is_rewritten(mirror, branch, refs):  # before the fetch, unknown commits of people look the same
        merge_incoming(worktree, refs, onto=worktree.base_branch)


def _refs(worktree: Worktree) -> dict[str, str]:
    branch = worktree.paths.branch
    return worktree.mirror.refs(ORIGIN, worktree.ref, f"{BASES}{branch}", f"{PUSHED}{branch}")


def _merge_incoming(worktree: Worktree) -> tuple[str, str]:
    """Returns our tip with theirs merged, and their tip."""
    branch = worktree.paths.branch
    result = merge_incoming(worktree, _refs(worktree), onto=worktree.base_branch)
    if result.objections:
        named = ", ".join(f"{one.rule}: {one.path}" for one in result.objections[:_MAX_LISTED])
        raise NeedsHuman(f"Uncommitted work of `{branch}` may not be published ({named}). Nothing was pushed.")
    if result.pending and result.pending.onto:
        kept = keep_commit(worktree.mirror, worktree.paths.salvage_prefix, result.pending.ours)
        raise NeedsHuman(_conflicts_with_rewritten(result.pending, kept))
    if result.pending:
        raise NeedsTurn(
            f"Somebody else has pushed to `{branch}` ({result.pending.theirs[:10]}), and the commit "
            f"{result.pending.ours[:10]} conflicts with that. Both are kept, and merged next."
        )
    return result.refs[worktree.ref], result.refs[f"{ORIGIN}{branch}"]


def _conflicts_with_rewritten(pending: PendingMerge, kept: str) -> str:
    files = ", ".join(f"`{printable_path(path.encode(errors='surrogateescape'))}`" for path in pending.paths)
    return (
        f"Somebody has rewritten `{pending.branch}` during the turn, and removed commits from it. The change of this "
        f"turn, {pending.ours[:10]}, does not fit on what is there now ({pending.theirs[:10]}): both change {files}. "
        f"Nothing was pushed, so the removed commits stay removed; the change is kept as `{kept}`. After your reply, "
        "the agent makes it fit."
    )


def _deleted(branch: str) -> str:
    return (
        f"The branch `{branch}` was deleted in the repository, so nothing was pushed to it. The work is kept on the "
        "daemon's machine. After your reply, Treehand publishes the branch again, with all its commits; to leave it "
        "deleted, close the issue."
    )


def push_ref_as(mirror: Mirror, ref: str, branch: str, remote: Remote, *, holds_ci: bool = False) -> str:
    """Pushes a ref as a branch of the remote. Returns the branch's name, numbered if the name was used.

    `holds_ci`: no workflow starts at it, because nobody has looked at it.
    """
    commit, name, number = mirror.refs(ref)[ref], branch, 1
    commit = held_commit(mirror, commit) if holds_ci else commit
    while (tip := mirror.remote_tip(remote, name)) not in {"", commit}:
        number += 1
        name = f"{branch}-{number}"
    if not tip:
        _push_with_lease(mirror, name, remote, commit, "")
    return name


def _push_with_lease(mirror: Mirror, branch: str, remote: Remote, ours: str, remote_tip: str) -> None:
    ref = f"refs/heads/{branch}"
    mirror.check_lease()
    upload_objects(mirror, remote, ours)
    try:
        git(
            mirror.path, "push", "--quiet", "--no-verify", f"--force-with-lease={ref}:{remote_tip}", remote.url,
            f"{ours}:{ref}", env=remote.env, timeout=_PUSH_SECONDS,
        )  # fmt: skip
    except RepositoryDamaged:
        raise
    except GitFailed as exc:
        if _is_incident(exc.stderr):
            raise Retryable(
                f"The remote failed during the push of `{branch}`: {refusal_text(exc)} If that lasts, look at the "
                "status of the service, and at the rules and hooks for this branch."
            ) from exc
        if "[remote rejected]" in exc.stderr and not CONCURRENT_PUSH.search(exc.stderr):
            raise NeedsHuman(f"The push of `{branch}` was refused: {refusal_text(exc)}") from exc
        if "rejected]" in exc.stderr:
            raise Retryable(
                f"The remote says that `{branch}` changed during the push: {refusal_text(exc)} If that lasts, push "
                "to the branch by hand to see why, or delete a stale `.lock` file of git there."
            ) from exc
        if _NO_PERMISSION.search(exc.stderr):
            text = refusal_text(exc).replace(remote.url, url_without_credential(remote.url))
            raise NeedsHuman(f"The push of `{branch}` was refused: {text}") from exc
        raise remote_error(remote, exc) from exc


def _record_pushed(mirror: Mirror, branch: str, ours: str) -> None:
    known = mirror.refs(f"{PUSHED}{branch}", f"{ORIGIN}{branch}")
    changes = {name: (ours, known.get(name, "")) for name in (f"{PUSHED}{branch}", f"{ORIGIN}{branch}")}
    mirror.update_refs({name: change for name, change in changes.items() if change[0] != change[1]})


def _is_incident(stderr: str) -> bool:
    rejected = [line.rstrip() for line in stderr.splitlines() if "[remote rejected]" in line]
    return "fatal error in commit_refs" in stderr or any(line.endswith(_INCIDENTS) for line in rejected)


def refusal_text(exc: GitFailed) -> str:
    """The remote's messages and git's reason. GitHub's own causes begin with `error:` as well."""
    ours = (line for line in exc.stderr.splitlines() if not line.startswith(("error: failed to push", "To ")))
    lines = [line.removeprefix("remote:").strip() for line in ours]
    return " ".join(line for line in lines if line)[:500]
