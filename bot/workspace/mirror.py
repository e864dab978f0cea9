"""The bare mirror of one repository: fetch, refs, ancestry, diffs and packing. Only the host touches it."""

import asyncio
import contextlib
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from bot.domain.change import FileChange
from bot.domain.remote import CommitAuthor, Remote
from bot.errors import NeedsHuman, Retryable
from bot.git.command import TIMED_OUT, GitFailed, RepositoryDamaged, git, git_bytes
from bot.git.commit import write_commit
from bot.git.history import create_refs, is_large, link_history, suspect
from bot.git.in_thread import in_thread
from bot.git.progress import Audience, git_with_progress
from bot.text.invisible_characters import printable_path
from bot.workspace.mirror_repair import damaged_path, is_damaged, recover, set_aside
from bot.workspace.paths import ORIGIN

_COUNT_SECONDS = 8.0
_FETCH_SECONDS = 1800
_PACK_SECONDS = 3600
_MAX_TRIES = 5
_WORKTREE_BEING_MADE = ("bad object worktrees/", "/commondir: Success")
"""Errors of git while another worktree is being made: for an instant it has no commit, or an empty file."""
_MAX_LOOSE_OBJECTS = 2000
_MAX_PACKS = 20

RAW_ATTRIBUTES = "* -text !eol -ident -filter !working-tree-encoding\n"
"""Git attributes that commit files byte for byte: no conversion and no filter programs."""

_NO_REPOSITORY = (
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
        self._suspicion: RepositoryDamaged | None = None
        self._preparing = threading.Lock()
        self.adding_worktree = threading.Lock()
        """Held while git registers a worktree: it reads the half-made entries of others, and fails."""
        self.check_lease: Callable[[], None] = lambda: None
        """Called before each push. Raises Elsewhere if another daemon may hold the lease."""
        self.author = CommitAuthor()
        """Author of the commits that are made here."""
        self.remote: Remote | None = None
        """As it was fetched from last."""

    def ensure_ready(self) -> None:
        """Creates the mirror if it is missing. Raises Retryable while a damaged one is being replaced."""
        if not self.is_intact():
            raise Retryable("The mirror was damaged. Treehand fetches a new one and continues.")

    def is_intact(self) -> bool:
        """False if it was damaged: its replacement is empty until the next fetch."""
        self._ensure_exists()
        return not damaged_path(self.path).exists()

    def suspect_damage(self, problem: RepositoryDamaged) -> None:
        """Has the mirror checked before it is used again."""
        self._suspicion = problem

    def _ensure_exists(self) -> None:
        with self._preparing:
            if not self._ready:  # once per process: later on other threads write here
                _remove(_stale_files(self.path))
            if not self._ready or self._suspicion or not self.exists():
                self._repair(self._suspicion)
            self._ready, self._suspicion = True, None

    def _repair(self, suspicion: RepositoryDamaged | None) -> None:
        _remove(_empty_files(self.path))
        try:
            self._init()
            damaged = self._is_our_object_damaged(suspicion) or is_damaged(self.path, thoroughly=suspicion is not None)
        except RepositoryDamaged:
            damaged = True
        if damaged:
            set_aside(self.path)
            self._init()

    def _init(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        git(self.path, "init", "--bare", "--quiet", "--template=", "--initial-branch=treehand-none")
        for folder in ("info", "objects/info"):
            (self.path / folder).mkdir(exist_ok=True)
        (self.path / "info" / "attributes").write_text(RAW_ATTRIBUTES)

    def _is_our_object_damaged(self, suspicion: RepositoryDamaged | None) -> bool:
        """Git reported one of our objects as corrupt; a check for existence would not find that."""
        lines = suspicion.stderr.splitlines() if suspicion else []
        return any(f"{self.path}/objects/" in line and "is corrupt" in line for line in lines)

    def exists(self) -> bool:
        return (self.path / "HEAD").exists()

    def commit(self, tree: str, *, parents: Sequence[str], message: str, at: float) -> str:
        """Returns the commit's id. No ref points at it yet."""
        return write_commit(self.path, tree, parents=parents, message=message, at=at, by=self.author)

    def fetch(self, remote: Remote) -> None:
        self._ensure_exists()
        self.remote = remote
        if remote.here:
            self._share_history(Path(remote.url))
        self._fetch(remote, "--prune", f"+refs/heads/*:{ORIGIN}*")
        if damaged_path(self.path).exists():
            recover(self.path)

    def _share_history(self, source: Path) -> None:
        """Links a long history of another repository of ours into a new mirror, so that a fetch has nothing to copy.

        One that replaces a damaged mirror gets a copy: the damage may be in a file that both have.
        """
        is_new = not self.refs(ORIGIN) and not damaged_path(self.path).exists()
        if not is_new or not is_large(source) or (source / "shallow").exists():
            return
        listed = git(source, "for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/heads/").splitlines()
        tips = {f"{ORIGIN}{branch}": commit for commit, _, branch in (line.partition(" ") for line in listed)}
        if link_history(source, self.path):
            create_refs(self.path, tips)

    def fetch_ref(self, remote: Remote, ref: str) -> None:
        """Fetches a ref under its own name."""
        self._fetch(remote, f"{ref}:{ref}")

    def fetch_branch(self, remote: Remote, branch: str) -> None:
        self._fetch(remote, f"+refs/heads/{branch}:{ORIGIN}{branch}")

    def _fetch(self, remote: Remote, *what: str) -> None:
        try:
            self.retry_beside_new_worktrees(lambda: self._fetch_once(remote, *what))
        except GitFailed as exc:
            if remote.here and damaged_path(self.path).exists() and exc.code > 0 and not exc.disk_is_full:
                suspect(Path(remote.url))
            raise remote_error(remote, exc) from exc

    def retry_beside_new_worktrees(self, command: Callable[[], object]) -> None:
        """Runs a git command again if it failed because another worktree was half made at that moment."""
        for attempt in range(1, _MAX_TRIES + 1):
            try:
                command()
            except GitFailed as exc:
                if attempt == _MAX_TRIES or not any(sign in exc.stderr for sign in _WORKTREE_BEING_MADE):
                    raise
            else:
                return

    def _fetch_once(self, remote: Remote, *what: str) -> None:
        *options, refspec = what
        git_with_progress(
            self.path, "fetch", "--quiet", "--progress", "--no-tags", "--no-write-fetch-head",
            "--update-shallow", *options, remote.url, refspec, env=remote.env, timeout=_FETCH_SECONDS,
        )  # fmt: skip

    def remote_tip(self, remote: Remote, branch: str) -> str:
        """Returns the branch's commit at the remote; empty if it does not exist."""
        try:
            answer = git(self.path, "ls-remote", remote.url, f"refs/heads/{branch}", env=remote.env, timeout=120)
        except GitFailed as exc:
            raise remote_error(remote, exc) from exc
        return next((line[:40] for line in answer.splitlines() if line.endswith(f"\trefs/heads/{branch}")), "")

    def default_branch(self, remote: Remote) -> str:
        try:
            answer = git(self.path, "ls-remote", "--symref", remote.url, "HEAD", env=remote.env, timeout=120)
        except GitFailed as exc:
            raise remote_error(remote, exc) from exc
        first = answer.partition("\t")[0]
        if not first.startswith("ref: refs/heads/"):
            raise NeedsHuman(f"{url_without_credential(remote.url)} does not name its default branch. Set `base`.")
        return first.removeprefix("ref: refs/heads/")

    def refs(self, *prefixes: str) -> dict[str, str]:
        """Returns the object id of every ref under the prefixes."""
        listing = git(self.path, "for-each-ref", "--format=%(objectname) %(refname)", *prefixes)
        return {name: sha for sha, _, name in (line.partition(" ") for line in listing.splitlines())}

    def update_refs(self, changes: Mapping[str, tuple[str, str]]) -> None:
        """Updates all refs or none, each to its new id if it has the expected old one. Empty: it does not exist."""
        lines = [
            f"update {name} {new or _NO_OBJECT} {old or _NO_OBJECT}" if new else f"delete {name} {old}"
            for name, (new, old) in changes.items()
        ]
        git(self.path, "update-ref", "--stdin", stdin="\n".join([*lines, ""]).encode())

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Returns False also if a commit is unknown here."""
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
        """Without counts of lines if git needs too long for them: an agent wrote the content."""
        command = ("diff-tree", "-r", "-z", "--no-renames", base, head)
        try:
            listing = git_bytes(self.path, *command, "--numstat", timeout=_COUNT_SECONDS)
        except GitFailed as problem:
            if problem.code != TIMED_OUT:
                raise
            names = git_bytes(self.path, *command, "--name-only").split(b"\0")[:-1]
            return tuple(FileChange(printable_path(name), 0, 0) for name in names)
        return tuple(_parse_change(line) for line in listing.split(b"\0")[:-1])

    def diff(self, base: str, head: str) -> bytes:
        return git_bytes(self.path, "diff-tree", "-r", "-p", "-M", "--no-ext-diff", "--no-textconv", base, head)

    def pack(self, *, borrowed: bool) -> None:
        """Packs loose objects and deletes those unreferenced for 60 days.

        Keeps them while worktrees borrow objects: an agent's git may still use a branch that people rewrote.
        """
        if self.exists() and self._needs_packing():
            until = "never" if borrowed else "60.days.ago"
            git(self.path, "gc", "--quiet", "--cruft", f"--prune={until}", timeout=_PACK_SECONDS)

    def _needs_packing(self) -> bool:
        objects = self.path / "objects"
        loose = sum(1 for _ in objects.glob("[0-9a-f][0-9a-f]/*"))
        packs = sum(1 for _ in objects.glob("pack/*.pack"))
        return loose > _MAX_LOOSE_OBJECTS or packs > _MAX_PACKS


@dataclass(slots=True)
class SharedFetch:
    """One fetch at a time under a lock; it serves every caller that was waiting when it began."""

    mirror: Mirror
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _begun: int = 0
    _ended: int = 0
    _waiting: Audience = field(default_factory=Audience)

    async def __call__(self, remote: Remote) -> None:
        wanted = self._begun + 1
        with self._waiting.joined():
            await self._fetch(remote, wanted)

    async def _fetch(self, remote: Remote, wanted: int) -> None:
        async with self.lock:
            if self._ended >= wanted:
                return
            self._begun += 1
            await in_thread(self.mirror.fetch, remote)
            self._ended = self._begun


_NO_OBJECT = "0" * 40


def remote_error(remote: Remote, exc: GitFailed) -> Exception:
    """Translates a failed command against a remote: NeedsHuman for a wrong address, else Retryable."""
    if isinstance(exc, RepositoryDamaged) or exc.disk_is_full:
        return exc  # the fault is on this machine
    where = url_without_credential(remote.url)
    if "mismatched algorithms" in exc.stderr:
        return NeedsHuman(f"{where} uses another object format than sha1, which is not supported.")
    if any(sign in exc.stderr for sign in _NO_REPOSITORY):
        return NeedsHuman(
            f"{where} is not a git repository that Treehand can read. Correct `repository`, or the access to it."
        )
    words = exc.stderr.strip().replace(remote.url, where)[-500:]
    happened = "refused the request" if _REFUSED.search(exc.stderr) else "could not be reached"
    return Retryable(f"{where} {happened}: {words or exc}")


_REFUSED = re.compile(r"returned error: 4\d\d|Authentication failed|Invalid username or token|could not read Username")


def url_without_credential(url: str) -> str:
    """Removes the credential from a URL."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])) if parts.scheme else url


def _stale_files(mirror: Path) -> Iterator[Path]:
    """Lock files and unfinished packs of processes that died."""
    for folder, inner, files in os.walk(mirror):
        if Path(folder) == mirror / "objects":
            inner[:] = [name for name in inner if name in {"info", "pack"}]
        packs = Path(folder) == mirror / "objects" / "pack"
        yield from (
            Path(folder, name) for name in files if name.endswith(".lock") or (packs and _is_unfinished_pack(name))
        )


def _empty_files(mirror: Path) -> Iterator[Path]:
    """Empty refs and objects, left by a power failure."""
    for pattern in ("refs/**/*", "objects/[0-9a-f][0-9a-f]/*"):
        yield from (path for path in mirror.glob(pattern) if path.is_file() and not path.stat().st_size)


def _remove(paths: Iterator[Path]) -> None:
    for path in list(paths):
        path.unlink(missing_ok=True)


def _is_unfinished_pack(pack: str) -> bool:
    return pack.startswith(("tmp_", ".tmp-"))


def _parse_change(line: bytes) -> FileChange:
    added, removed, path = line.split(b"\t", 2)
    return FileChange(printable_path(path), _count(added), _count(removed))


def _count(field: bytes) -> int:
    """Git counts no lines of binary files."""
    return int(field) if field.isdigit() else 0
