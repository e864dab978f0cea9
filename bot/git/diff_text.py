"""The diff between two commits as git prints it, for people to read."""

from pathlib import Path

from bot.git.command import git_bytes

MAX_DIFF_BYTES = 1024 * 1024
_SECONDS = 120
_PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv")
_STAT = ("--stat=100", "--summary")


def diff_text(git_dir: Path, base: str, head: str, *, stat: bool = False) -> str:
    """Compares the head with the merge base; cut at MAX_DIFF_BYTES. `stat`: only the files, with counts of lines."""
    shown = git_bytes(git_dir, "diff", *_PLAIN, *(_STAT if stat else ()), f"{base}...{head}", timeout=_SECONDS)
    cut = f"\n[cut: {len(shown) // 1024} KiB in all]\n" if len(shown) > MAX_DIFF_BYTES else ""
    return shown[:MAX_DIFF_BYTES].decode(errors="replace") + cut
