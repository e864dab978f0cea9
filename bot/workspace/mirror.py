"""The bare mirror of one repository: fetched from and pushed to by address, touched by nobody but the host."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from bot.domain.change import FileChange
from bot.domain.remote import Remote
from bot.errors import NeedsHuman, Retryable
from bot.git.command import GitFailed, RepositoryDamaged, git, git_bytes
from bot.workspace.capture import shown
from bot.workspace.mirror_repair import bring_over, is_damaged, set_aside, waiting
from bot.workspace.paths import ORIGIN

_FETCH_SECONDS = 1800
_UPKEEP_SECONDS = 3600
_TRIES = 5
_BEING_MADE = ("bad object worktrees/", "/commondir: Success")
"""What git says while another worktree is being made: for an instant it has no commit, or a file without content."""
_LOOSE_OBJECTS = 2000
_PACKS = 20

RAW = "* -text !eol -ident -filter !working-tree-encoding\n"
"""Files are committed byte for byte as they lie there: no conversion, and no program that would do one."""

_NOT_THERE = (
    "does not appear to be a git repository",
    "not a git repository",
    "Repository not found",
    "repository not found",
    "does not exist",
)


class Mirror:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._ready = False
        self._doubt: RepositoryDamaged | None = None
        self._preparing = threading.Lock()
        self.fence: Callable[[], None] = lambda: None
        """Right before each push. Raises when another daemon might act on the repository by now."""

    def prepare(self) -> None:
        """It exists, and is whole as far as anybody noticed."""
        if not self.is_whole():
            raise Retryable("My copy of the repository was damaged. I make a new one, and then go on.")

    def is_whole(self) -> bool:
        """False: it was damaged, and the one in its place has nothing in it before the next fetch."""
        self._ensure_there()
        return not waiting(self.path).exists()

    def doubt(self, problem: RepositoryDamaged) -> None:
        """Looked into before it is used again."""
        self._doubt = problem

    def _ensure_there(self) -> None:
        with self._preparing:
            if not self._ready:  # once per process, for others write here from then on
                _remove(_left_by_the_dead(self.path))
            if not self._ready or self._doubt or not self.exists():
                self._make_whole(self._doubt)
            self._ready, self._doubt = True, None

    def _make_whole(self, doubt: RepositoryDamaged | None) -> None:
        _remove(_emptied(self.path))
        try:
            self._begin()
            damaged = self._is_named(doubt) or is_damaged(self.path, thoroughly=doubt is not None)
        except RepositoryDamaged:
            damaged = True
        if damaged:
            set_aside(self.path)
            self._begin()

    def _begin(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        git(self.path, "init", "--bare", "--quiet", "--template=", "--initial-branch=treehand-none")
        for folder in ("info", "objects/info"):
            (self.path / folder).mkdir(exist_ok=True)
        (self.path / "info" / "attributes").write_text(RAW)

    def _is_named(self, doubt: RepositoryDamaged | None) -> bool:
        """Git read an object of ours, and it was rubbish: it looks whole to whoever only looks whether it is there."""
        lines = doubt.stderr.splitlines() if doubt else []
        return any(f"{self.path}/objects/" in line and "is corrupt" in line for line in lines)

    def exists(self) -> bool:
        return (self.path / "HEAD").exists()

    def fetch(self, remote: Remote) -> None:
        self._ensure_there()
        self._fetch(remote, "--prune", f"+refs/heads/*:{ORIGIN}*")
        if waiting(self.path).exists():
            bring_over(self.path)

    def fetch_ref(self, remote: Remote, ref: str) -> None:
        """Under the name it has there."""
        self._fetch(remote, f"{ref}:{ref}")

    def fetch_branch(self, remote: Remote, branch: str) -> None:
        self._fetch(remote, f"+refs/heads/{branch}:{ORIGIN}{branch}")

    def _fetch(self, remote: Remote, *what: str) -> None:
        for _ in range(_TRIES):
            try:
                self._fetch_once(remote, *what)
            except GitFailed as exc:
                if not any(sign in exc.stderr for sign in _BEING_MADE):
                    raise cannot_reach(remote, exc) from exc
                problem = exc
            else:
                return
        raise cannot_reach(remote, problem) from problem

    def _fetch_once(self, remote: Remote, *what: str) -> None:
        *options, refspec = what
        git(
            self.path, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", *options, remote.url, refspec,
            env=remote.env, timeout=_FETCH_SECONDS,
        )  # fmt: skip

    def remote_tip(self, remote: Remote, branch: str) -> str:
        """What the branch is there now; empty: it is not."""
        try:
            answer = git(self.path, "ls-remote", remote.url, f"refs/heads/{branch}", env=remote.env, timeout=120)
        except GitFailed as exc:
            raise cannot_reach(remote, exc) from exc
        return next((line[:40] for line in answer.splitlines() if line.endswith(f"\trefs/heads/{branch}")), "")

    def default_branch(self, remote: Remote) -> str:
        try:
            answer = git(self.path, "ls-remote", "--symref", remote.url, "HEAD", env=remote.env, timeout=120)
        except GitFailed as exc:
            raise cannot_reach(remote, exc) from exc
        first = answer.partition("\t")[0]
        if not first.startswith("ref: refs/heads/"):
            raise NeedsHuman(f"{shown_url(remote.url)} does not say which branch is its default. Set `base`.")
        return first.removeprefix("ref: refs/heads/")

    def refs(self, *prefixes: str) -> dict[str, str]:
        """Every ref under the prefixes, with the object it names."""
        listing = git(self.path, "for-each-ref", "--format=%(objectname) %(refname)", *prefixes)
        return {name: sha for sha, _, name in (line.partition(" ") for line in listing.splitlines())}

    def update(self, changes: Mapping[str, tuple[str, str]]) -> None:
        """All or none of them: each ref with its new and its expected old object; empty means that it is not there."""
        lines = [
            f"update {name} {new or _ZERO} {old or _ZERO}" if new else f"delete {name} {old}"
            for name, (new, old) in changes.items()
        ]
        git(self.path, "update-ref", "--stdin", stdin="\n".join([*lines, ""]).encode())

    def is_ancestor(self, older: str, newer: str) -> bool:
        """False as well when one of them is not known here."""
        try:
            git(self.path, "merge-base", "--is-ancestor", older, newer)
        except GitFailed as exc:
            if exc.code in {1, 128}:
                return False
            raise
        return True

    def common_ancestor(self, one: str, other: str) -> str:
        with contextlib.suppress(GitFailed):
            return git(self.path, "merge-base", one, other)
        return ""

    def changed_files(self, base: str, head: str) -> tuple[FileChange, ...]:
        listing = git_bytes(self.path, "diff-tree", "-r", "-z", "--numstat", "--no-renames", base, head)
        return tuple(_parse_change(line) for line in listing.split(b"\0")[:-1])

    def diff(self, base: str, head: str) -> bytes:
        return git_bytes(self.path, "diff-tree", "-r", "-p", "-M", "--no-ext-diff", "--no-textconv", base, head)

    def tidy(self, *, borrowed: bool) -> None:
        """Pack what has become many small files. What nothing refers to is kept for two months.

        While others borrow its objects, for good: a branch that people rewrote is still in the git an agent uses.
        """
        if self.exists() and self._is_untidy():
            until = "never" if borrowed else "60.days.ago"
            git(self.path, "gc", "--quiet", "--cruft", f"--prune={until}", timeout=_UPKEEP_SECONDS)

    def _is_untidy(self) -> bool:
        objects = self.path / "objects"
        loose = sum(1 for _ in objects.glob("[0-9a-f][0-9a-f]/*"))
        packs = sum(1 for _ in objects.glob("pack/*.pack"))
        return loose > _LOOSE_OBJECTS or packs > _PACKS


_ZERO = "0" * 40


def cannot_reach(remote: Remote, exc: GitFailed) -> Exception:
    """What a failed conversation with a remote means for the people who wait for it."""
    if isinstance(exc, RepositoryDamaged) or exc.disk_is_full:
        return exc  # it is not the remote that is in trouble
    where = shown_url(remote.url)
    if "mismatched algorithms" in exc.stderr:
        return NeedsHuman(f"{where} uses another object format than sha1, which is not supported.")
    if any(sign in exc.stderr for sign in _NOT_THERE):
        return NeedsHuman(f"{where} is not a git repository I can read. Correct `repository`, or my access to it.")
    words = exc.stderr.strip().replace(remote.url, where)[-500:]
    return Retryable(f"{where} could not be reached: {words or exc}")


def shown_url(url: str) -> str:
    """Without a credential."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])) if parts.scheme else url


def _left_by_the_dead(mirror: Path) -> Iterator[Path]:
    """Locks, and packs that never became whole: of a large repository each is as large as that."""
    for folder, inner, files in os.walk(mirror):
        if Path(folder) == mirror / "objects":
            inner[:] = [name for name in inner if name in {"info", "pack"}]
        packs = Path(folder) == mirror / "objects" / "pack"
        yield from (Path(folder, name) for name in files if name.endswith(".lock") or (packs and _is_half(name)))


def _emptied(mirror: Path) -> Iterator[Path]:
    """Refs and objects that have no content: a machine lost its power before that was on the disk."""
    for pattern in ("refs/**/*", "objects/[0-9a-f][0-9a-f]/*"):
        yield from (path for path in mirror.glob(pattern) if path.is_file() and not path.stat().st_size)


def _remove(paths: Iterator[Path]) -> None:
    for path in list(paths):
        path.unlink(missing_ok=True)


def _is_half(pack: str) -> bool:
    return pack.startswith(("tmp_", ".tmp-"))


def _parse_change(line: bytes) -> FileChange:
    added, removed, path = line.split(b"\t", 2)
    return FileChange(shown(path), _count(added), _count(removed))


def _count(field: bytes) -> int:
    """Git counts no lines in what is not text."""
    return int(field) if field.isdigit() else 0
