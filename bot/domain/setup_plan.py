"""Setup of a worktree: the plan, the result, and the obstacle that stopped it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.domain.change import Objection
from bot.domain.service import ServiceMounts, WantedService

PACKAGE_MANAGERS = ("npm", "pnpm", "yarn", "bun")
_HASH_SHOWN = 24


@dataclass(frozen=True, slots=True)
class SetupStep:
    """A command that sets a worktree up, or verifies it."""

    command: str
    """Shell command."""
    folder: str = ""
    """In which it runs, seen from the worktree; empty: there."""
    why: str = ""
    """Reason for the command: a file, or the settings that name it."""
    tools: tuple[str, ...] = ()
    """Programs it cannot do without."""
    locks: tuple[str, ...] = ()
    """Files, seen from the worktree, whose change makes it run again."""
    makes: tuple[str, ...] = ()
    """Folders of dependencies, as patterns of .gitignore: never anybody's work."""
    runners: tuple[str, ...] = ()
    """Test runners that setup must have installed in `node_modules`: others would test with another version."""

    def __str__(self) -> str:
        return f"{self.command} in {self.folder}" if self.folder else self.command


@dataclass(frozen=True, slots=True)
class WantedVersion:
    """A version of a language or build tool that the repository asks for."""

    tool: str
    """`python`, `node`, `go`, `rust`, `ruby`, `php`, `java`, `dotnet`, `npm`, `pnpm`, `yarn` or `bun`."""
    range: str
    """In the notation of the tool: `>=3.9,<4`, `^20.1`, `3.12`."""
    why: str
    """The file that asks for it."""
    is_required: bool = False
    """Setup would fail with another version."""
    pin: str = ""
    """An exact version, with the hash of its download if the repository names one: `9.1.0`, `9.1.0+sha512.3c9a...`."""

    def __str__(self) -> str:
        return f"{self.tool} {self.range} ({self.why})"

    @property
    def folder_name(self) -> str:
        """Name of the folder in which exactly this version is installed."""
        version, plus, hashed = self.pin.partition("+")
        return f"{version}{plus}{hashed[:_HASH_SHOWN]}"


def by_weight(wanted: Sequence[WantedVersion]) -> Iterator[Sequence[WantedVersion]]:
    """Yields all versions, then fewer and fewer: the last preferences give way first."""
    preferred = [one for one in wanted if not one.is_required]
    for number in range(len(preferred), -1, -1):
        yield [one for one in wanted if one.is_required or one in preferred[:number]]


@dataclass(frozen=True, slots=True)
class SetupPlan:
    steps: tuple[SetupStep, ...] = ()
    teardown: tuple[str, ...] = ()
    copy: tuple[str, ...] = ()
    """Files of the operator's, or patterns, seen from the worktree."""
    hints: tuple[str, ...] = ()
    """Findings without a command."""
    checks: tuple[SetupStep, ...] = ()
    """Commands of verification."""
    hosts: tuple[str, ...] = ()
    """Download hosts named in its own files."""
    silent: tuple[str, ...] = ()
    """Tools whose download hosts no file names."""
    servers: Mapping[str, SetupStep] = field(default_factory=dict)
    """Commands of servers, by name."""
    wanted: tuple[WantedVersion, ...] = ()
    """Versions of languages and build tools."""
    other_steps: tuple[SetupStep, ...] = ()
    """Commands that other files of the repository name, and that were not chosen."""
    other_checks: tuple[SetupStep, ...] = ()
    services: tuple[WantedService, ...] = ()
    """Databases and the like."""
    addresses: Mapping[str, str] = field(default_factory=dict)
    """Variables with the address of a service, as the repository's example of `.env` names them."""


@dataclass(frozen=True, slots=True)
class SetupObstacle:
    """Why setup failed. It quotes a program's output, so it is as untrusted as the repository."""

    problem: str
    """In words: `ended with exit code 1`; about the command, if there is one."""
    command: str = ""
    folder: str = ""
    output: str = ""
    """The end of what the command printed."""
    advice: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    """Hosts it needed and may not reach."""
    objection: Objection | None = None
    """A person may approve it: then setup runs with network on exactly this content."""

    @property
    def sentence(self) -> str:
        if not self.command:
            return self.problem
        return f"{self.command}{f' in {self.folder}' if self.folder else ''} {self.problem}"


@dataclass(frozen=True, slots=True)
class SetupResult:
    """Outcome of setup, for the agent."""

    environment: Mapping[str, str] = field(default_factory=dict)
    cache: Path | None = None
    """Downloaded dependencies, to be read."""
    done: tuple[str, ...] = ()
    """Descriptions of the commands that have run."""
    obstacle: SetupObstacle | None = None
    """It is not ready."""
    repeated: str = ""
    """Sentence about the repetition of setup for an agent's changes; empty if there was none."""
    toolchains: tuple[Path, ...] = ()
    """Folders with the versions that the repository asks for, where the machine's own are others."""
    services: ServiceMounts | None = None
    """Services that run beside each command."""
