"""Runs git: an argv list, a scrubbed environment, a time limit, no hooks, no prompts.

Rule: the repository is always named. Git never searches for one, because an agent may have left one to be found.
"""

import os
import re
import signal
import subprocess
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from pathlib import Path

from bot.errors import CannotStart, Retryable
from bot.system.disk import says_full_disk

MIN_VERSION = (2, 38)
"""First version with `git merge-tree --write-tree`."""

TIMED_OUT = -1
"""Code of a command that took too long."""
_TERMINATE_SECONDS = 5
_UMASK = 0o022
"""Others use what git writes, too: people their own repository, and agents a worktree."""

NO_GIT = f"There is no git on the PATH. Install git {'.'.join(map(str, MIN_VERSION))} or later."

_CONFIG = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.autocrlf", "false"),
    ("protocol.ext.allow", "never"),
    ("gc.auto", "0"),
    ("gc.bigPackThreshold", "64m"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("advice.detachedHead", "false"),
    ("http.lowSpeedLimit", "1"),
    ("http.lowSpeedTime", "60"),
    ("index.version", "2"),
)

_NETWORK_COMMANDS = frozenset({"fetch", "push", "ls-remote", "lfs"})
_PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy")
"""The first may hold a password: only these commands get it."""

_stays_in_group: ContextVar[bool] = ContextVar("stays_in_group", default=False)

_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C.UTF-8",
}


# git prints only the last one when it cannot finish writing a file of a checkout
_UNFINISHED = "unable to write file"


_FOREIGN_OWNER = re.compile(r"detected dubious ownership in repository at '([^']+)'")


def _foreign_owner(place: str) -> str:
    """Git advises a change of the user's settings, which Treehand does not read."""
    return (
        f"{place} belongs to another user, and git refuses repositories of other users. Change its owner to the user "
        "that runs Treehand (chown -R), or name a clone of your own as `repository`."
    )


class GitFailed(Retryable):
    """A git command failed. Callers that know the cause raise a more precise error."""

    def __init__(self, args: tuple[str, ...], code: int, stderr: str, stdout: bytes = b"") -> None:
        foreign = _FOREIGN_OWNER.search(stderr)
        message = _foreign_owner(foreign[1]) if foreign else f"git {args[0]} failed ({code}): {stderr.strip()[-2000:]}"
        super().__init__(message)
        self.command = args[0]
        self.code = code
        self.stderr = stderr
        self.stdout = stdout

    @property
    def disk_is_full(self) -> bool:
        return says_full_disk(self.stderr) or _UNFINISHED in self.stderr


class RepositoryDamaged(GitFailed):
    """An object, ref or file of a repository is corrupt or missing."""


_DAMAGED = re.compile(
    "not a git repository: '|bad config line|unexpected line in|reference broken|is corrupt$|is empty$|bad object"
    "|missing (object|blob|tree)|unable to read tree|Could not read [0-9a-f]{40}"
)


def git(
    git_dir: Path, *args: str, env: Mapping[str, str] | None = None, stdin: bytes = b"", timeout: float = 600
) -> str:
    """Returns git's output without the last line end, decoded so that any file name survives a round trip."""
    return (
        git_bytes(git_dir, *args, env=env, stdin=stdin, timeout=timeout).decode(errors="surrogateescape").rstrip("\n")
    )


def git_bytes(
    git_dir: Path, *args: str, env: Mapping[str, str] | None = None, stdin: bytes = b"", timeout: float = 600
) -> bytes:
    process = start_git(git_dir, args, env or {}, stderr=subprocess.PIPE)
    try:
        stdout, stderr = process.communicate(stdin, timeout)
    except subprocess.TimeoutExpired as exc:
        terminate(process)
        raise timed_out(args, timeout) from exc
    ensure_succeeded(args, process.returncode, stderr.decode(errors="replace"), stdout)
    return stdout


def start_git(git_dir: Path, args: tuple[str, ...], env: Mapping[str, str], *, stderr: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            ["git", f"--git-dir={git_dir}", *args],
            env=_environment(args[0], env),
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=not _stays_in_group.get(),
            umask=_UMASK,
        )
    except FileNotFoundError as exc:
        raise CannotStart(NO_GIT) from exc


def timed_out(args: tuple[str, ...], seconds: float) -> GitFailed:
    return GitFailed(args, TIMED_OUT, f"no answer within {seconds:.0f} s")


def ensure_succeeded(args: tuple[str, ...], code: int, message: str, stdout: bytes) -> None:
    """Raises GitFailed or RepositoryDamaged otherwise."""
    if code:
        failed = RepositoryDamaged if _reports_damage(message) else GitFailed
        raise failed(args, code, message, stdout)


def _reports_damage(message: str) -> bool:
    """Only this machine's repository counts; `remote:` lines report damage elsewhere."""
    ours = (line for line in message.splitlines() if not line.startswith("remote:"))
    return any(_DAMAGED.search(line) for line in ours)


def stay_in_process_group() -> None:
    """Makes git run in the process group of this process from now on, so that both end together."""
    _stays_in_group.set(True)


def terminate(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM first, so that git deletes its temporary files."""
    ask_to_end(process)
    try:
        process.communicate(timeout=_TERMINATE_SECONDS)
    except subprocess.TimeoutExpired:
        _send(process, signal.SIGKILL)
        process.communicate()


def ask_to_end(process: subprocess.Popen[bytes]) -> None:
    _send(process, signal.SIGTERM)


def _send(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    if _stays_in_group.get():
        process.send_signal(number)
    else:
        os.killpg(process.pid, number)


def _environment(command: str, extra: Mapping[str, str]) -> dict[str, str]:
    """The caller's settings (mostly a credential) come before ours, so that ours win."""
    theirs = [
        (extra[f"GIT_CONFIG_KEY_{number}"], extra[f"GIT_CONFIG_VALUE_{number}"])
        for number in range(int(extra.get("GIT_CONFIG_COUNT", "0")))
    ]
    config = {"GIT_CONFIG_COUNT": str(len(theirs) + len(_CONFIG))}
    for number, (key, value) in enumerate((*theirs, *_CONFIG)):
        config |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    proxy = _inherited(_PROXY_VARIABLES) if command in _NETWORK_COMMANDS else {}
    return {**inherited_environment(), **proxy, **_ENVIRONMENT, **extra, **config}


def inherited_environment() -> dict[str, str]:
    """Variables to find programs, ssh keys and certificates; no secrets and no other GIT_ variables."""
    certificates = ("SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO")
    keep = ("PATH", "HOME", "TMPDIR", "SSH_AUTH_SOCK", *certificates, "USER", "LOGNAME")
    return _inherited(keep)


def _inherited(names: Iterable[str]) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}  # noqa: TID251 - handed on, not read
