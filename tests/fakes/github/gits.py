"""Git repositories of the stand-in: bare repositories, commits, and the three ways to merge."""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path

NOTHING = "0" * 40
_HOOK = """#!/bin/sh
# Refuses paths that match the patterns in the file `protected`.
while read -r old new ref; do
    while read -r pattern; do
        case "$ref" in
            refs/heads/$pattern) echo "error: GH006: Protected branch update failed for $ref." >&2; exit 1 ;;
        esac
    done < "$GIT_DIR/protected"
done
"""
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")


def environment(**more: str) -> dict[str, str]:
    """Environment without this machine's git settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    who = {f"GIT_{role}_{what}": text for role in ("AUTHOR", "COMMITTER") for what, text in _NOBODY.items()}
    return {**kept, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", **more}


_NOBODY = {"NAME": "GitHub", "EMAIL": "noreply@example.com"}


class Conflict(Exception):
    """The two sides cannot be merged."""


def git(repository: Path, *words: str, stdin: str | bytes = "", **more: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(repository), *words],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        env=environment(**more), capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"git {' '.join(words)}: {done.stderr.decode()}")
    return done.stdout.decode(errors="replace").rstrip("\n")


def ok(repository: Path, *words: str) -> bool:
    done = subprocess.run(
        ["git", "-C", str(repository), *words], env=environment(), capture_output=True, timeout=60, check=False
    )
    return done.returncode == 0


@cache
def _template(process: int) -> tempfile.TemporaryDirectory[str]:
    """A new repository, made once by each process and copied afterwards: git takes three processes to make one."""
    made = tempfile.TemporaryDirectory(prefix="treehand-template-")
    path = Path(made.name)
    git(path, "init", "--quiet", "--bare", "--template=", "--initial-branch=main")
    git(path, "config", "http.receivepack", "true")
    git(path, "config", "uploadpack.allowAnySHA1InWant", "true")
    (path / "protected").touch()
    hook = path / "hooks" / "pre-receive"
    hook.parent.mkdir()
    hook.write_text(_HOOK)
    hook.chmod(0o755)
    return made


def create(path: Path, branch: str) -> None:
    shutil.copytree(_template(os.getpid()).name, path)
    (path / "HEAD").write_text(f"ref: refs/heads/{branch}\n")


def refs(path: Path) -> dict[str, str]:
    """Returns the branches, read as git keeps them: starting it takes a hundred times as long."""
    found = {}
    with contextlib.suppress(FileNotFoundError):
        lines = (path / "packed-refs").read_text().splitlines()
        packed = [line.split(" ") for line in lines if not line.startswith(("#", "^"))]
        found = {ref: sha for sha, ref in packed if ref.startswith("refs/heads/")}
    for folder, _, names in os.walk(path / "refs" / "heads"):
        for name in names:
            file = Path(folder, name)
            with contextlib.suppress(FileNotFoundError):  # a branch may be deleted meanwhile
                if file.suffix != ".lock":
                    found[str(file.relative_to(path))] = file.read_text().strip()
    return dict(sorted(found.items()))


def tip(path: Path, branch: str) -> str | None:
    return refs(path).get(f"refs/heads/{branch}")


@lru_cache
def is_ancestor(path: Path, old: str, new: str) -> bool:
    return ok(path, "merge-base", "--is-ancestor", old, new)


def author_of(path: Path, sha: str) -> str:
    return git(path, "log", "-1", "--format=%an", sha)


def parents_of(path: Path, sha: str) -> list[str]:
    return git(path, "log", "-1", "--format=%P", sha).split()


@lru_cache
def differs(path: Path, old: str, new: str, name: str) -> bool:
    return not ok(path, "diff", "--quiet", old, new, "--", name)


def files_between(path: Path, base: str, head: str) -> list[list[str]]:
    """Returns the kind of change of each file, as a letter, and its name."""
    return [row.split("\t")[:2] for row in git(path, "diff", "--name-status", f"{base}...{head}").splitlines()]


def commits_between(path: Path, base: str, head: str) -> list[str]:
    """Returns the commits, oldest first."""
    return git(path, "rev-list", "--reverse", f"{base}..{head}").splitlines()


def message_of(path: Path, sha: str) -> str:
    return git(path, "log", "-1", "--format=%B", sha).strip()


def commit_files(path: Path, branch: str, files: Mapping[str, str | None], message: str, who: str) -> str:
    """Adds a commit to the branch, which may be new."""
    return _commit_to(path, f"refs/heads/{branch}", branch, files, message, who)


def commit_on(path: Path, branch: str, files: Mapping[str, str | None], message: str, who: str) -> str:
    """Makes a commit on top of the branch, or of the default one; `None` removes a file. Moves no branch."""
    sha = _commit_to(path, _SCRATCH, branch, files, message, who)
    git(path, "update-ref", "-d", _SCRATCH)
    return sha


_SCRATCH = "refs/scratch"


def _commit_to(path: Path, ref: str, branch: str, files: Mapping[str, str | None], message: str, who: str) -> str:
    """Makes a commit on top of the branch, or of the default one, with a single process of git."""
    default = (path / "HEAD").read_text().strip().removeprefix("ref: refs/heads/")
    parent = tip(path, branch) or tip(path, default)
    lines = [
        b"commit " + ref.encode(), b"mark :1", f"author {who} <{who}@example.com> now".encode(),
        b"committer %s <%s> now" % (_NOBODY["NAME"].encode(), _NOBODY["EMAIL"].encode()),
        _data(f"{message}\n" if message and not message.endswith("\n") else message),
        *([f"from {parent}".encode()] if parent else []),
    ]  # fmt: skip
    for name, text in files.items():
        quoted = b'"' + name.encode().replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
        lines += [b"D " + quoted] if text is None else [b"M 100644 inline " + quoted, _data(text)]
    stream = b"\n".join([*lines, b"get-mark :1", b"done", b""])
    return git(path, "fast-import", "--quiet", "--done", "--date-format=now", stdin=stream)


def _data(text: str) -> bytes:
    return b"data %d\n%s" % (len(text.encode()), text.encode())


def committed(path: Path, tree: str, parents: list[str], message: str, who: str) -> str:
    said = [word for parent in parents for word in ("-p", parent)]
    author = {"GIT_AUTHOR_NAME": who, "GIT_AUTHOR_EMAIL": f"{who}@example.com"}
    return git(path, "commit-tree", tree, *said, stdin=message, **author)


def can_merge(path: Path, base: str, head: str) -> bool:
    return ok(path, "merge-tree", "--write-tree", base, head)


def merged_tree(path: Path, base: str, head: str) -> str:
    if not can_merge(path, base, head):
        raise Conflict
    return git(path, "merge-tree", "--write-tree", base, head).splitlines()[0]


def rebased(path: Path, base: str, head: str) -> str:
    """Replays the commits of the head, one by one, on top of the base."""
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"
        git(path, "worktree", "add", "--quiet", "--detach", str(tree), base)
        try:
            git(tree, "cherry-pick", "--allow-empty", f"{base}..{head}")
            return git(tree, "rev-parse", "HEAD")
        except RuntimeError as problem:
            raise Conflict from problem
        finally:
            git(path, "worktree", "remove", "--force", str(tree))


def merge(path: Path, *, how: str, base: str, head: str, message: str, who: str) -> str:
    """Returns the new tip of the base; the caller moves the ref."""
    if how == "rebase":
        return rebased(path, base, head)
    parents = [base] if how == "squash" else [base, head]
    return committed(path, merged_tree(path, base, head), parents, message, who)


@lru_cache
def numbers_of(path: Path, base: str, head: str) -> tuple[int, int, int]:
    """Returns lines added, lines removed, files changed."""
    rows = [row.split("\t") for row in git(path, "diff", "--numstat", f"{base}...{head}").splitlines()]
    counted = [(int(added), int(gone)) for added, gone, _ in rows if added != "-"]
    return sum(a for a, _ in counted), sum(g for _, g in counted), len(rows)


def hunk_up_to(path: Path, base: str, head: str, name: str, line: int) -> tuple[str, int] | None:
    """Returns GitHub's `diff_hunk` and `position` for a line of the new side; None if it is not in the diff."""
    rows = git(path, "diff", f"{base}...{head}", "--", name).splitlines()
    first = next((n for n, row in enumerate(rows) if row.startswith("@@")), None)
    hunk: list[str] = []
    at = 0
    for position, row in enumerate(rows[first:] if first is not None else []):
        if found := _HUNK.match(row):
            hunk, at = [row], int(found[1]) - 1
            continue
        hunk.append(row)
        at += not row.startswith(("-", "\\"))
        if at == line and not row.startswith(("-", "\\")):
            return "\n".join(hunk), position
    return None
