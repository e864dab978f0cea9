"""A remote that people push to, and workspaces that fetch from it, with real git."""

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from bot.domain.change import Change
from bot.domain.remote import Remote
from bot.workspace.workspaces import GitWorkspaces

PERSON = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_AUTHOR_DATE": "@1700000000 +0000",
    "GIT_COMMITTER_DATE": "@1700000000 +0000",
    "LC_ALL": "C.UTF-8",
}


def run_git(folder: Path, *args: str, stdin: str = "") -> str:
    """Runs git in a folder, like a person."""
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **PERSON}
    done = subprocess.run(
        ["git", *args], cwd=folder, env=env, input=stdin.encode(), capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 0, (args, done.stderr.decode(errors="replace"))
    return done.stdout.decode(errors="surrogateescape").strip()


async def capture_as_it_is(workspaces: GitWorkspaces, branch: str, *, message: str, at: float) -> Change:
    """Approves every objection."""
    change = await workspaces.capture(branch, message=message, at=at)
    allowed = [one.id for one in change.objections]
    return await workspaces.capture(branch, message=message, at=at, allowed=allowed) if allowed else change


@dataclass
class Origin:
    """The remote, and a person's clone of it."""

    bare: Path
    clone: Path

    @property
    def remote(self) -> Remote:
        return Remote(str(self.bare))

    def commit(self, files: dict[str, str | bytes], *, branch: str = "main") -> str:
        run_git(self.clone, "checkout", "-q", "-B", branch, *self._start(branch))
        for name, content in files.items():
            path = self.clone / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        run_git(self.clone, "add", "-A", "-f")
        return self.push(branch)

    def push(self, branch: str = "main") -> str:
        run_git(self.clone, "commit", "-q", "--allow-empty", "-m", "by Ada")
        run_git(self.clone, "push", "-q", "origin", f"HEAD:refs/heads/{branch}")
        return run_git(self.clone, "rev-parse", "HEAD")

    def tip(self, branch: str) -> str:
        listing = run_git(self.bare, "for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")
        return listing.strip()

    def _start(self, branch: str) -> list[str]:
        run_git(self.clone, "fetch", "-q", "origin")
        known = run_git(self.clone, "for-each-ref", "--format=%(refname)", "refs/remotes/origin").split()
        start = branch if f"refs/remotes/origin/{branch}" in known else "main"
        return [f"origin/{start}"] if f"refs/remotes/origin/{start}" in known else []


def make_empty(folder: Path) -> Origin:
    bare, clone = folder / "origin.git", folder / "ada"
    run_git(folder, "init", "-q", "--bare", "-b", "main", str(bare))
    run_git(folder, "clone", "-q", str(bare), str(clone))
    return Origin(bare, clone)


def copied(template: Origin, folder: Path) -> Origin:
    """Copies a remote and its clone, which names the remote by its path in one line of its settings."""
    made = Origin(folder / template.bare.name, folder / template.clone.name)
    shutil.copytree(template.bare, made.bare, symlinks=True)
    shutil.copytree(template.clone, made.clone, symlinks=True)
    settings = made.clone / ".git" / "config"
    settings.write_text(settings.read_text().replace(str(template.bare), str(made.bare)))
    return made


@cache
def _begun(process: int) -> tuple[Origin, Origin, tempfile.TemporaryDirectory[str]]:
    """A remote without a commit, and one with the first; their folder is removed with the process.

    Git takes a dozen processes to make them, so that each process makes them once and copies them.
    """
    folder = tempfile.TemporaryDirectory(prefix="treehand-template-")
    empty, begun = (make_empty(Path(tempfile.mkdtemp(dir=folder.name))) for _ in range(2))
    begun.commit({"README.md": "hello\n", "src/app.py": "print(1)\n", ".gitignore": "*.log\nbuild/\n"})
    return empty, begun, folder


@pytest.fixture
def empty_origin(tmp_path):
    return copied(_begun(os.getpid())[0], tmp_path)


@pytest.fixture
def origin(tmp_path):
    return copied(_begun(os.getpid())[1], tmp_path)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def workspaces(root):
    return GitWorkspaces(root, "shop")


@pytest.fixture
def mirror(root):
    return root / "mirrors" / "shop.git"
