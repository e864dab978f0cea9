"""The record of who may act on a repository: one commit on one ref of the remote, replaced as a whole or not at all.

Rule: it is only ever written over what was seen there. The remote compares and sets in one step, so of two that try at
once one fails.
"""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bot.domain.remote import Remote
from bot.errors import NeedsHuman, Retryable
from bot.git.command import GitFailed, git
from bot.git.objects import write_commit
from bot.workspace.mirror import Mirror, cannot_reach
from bot.workspace.push import BESIDE_US

CLAIM = "refs/treehand/claim"
"""At the remote; in the mirror it is what was last seen there."""
LONGEST = 3600.0
"""Seconds. Whatever a record says, nobody is waited for longer."""

_SECONDS = 20
_LETTERS = 80
_UNWELCOME = ("hidden ref", "declined", "prohibited")


class Unwelcome(NeedsHuman):
    """The remote does not take the ref that daemons agree by."""


@dataclass(frozen=True, slots=True)
class Record:
    by: str
    """Whose: one state directory on one machine."""
    life: str
    """... in one life of its process."""
    term: int
    seconds: float
    """How long it is good for, from when it was written."""
    host: str = ""
    pid: int = 0
    free: bool = False
    """Whoever wrote it has gone, and need not be waited for."""
    taken: bool = False
    """It was another's before, and its holder has not yet had the time to learn what that one did."""

    @property
    def holder(self) -> str:
        return f"{self.host or 'another machine'}, pid {self.pid}"


@dataclass(frozen=True, slots=True)
class Entry:
    id: str = ""
    """Empty: there is none."""
    record: Record | None = None


class ClaimRef:
    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    def read(self, remote: Remote) -> Entry:
        self._mirror.prepare()
        path, there = self._mirror.path, self._tip(remote)
        here = self._mirror.refs(CLAIM).get(CLAIM, "")
        if there and there != here:
            self._talk(
                remote, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", remote.url, f"+{CLAIM}:{CLAIM}"
            )
        elif here and not there:
            self._mirror.update({CLAIM: ("", here)})
        return find_seen(path) or Entry()

    def swap(self, remote: Remote, old: str, record: Record) -> str:
        """The new entry's id. Raises Unwelcome; Retryable when it did not happen, or may have."""
        self._mirror.prepare()
        path = self._mirror.path
        tree = git(path, "hash-object", "-t", "tree", "-w", "--stdin")
        new = write_commit(path, tree, parents=(), message=json.dumps(asdict(record)), at=0)
        self._talk(
            remote, "push", "--quiet", "--no-verify", f"--force-with-lease={CLAIM}:{old}", remote.url, f"{new}:{CLAIM}"
        )
        git(path, "update-ref", CLAIM, new)
        return new

    def _tip(self, remote: Remote) -> str:
        answer = self._talk(remote, "ls-remote", remote.url, CLAIM)
        return next((line.partition("\t")[0] for line in answer.splitlines() if line.endswith(f"\t{CLAIM}")), "")

    def _talk(self, remote: Remote, *args: str) -> str:
        try:
            return git(self._mirror.path, *args, env=remote.env, timeout=_SECONDS)
        except GitFailed as exc:
            said = exc.stderr
            if "[remote rejected]" in said and not BESIDE_US.search(said) and any(word in said for word in _UNWELCOME):
                raise Unwelcome(said.strip()[-500:]) from exc
            if "rejected]" in said:
                raise Retryable("Somebody else claimed the repository in this moment.") from exc
            raise cannot_reach(remote, exc) from exc


def find_seen(mirror: Path) -> Entry | None:
    """What was there when it was last looked at."""
    try:
        tip = git(mirror, "for-each-ref", "--format=%(objectname)", CLAIM)
        return Entry(tip, parse_record(git(mirror, "cat-file", "commit", tip).partition("\n\n")[2])) if tip else None
    except GitFailed:
        return None


def parse_record(text: str) -> Record | None:
    """None: somebody wrote something else there."""
    try:
        said = json.loads(text)
        return Record(
            by=str(said["by"]), life=str(said["life"]), term=int(said["term"]), seconds=_seconds(said["seconds"]),
            host=_printable(said.get("host")), pid=int(said.get("pid", 0)),
            free=said.get("free") is True, taken=said.get("taken") is True,
        )  # fmt: skip
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None


def _seconds(value: Any) -> float:
    seconds = float(value)
    if math.isnan(seconds):
        raise ValueError("no number of seconds")
    return min(max(seconds, 0.0), LONGEST)


def _printable(value: Any) -> str:
    return "".join(letter for letter in str(value or "")[:_LETTERS] if letter.isprintable())
