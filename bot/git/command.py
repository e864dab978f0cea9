"""One git command, run safely: an argv list, a scrubbed environment, a time limit, no hooks, no prompts.

The repository is always named. Git never gets to look for one, because what it would find may have been left there
by an agent.
"""

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from bot.errors import CannotStart, Retryable

MINIMUM = (2, 38)
"""`git merge-tree --write-tree` came with it."""

_LAST_SECONDS = 5

NO_GIT = f"There is no git on the PATH. Install git {'.'.join(map(str, MINIMUM))} or later."

_CONFIG = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.autocrlf", "false"),
    ("protocol.ext.allow", "never"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("advice.detachedHead", "false"),
    ("http.lowSpeedLimit", "1"),
    ("http.lowSpeedTime", "60"),
    ("index.version", "2"),
)

_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "LC_ALL": "C.UTF-8",
}


# the last is all that git says when a file of a checkout cannot be written to its end
_FULL = ("No space left on device", "Disk quota exceeded", "unable to write file")


_FOREIGN = re.compile(r"detected dubious ownership in repository at '([^']+)'")


def _not_yours(place: str) -> str:
    """Git's own advice would not help: of the settings of people and machines we read none."""
    return (
        f"{place} belongs to another user, and git reads no repository of others. Let it belong to whoever runs me "
        "(chown -R), or name a clone of your own as `repository`."
    )


class GitFailed(Retryable):
    """Git refused. Callers who know what a refusal means say so in better words."""

    def __init__(self, args: tuple[str, ...], code: int, stderr: str, stdout: bytes = b"") -> None:
        foreign = _FOREIGN.search(stderr)
        said = _not_yours(foreign[1]) if foreign else f"git {args[0]} failed ({code}): {stderr.strip()[-2000:]}"
        super().__init__(said)
        self.code = code
        self.stderr = stderr
        self.stdout = stdout

    @property
    def disk_is_full(self) -> bool:
        return any(sign in self.stderr for sign in _FULL)


class RepositoryDamaged(GitFailed):
    """Something in a repository is not as git wrote it, or gone."""


_DAMAGED = re.compile(
    "not a git repository: '|bad config line|unexpected line in|reference broken|is corrupt$|is empty$|bad object"
    "|missing (object|blob|tree)|unable to read tree|Could not read [0-9a-f]{40}"
)


def git(
    git_dir: Path, *args: str, env: Mapping[str, str] | None = None, stdin: bytes = b"", timeout: float = 600
) -> str:
    """What git printed, decoded so that any file name survives a round trip, without the last line end."""
    return (
        git_bytes(git_dir, *args, env=env, stdin=stdin, timeout=timeout).decode(errors="surrogateescape").rstrip("\n")
    )


def git_bytes(
    git_dir: Path, *args: str, env: Mapping[str, str] | None = None, stdin: bytes = b"", timeout: float = 600
) -> bytes:
    try:
        process = subprocess.Popen(
            ["git", f"--git-dir={git_dir}", *args],
            env=_environment(env or {}),
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError as exc:
        raise CannotStart(NO_GIT) from exc
    try:
        stdout, stderr = process.communicate(stdin, timeout)
    except subprocess.TimeoutExpired as exc:
        _end(process)
        raise GitFailed(args, -1, f"no answer within {timeout:.0f} s") from exc
    if process.returncode:
        said = stderr.decode(errors="replace")
        failed = RepositoryDamaged if _tells_of_damage(said) else GitFailed
        raise failed(args, process.returncode, said, stdout)
    return stdout


def _tells_of_damage(said: str) -> bool:
    """Here: what a remote says of itself is its own matter."""
    ours = (line for line in said.splitlines() if not line.startswith("remote:"))
    return any(_DAMAGED.search(line) for line in ours)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Asked first: then it takes what it had begun to write off the disk."""
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.communicate(timeout=_LAST_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Settings the caller hands on the same way (a credential, mostly) come before ours, so that none is undone."""
    theirs = [
        (extra[f"GIT_CONFIG_KEY_{number}"], extra[f"GIT_CONFIG_VALUE_{number}"])
        for number in range(int(extra.get("GIT_CONFIG_COUNT", "0")))
    ]
    config = {"GIT_CONFIG_COUNT": str(len(theirs) + len(_CONFIG))}
    for number, (key, value) in enumerate((*theirs, *_CONFIG)):
        config |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return {**_inherited(), **_ENVIRONMENT, **extra, **config}


def _inherited() -> dict[str, str]:
    """Enough to find programs, ssh keys and certificates; none of the bot's secrets, nobody's GIT_ variables."""
    keep = ("PATH", "HOME", "TMPDIR", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "USER", "LOGNAME")
    return {name: os.environ[name] for name in keep if name in os.environ}  # noqa: TID251 - handed on, not read
