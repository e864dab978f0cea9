"""Says where salvaged work is kept. Pure text in, text out."""

from bot.domain.salvage import RETENTION_DAYS, SalvageLocation


def put_back(key: str, ref: str) -> str:
    return (
        "The agent changed files although it was only to plan. Treehand undid the changes. "
        f"{salvaged(key, SalvageLocation(ref))}"
    )


OUT_OF_REACH = "the repository could not be reached; Treehand tries again every hour"
NOT_TAKEN = "the repository rejected the push"


def salvaged(key: str, kept: SalvageLocation) -> str:
    """Location of salvaged work, how to restore it, and until when."""
    if kept.is_folder:
        size = f" ({kept.size})" if kept.size else ""
        return (
            "A commit cannot hold all of the unpublished work: there are too many files, files that are too large, "
            f"repositories in the worktree, or changes in submodules. The worktree was moved to `{kept.ref}`{size} on "
            f"the daemon's machine, without the files that were copied into it, and is kept for {RETENTION_DAYS} days. "
            "An agent wrote it: do not run git, an editor or a build in that folder. "
            f"`treehand restore {key}` restores the part of the work that a commit can hold."
        )
    where = "on the daemon's machine and in this repository" if kept.shared else "on the daemon's machine"
    parts = [
        f"The unpublished work is salvaged and kept for {RETENTION_DAYS} days as `{kept.ref}`, {where}.",
        f"`treehand restore {key}` restores it as a branch.",
    ]
    if kept.shared:
        branch = f"restored/{kept.ref.split('/')[-2]}"
        parts.append(f"So does `git fetch origin {kept.ref}:refs/heads/{branch} && git switch {branch}`, in any clone.")
    if kept.why:
        parts.append(f"It is not in the repository, because {kept.why}.")
    return " ".join(parts)
