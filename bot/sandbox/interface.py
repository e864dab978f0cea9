"""Interface of the sandbox, as agents and setup use it. The engine knows neither side."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from bot.domain.turn import AgentTask, TurnReport, WorktreeMounts
from bot.sandbox.proxy.grant import OnUsage


class AgentSandbox(Protocol):
    """An open sandbox for the programs of one turn."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that programs in the sandbox need, those for reaching the model included."""
        ...

    @property
    def inherited_variables(self) -> tuple[str, ...]:
        """Names of Treehand's own variables that programs in the sandbox get as well."""
        ...

    @property
    def shell(self) -> str:
        """Program that runs each command of the agent, given as its only argument; empty: the usual shell."""
        ...

    @property
    def counts_usage(self) -> bool:
        """True if the host counts tokens and money by itself, and keeps the limits."""
        ...

    def launcher(self, program: Path) -> Path:
        """The program to start instead; it takes the same arguments and runs `program` in the sandbox."""
        ...

    def correct(self, report: TurnReport) -> TurnReport:
        """The report with tokens, money, refusals and failure as the host measured them."""
        ...


class CommandSandbox(Protocol):
    """An open sandbox for commands that the host orders. It has no access to a model."""

    @property
    def environment(self) -> Mapping[str, str]: ...
    @property
    def inherited_variables(self) -> tuple[str, ...]: ...
    def launcher(self, program: Path) -> Path: ...
    def has_tool(self, tool: str) -> bool: ...
    @property
    def kill_reason(self) -> str:
        """Why the host ended the sandbox's programs; empty if it did not."""
        ...

    @property
    def refusals(self) -> tuple[str, ...]:
        """Attempts that the proxy refused, in words."""
        ...


class Sandbox(Protocol):
    """Opens sandboxes for turns, setup and tests."""

    model_answers: Mapping[int, int]
    """Number of the model's answers by status; 0: no answer came. Empty if there is no proxy to count them."""

    can_show_copies: bool
    """True if `open_test` can show other files in the place of the worktree."""

    @property
    def tests_have_network(self) -> bool:
        """True if programs in the sandboxes of `open_test` may reach a host."""
        ...

    def open_turn(self, task: AgentTask, marker: str, on_usage: OnUsage) -> AbstractAsyncContextManager[AgentSandbox]:
        """`marker` is the value of the variable that all processes of the turn carry.

        `on_usage` gets what is counted and reserved, zeros at first, and nothing if the host does not count. It raises
        Retryable if a new reservation cannot be saved.
        """
        ...

    def open_setup(
        self, mounts: WorktreeMounts, cache: Path, marker: str, *, network: bool
    ) -> AbstractAsyncContextManager[CommandSandbox]:
        """Opens a sandbox for setup and teardown commands. `cache` holds downloads and is writable.

        Without `network` they reach no host.
        """
        ...

    def open_test(
        self,
        mounts: WorktreeMounts,
        home: Path,
        cache: Path | None,
        marker: str,
        *,
        ports: Sequence[int] = (),
        shown: Path | None = None,
    ) -> AbstractAsyncContextManager[CommandSandbox]:
        """Opens a sandbox for tests and servers, with the rights of an agent, without a model. `cache` is read-only.

        `shown` is the folder that they see in the place of the worktree; None: the worktree itself.

        Servers that listen on these `ports` in the sandbox are reachable on the same ports of this machine.
        """
        ...

    async def why_no_layers(self) -> str:
        """Why this machine cannot show dependencies beneath a worktree, in words; empty if it can."""
        ...

    def remove_leftovers(self) -> None:
        """Removes folders of an earlier process. Call it while nothing is open."""
        ...
