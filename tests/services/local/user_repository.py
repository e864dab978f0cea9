"""A user's repository, and git commands that the user runs in it."""

import hashlib
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

BRANCH = "treehand/shop-1"

_WHO = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in {"NAME": "Ana", "EMAIL": "ana@example.com", "DATE": "@1000000000 +0000"}.items()
}


def run_git(folder: Path, *args: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", **_WHO}
    done = subprocess.run(
        ["git", "-C", str(folder), *args], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, f"git {' '.join(args)}: {done.stderr}"
    return done.stdout.rstrip("\n")


def commit(folder: Path, files: dict[str, str], message: str = "work") -> str:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    run_git(folder, "add", "-A")
    run_git(folder, "commit", "-qm", message)
    return run_git(folder, "rev-parse", "HEAD")


def make_repository(folder: Path, *, branch: str = "main") -> Path:
    folder.mkdir(parents=True)
    run_git(folder, "init", "-q", "-b", branch)
    commit(folder, {"README.md": "# Shop\n", "app.py": "one\ntwo\nthree\n"}, "begin")
    return folder


def offer(
    bare: Path,
    branch: str,
    files: dict[str, str],
    *,
    scratch: Path,
    base: str = "main",
    message: str = "treehand's work",
) -> str:
    """Commits on the bot's branch in the local forge's repository."""
    if not scratch.exists():
        run_git(bare, "worktree", "add", "-q", "--detach", str(scratch), branch if _has(bare, branch) else base)
    tip = commit(scratch, files, message)
    run_git(bare, "worktree", "remove", "--force", str(scratch))
    run_git(bare, "update-ref", f"refs/heads/{branch}", tip)
    return tip


def picture(folder: Path, *, leave_out: Iterable[str] = (".git",)) -> dict[str, str]:
    """Returns content, mode and time of every file."""
    return {
        str(path.relative_to(folder)): f"{path.stat().st_mode} {path.stat().st_mtime_ns} "
        + hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in leave_out
    }


def _has(bare: Path, branch: str) -> bool:
    return bool(run_git(bare, "for-each-ref", f"refs/heads/{branch}"))
