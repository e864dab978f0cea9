"""What a worktree needs, and is tried with; what came of making it ready, and what stood in the way."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Step:
    """One command that makes a worktree ready, or tries what is in it."""

    command: str
    """For a shell."""
    folder: str = ""
    """In which it runs, seen from the worktree; empty: there."""
    why: str = ""
    """What made us think of it: a file, or who said so."""
    tools: tuple[str, ...] = ()
    """Programs it cannot do without."""
    locks: tuple[str, ...] = ()
    """Files, seen from the worktree, whose change makes it run again."""
    makes: tuple[str, ...] = ()
    """Folders of dependencies, as patterns of .gitignore: never anybody's work."""

    def __str__(self) -> str:
        return f"{self.command} in {self.folder}" if self.folder else self.command


@dataclass(frozen=True, slots=True)
class Recipe:
    steps: tuple[Step, ...] = ()
    teardown: tuple[str, ...] = ()
    copy: tuple[str, ...] = ()
    """Files of the operator's, or patterns, seen from the worktree."""
    hints: tuple[str, ...] = ()
    """What was found and is not acted upon."""
    checks: tuple[Step, ...] = ()
    """What is run to see whether a change breaks anything."""
    hosts: tuple[str, ...] = ()
    """Where it downloads from, as far as its own files say so."""
    silent: tuple[str, ...] = ()
    """Tools that download something from where no file says."""
    servers: Mapping[str, Step] = field(default_factory=dict)
    """What a person can start to look at the work, by name."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a worktree is not ready. A program's output is in it, so it is as untrusted as the repository."""

    problem: str
    """In words: `ended with exit code 1`; about the command, if there is one."""
    command: str = ""
    folder: str = ""
    output: str = ""
    """The end of what the command printed."""
    advice: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    """What it needed and may not reach."""

    @property
    def sentence(self) -> str:
        if not self.command:
            return self.problem
        return f"{self.command}{f' in {self.folder}' if self.folder else ''} {self.problem}"


@dataclass(frozen=True, slots=True)
class Ready:
    """What an agent finds, besides the files."""

    environment: Mapping[str, str] = field(default_factory=dict)
    cache: Path | None = None
    """Downloaded dependencies, to be read."""
    done: tuple[str, ...] = ()
    """What has run here, in words."""
    obstacle: Obstacle | None = None
    """It is not ready."""
