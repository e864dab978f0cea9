"""Says where salvaged work is kept. Pure text in, text out."""

from bot.domain.salvage import KEPT_DAYS, SalvageLocation


def put_back(key: str, ref: str) -> str:
    return (
        f"While it was to plan only, the agent changed files. I have undone that. {salvaged(key, SalvageLocation(ref))}"
    )


OUT_OF_REACH = "it could not be reached, and I try again every hour"
NOT_TAKEN = "it does not take it"


def salvaged(key: str, kept: SalvageLocation) -> str:
    """Location of salvaged work, how to restore it, and until when."""
    if kept.is_folder:
        return (
            "Work that was published nowhere is too much for a commit. I have set it aside as it is, on the machine I "
            f"run on, in `{kept.ref}`, until somebody deletes it. An agent wrote it: do not run git, an editor or a "
            "build in there."
        )
    where = "on the machine I run on, and in this repository" if kept.shared else "on the machine I run on"
    parts = [
        f"Work that was published nowhere is kept for {KEPT_DAYS} days as `{kept.ref}`, {where}.",
        f"`treehand restore {key}` brings it back as a branch.",
    ]
    if kept.shared:
        branch = f"restored/{kept.ref.split('/')[-2]}"
        parts.append(f"So does `git fetch origin {kept.ref}:refs/heads/{branch} && git switch {branch}`, in any clone.")
    if kept.why:
        parts.append(f"It is not in the repository: {kept.why}.")
    return " ".join(parts)
