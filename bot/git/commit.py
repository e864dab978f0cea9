"""Writes the host's commits: fixed author, fixed date, so that a repeated turn makes the same commit id."""

from collections.abc import Sequence
from pathlib import Path

from bot.domain.remote import CommitAuthor
from bot.git.objects import store_object

TREEHAND = CommitAuthor()


def write_commit(
    repository: Path, tree: str, *, parents: Sequence[str], message: str, at: float, by: CommitAuthor = TREEHAND
) -> str:
    """Returns the commit's id, the same as `git commit-tree` gives. No ref points at it yet."""
    author = f"{by.name} <{by.email}> {int(at)} +0000"
    headers = [
        f"tree {tree}",
        *(f"parent {parent}" for parent in dict.fromkeys(parents)),
        f"author {author}",
        f"committer {author}",
    ]
    text = message.replace("\0", "").strip()
    return store_object(repository, "commit", "\n".join([*headers, "", text, ""]).encode(errors="replace"))
