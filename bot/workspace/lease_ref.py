"""Lease record: one commit on a ref of the remote, replaced by compare-and-swap.

Rule: written only over the entry that was read. The remote compares and sets in one step, so one of two simultaneous
writers fails.
"""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bot.domain.remote import Remote
from bot.errors import NeedsHuman, Retryable
from bot.git.command import GitFailed, git
from bot.git.commit import write_commit
from bot.git.objects import store_object
from bot.workspace.mirror import Mirror, remote_error
from bot.workspace.push import CONCURRENT_PUSH, refusal_text

LEASE_REF = "refs/treehand/claim"
"""Name of the ref at the remote; in the mirror it holds the record last seen there."""
MAX_SECONDS = 3600.0
"""Longest lease that a record may ask for."""

_TIMEOUT_SECONDS = 20
_MAX_HOST_LENGTH = 80
_NAME_LENGTH = 8
_REFUSALS = ("hidden ref", "declined", "prohibited")


class LeaseRefRefused(NeedsHuman):
    """The remote does not accept the lease ref."""


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    by: str
    """Id of a daemon: one state directory on one machine."""
    life: str
    """Id of one process of that daemon."""
    term: int
    seconds: float
    """Duration from the moment it was written."""
    host: str = ""
    """Written by earlier versions only: anybody who reads the repository can read the record."""
    pid: int = 0
    free: bool = False
    """Its daemon has stopped; others need not wait."""
    taken: bool = False
    """Taken over from another daemon, whose changes the holder has not read yet."""

    @property
    def name(self) -> str:
        """Short name of the daemon, as its own log and `treehand check` have it."""
        return self.by[:_NAME_LENGTH]

    @property
    def holder(self) -> str:
        return f"{self.host}, pid {self.pid}" if self.host else self.name


@dataclass(frozen=True, slots=True)
class LeaseEntry:
    id: str = ""
    """Commit id; empty if there is no record."""
    record: LeaseRecord | None = None


class LeaseRef:
    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    def read(self, remote: Remote) -> LeaseEntry:
        self._mirror.ensure_ready()
        path, there = self._mirror.path, self._remote_tip(remote)
        here = self._mirror.refs(LEASE_REF).get(LEASE_REF, "")
        if there and there != here:
            self._run_git(
                remote,
                "fetch",
                "--quiet",
                "--no-tags",
                "--no-write-fetch-head",
                remote.url,
                f"+{LEASE_REF}:{LEASE_REF}",
            )
        elif here and not there:
            self._mirror.update_refs({LEASE_REF: ("", here)})
        return read_last_seen(path) or LeaseEntry()

    def compare_and_swap(self, remote: Remote, old: str, record: LeaseRecord) -> str:
        """Returns the new entry's id. Raises LeaseRefRefused; Retryable if it failed or may have failed."""
        self._mirror.ensure_ready()
        path = self._mirror.path
        tree = store_object(path, "tree", b"")
        new = write_commit(path, tree, parents=(), message=_as_text(record), at=0)
        self._run_git(
            remote,
            "push",
            "--quiet",
            "--no-verify",
            f"--force-with-lease={LEASE_REF}:{old}",
            remote.url,
            f"{new}:{LEASE_REF}",
        )
        git(path, "update-ref", LEASE_REF, new)
        return new

    def _remote_tip(self, remote: Remote) -> str:
        answer = self._run_git(remote, "ls-remote", remote.url, LEASE_REF)
        return next((line.partition("\t")[0] for line in answer.splitlines() if line.endswith(f"\t{LEASE_REF}")), "")

    def _run_git(self, remote: Remote, *args: str) -> str:
        try:
            return git(self._mirror.path, *args, env=remote.env, timeout=_TIMEOUT_SECONDS)
        except GitFailed as exc:
            data = exc.stderr
            if (
                "[remote rejected]" in data
                and not CONCURRENT_PUSH.search(data)
                and any(word in data for word in _REFUSALS)
            ):
                raise LeaseRefRefused(data.strip()[-500:]) from exc
            if "[remote rejected]" in data and not CONCURRENT_PUSH.search(data):
                raise Retryable(f"The remote did not take the lease: {refusal_text(exc)}") from exc
            if "rejected]" in data:
                raise Retryable("Another daemon took the lease at the same moment.") from exc
            raise remote_error(remote, exc) from exc


def read_last_seen(mirror: Path) -> LeaseEntry | None:
    """Returns the entry last read from the remote."""
    try:
        tip = git(mirror, "for-each-ref", "--format=%(objectname)", LEASE_REF)
        return (
            LeaseEntry(tip, parse_record(git(mirror, "cat-file", "commit", tip).partition("\n\n")[2])) if tip else None
        )
    except GitFailed:
        return None


def _as_text(record: LeaseRecord) -> str:
    return json.dumps({name: value for name, value in asdict(record).items() if name not in {"host", "pid"}})


def parse_record(text: str) -> LeaseRecord | None:
    """Returns None if the text is no lease record."""
    try:
        data = json.loads(text)
        return LeaseRecord(
            by=_printable(data["by"]), life=str(data["life"]),
            term=int(data["term"]), seconds=_seconds(data["seconds"]),
            host=_printable(data.get("host")), pid=int(data.get("pid", 0)),
            free=data.get("free") is True, taken=data.get("taken") is True,
        )  # fmt: skip
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None


def _seconds(value: Any) -> float:
    seconds = float(value)
    if math.isnan(seconds):
        raise ValueError("not a number of seconds")
    return min(max(seconds, 0.0), MAX_SECONDS)


def _printable(value: Any) -> str:
    return "".join(letter for letter in str(value or "")[:_MAX_HOST_LENGTH] if letter.isprintable())
