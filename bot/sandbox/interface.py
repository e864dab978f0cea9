"""What agents need from the sandbox that holds them. The engine knows neither."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from bot.domain.turn import Ground, TurnReport, Work


class Cell(Protocol):
    """Where the programs of one turn run."""

    @property
    def environment(self) -> Mapping[str, str]:
        """What a program has to be told in there, its way to the model included."""
        ...

    @property
    def handed_on(self) -> tuple[str, ...]:
        """Names of our own variables that programs get to see as well."""
        ...

    @property
    def shell(self) -> str:
        """What each command of the agent is to be run by, the command its only argument; empty: nothing special."""
        ...

    def launcher(self, program: Path) -> Path:
        """What is to be started in its place; it takes the same arguments."""
        ...

    def seen(self, report: TurnReport) -> TurnReport:
        """The report, put right by what the host itself saw of the turn."""
        ...


class Bench(Protocol):
    """Where commands of the host's order run. Without any way to a model."""

    @property
    def environment(self) -> Mapping[str, str]: ...
    @property
    def handed_on(self) -> tuple[str, ...]: ...
    def launcher(self, program: Path) -> Path: ...
    def finds(self, tool: str) -> bool:
        """Is there such a program in there?"""
        ...

    @property
    def trouble(self) -> str:
        """Why the host had to end what ran there; empty: it had not."""
        ...

    @property
    def refused(self) -> tuple[str, ...]:
        """What was tried in there and is not allowed, in words."""
        ...


class Sandbox(Protocol):
    """What holds an agent."""

    answers: Mapping[int, int]
    """How many answers of the model's service came through, by status; 0: there was none. Empty: nobody counts."""

    def open(self, work: Work, marker: str) -> AbstractAsyncContextManager[Cell]:
        """`marker` is what tells the turn's processes from all others."""
        ...

    def open_bench(self, ground: Ground, cache: Path, marker: str) -> AbstractAsyncContextManager[Bench]:
        """`cache` is where downloads may be kept: theirs to write."""
        ...

    def open_trial(
        self, ground: Ground, home: Path, cache: Path | None, marker: str, *, ports: Sequence[int] = ()
    ) -> AbstractAsyncContextManager[Bench]:
        """As an agent has it, without a way to a model: `home` is to be written, `cache` to be read.

        What listens at these `ports` in there is found at the same ones on this machine.
        """
        ...

    def sweep(self) -> None:
        """What an earlier life of ours left behind is removed. While nothing is open."""
        ...
