"""The sandbox: runs a turn, setup or a test in bubblewrap, behind a proxy, and watches its resources from outside."""

import asyncio
import contextlib
import hashlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from bot.domain.price import Price
from bot.domain.turn import AgentTask, Failure, TurnReport, TurnState, WorktreeMounts
from bot.sandbox import enter
from bot.sandbox.authorities import AUTHORITY_FILES, TrustedAuthorities
from bot.sandbox.host_tools import find_tools, has_program
from bot.sandbox.layer_trial import try_layer
from bot.sandbox.mount_plan import HOME, PRIVATE, SHELL, HostTools, MountPlan, build_plan
from bot.sandbox.none import write_launcher
from bot.sandbox.ownership import chown_tree
from bot.sandbox.port_forward import forward_ports
from bot.sandbox.proxy.grant import DayBudget, Grant, OnUsage, SandboxUsage, UsageChange, UsedUp, ignore_usage
from bot.sandbox.proxy.http_proxy import HttpProxy
from bot.sandbox.proxy.learned_hosts import LearnedHosts
from bot.sandbox.proxy.model import PROXY_VARIABLES, model_variables, upstream_for
from bot.sandbox.proxy.network import Network
from bot.sandbox.proxy.registry import Registry, placeholders
from bot.sandbox.proxy.registry_route import RegistryAccess, registry_access
from bot.sandbox.proxy.server import SandboxProxy
from bot.sandbox.resource_limits import ProcessLimits, ResourceLimits, watch_resources
from bot.sandbox.seccomp import seccomp_filter
from bot.system.trash import Trash
from bot.text.money import dollars

_UIDS = range(59_000, 59_900)
"""Users that agents run as if Treehand is root: unknown to usual systems."""


@dataclass(frozen=True, slots=True)
class SandboxRules:
    """Hosts, tools and limits that the operator allows every agent."""

    hosts: frozenset[str] = frozenset()
    setup_hosts: frozenset[str] = frozenset()
    """Hosts that setup may reach, instead of `hosts`."""
    private_hosts: frozenset[str] = frozenset()
    """Hosts that may have addresses of a private network, if a sandbox may reach them."""
    registries: Sequence[Registry] = ()
    """Hosts to which the proxy sends a token."""
    authorities: TrustedAuthorities = field(default_factory=TrustedAuthorities)
    http_proxy: HttpProxy | None = None
    tools: Sequence[Path] = ()
    process_limits: ProcessLimits = field(default_factory=ProcessLimits)
    resource_limits: ResourceLimits = field(default_factory=ResourceLimits)
    prices: Mapping[str, Price] = field(default_factory=dict)
    """Prices that the operator set, by the name of the model."""


class Bubblewrap:
    can_show_copies = True

    def __init__(
        self,
        state_dir: Path,
        model: Mapping[str, str],
        rules: SandboxRules,
        day: DayBudget | None = None,
        *,
        learned: LearnedHosts | None = None,
    ) -> None:
        """`model` holds the variables with the model's address and key, which never enter the sandbox.

        `learned`: setup with network reaches all public hosts, which are recorded there.
        """
        self._state_dir = state_dir
        self._folder = state_dir / "cells"
        self._trash = Trash(state_dir / "trash" / "~cells")  # no valid project name
        self._model = dict(model)
        self._rules = rules
        self._learned = learned
        self._day = day or DayBudget()
        self._proxy = SandboxProxy(
            upstream_for(model), network=Network(http_proxy=rules.http_proxy), prices=rules.prices, day=self._day
        )
        self.model_answers: Mapping[int, int] = self._proxy.model_answers
        self._why_no_layers: str | None = None

    @property
    def tests_have_network(self) -> bool:
        return bool(self._rules.hosts)

    def change_rules(self, rules: SandboxRules, *, per_day_usd: float) -> None:
        """Applies to sandboxes that are opened from now on; the budget of the day applies at once."""
        self._rules = rules
        self._proxy.prices = rules.prices
        self._day.limit_usd = per_day_usd

    @asynccontextmanager
    async def open_turn(self, task: AgentTask, marker: str, on_usage: OnUsage) -> AsyncIterator["_OpenSandbox"]:
        token = f"sk-treehand-{secrets.token_hex(24)}"
        rules = self._rules
        grant = Grant(
            token, rules.hosts, task.model, task.most_tokens, task.budget_usd, private_hosts=rules.private_hosts
        )
        folders = _Folders(task.mounts, task.home, task.setup.cache)
        variables = model_variables(self._model, token)
        on_usage(UsageChange())
        async with self._open(folders, grant, marker, variables, on_usage=on_usage) as sandbox:
            sandbox.is_command = False
            yield sandbox

    @asynccontextmanager
    async def open_setup(
        self, mounts: WorktreeMounts, cache: Path, marker: str, *, network: bool
    ) -> AsyncIterator["_OpenSandbox"]:
        hosts = self._rules.setup_hosts if network else frozenset()
        learned = self._learned if network else None
        grant = Grant("", hosts, private_hosts=self._rules.private_hosts, learned=learned)
        folders = _Folders(mounts, cache, git=mounts.agent_git)
        async with self._open(folders, grant, marker, PROXY_VARIABLES) as sandbox:
            yield sandbox

    @asynccontextmanager
    async def open_test(
        self,
        mounts: WorktreeMounts,
        home: Path,
        cache: Path | None,
        marker: str,
        *,
        ports: Sequence[int] = (),
        shown: Path | None = None,
    ) -> AsyncIterator["_OpenSandbox"]:
        grant = Grant("", self._rules.hosts, private_hosts=self._rules.private_hosts)
        folders = _Folders(mounts, home, cache, shown=shown)
        # tests behave differently where these variables are set, so they are not set for nothing
        variables = PROXY_VARIABLES if self.tests_have_network else {}
        async with self._open(folders, grant, marker, variables, ports) as sandbox:
            yield sandbox

    @asynccontextmanager
    async def _open(
        self,
        folders: "_Folders",
        grant: Grant,
        marker: str,
        network_variables: Mapping[str, str],
        ports: Sequence[int] = (),
        on_usage: OnUsage = ignore_usage,
    ) -> AsyncIterator["_OpenSandbox"]:
        mounts = folders.mounts
        tools = find_tools(self._rules.tools, self._state_dir, mounts.toolchains)
        uid = _uid_for(mounts.folder)
        async with self._temporary_folder() as (here, short_path):
            git_dir = await asyncio.to_thread(_git_dir_for, folders, here)
            folders = replace(folders, git=git_dir)
            data = (mounts.services.data,) if mounts.services else ()
            for folder in data:
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if os.geteuid() == 0:
                own = (folders.worktree, mounts.agent_git, git_dir, folders.home, *data)
                await asyncio.to_thread(chown_tree, own, uid)
            access = registry_access(self._rules.registries, grant, self._rules.authorities)
            trust_variables = await asyncio.to_thread(self._trust, here, grant, access, tools)
            async with (
                self._proxy.open(short_path / "proxy", grant, on_usage, access) as usage,
                _forward(short_path / "ports", ports),
            ):
                reach = {**_local_addresses(network_variables), **network_variables, **trust_variables}
                environment = {**placeholders(self._rules.registries), **reach, **_environment(tools)}
                sandbox = _OpenSandbox(
                    folders, here, tools, self._rules.process_limits, uid, environment, usage, self._day,
                    has_ports=bool(ports),
                )  # fmt: skip
                with watch_resources(marker, self._rules.resource_limits, mounts.folder, sandbox.end):
                    yield sandbox

    def _trust(self, here: Path, grant: Grant, access: RegistryAccess | None, tools: HostTools) -> Mapping[str, str]:
        """Returns variables only if a host can be reached and tools do not find all authorities by themselves."""
        authorities = self._rules.authorities
        if not grant.hosts or (access is None and authorities.are_usual):
            return {}
        certificate = access.authority.certificate if access else ""
        return authorities.write(here, certificate, for_java=has_program(tools, "java"))

    async def why_no_layers(self) -> str:
        if self._why_no_layers is None:
            async with self._temporary_folder() as (here, _):
                self._why_no_layers = await try_layer(here)
        return self._why_no_layers

    def remove_leftovers(self) -> None:
        with contextlib.suppress(OSError):
            self._trash.throw(self._folder)
            self._trash.empty()

    @asynccontextmanager
    async def _temporary_folder(self) -> AsyncIterator[tuple[Path, Path]]:
        """Yields its path, and a short path to it: the path of a socket may have a hundred characters at most.

        What programs left in it is deleted as far as a second goes; the next sandbox, or the next start, continues.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        here = Path(tempfile.mkdtemp(dir=self._folder))
        opened = os.open(here, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield here, Path(f"/proc/self/fd/{opened}")
        finally:
            os.close(opened)
            with contextlib.suppress(OSError):
                self._trash.throw(here)
                await asyncio.to_thread(self._trash.empty)


def _local_addresses(network_variables: Mapping[str, str]) -> dict[str, str]:
    """Addresses that no proxy is asked for; nothing where there is none."""
    return dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost,::1") if network_variables else {}


def _environment(tools: HostTools) -> dict[str, str]:
    return {
        "PATH": tools.path,
        "HOME": HOME,
        "USER": "agent",
        "XDG_RUNTIME_DIR": PRIVATE,
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp",  # noqa: S108 - the sandbox's own
    }


@dataclass(frozen=True, slots=True)
class _Folders:
    mounts: WorktreeMounts
    home: Path
    """Writable, besides the worktree."""
    cache: Path | None = None
    git: Path | None = None
    """Git directory in the place of the shadow; None: a copy of the shadow, which lasts as long as the sandbox."""
    shown: Path | None = None
    """Folder in the place of the worktree, with all of its files; None: the worktree."""

    @property
    def layer(self) -> Path | None:
        link = None if self.shown else self.mounts.layer
        return link.resolve() if link and link.is_dir() else None

    @property
    def worktree(self) -> Path:
        return self.shown or self.mounts.folder


def _empty_folder(folder: Path) -> Path:
    """A new one for each program: the kernel leaves a folder in it."""
    fresh = folder / secrets.token_hex(4)
    fresh.mkdir(parents=True)
    return fresh


def _git_dir_for(folders: _Folders, here: Path) -> Path:
    return folders.git or Path(shutil.copytree(folders.mounts.shadow, here / "git", symlinks=True))


def _forward(socket: Path, ports: Sequence[int]) -> AbstractAsyncContextManager[None]:
    return forward_ports(socket, ports) if ports else contextlib.nullcontext()


@dataclass(slots=True)
class _OpenSandbox:
    folders: _Folders
    folder: Path
    tools: HostTools
    limits: ProcessLimits
    uid: int
    environment: Mapping[str, str]
    usage: SandboxUsage
    day: DayBudget
    ended: tuple[Failure, str] = (Failure.NONE, "")
    """Why the host ended its programs."""
    shell: str = SHELL
    has_ports: bool = False
    is_command: bool = True
    """It runs a command that the host orders, and no agent."""
    counts_usage: bool = True

    @property
    def inherited_variables(self) -> tuple[str, ...]:
        return ()

    def launcher(self, program: Path) -> Path:
        assert self.folders.git
        mount_plan = MountPlan(
            self.folders.mounts,
            self.folders.worktree,
            self.folders.git,
            self.folders.home,
            proxy_socket=self.folder / "proxy",
            program=program.resolve(),
            cache=self.folders.cache,
            ports_socket=self.folder / "ports" if self.has_ports else None,
            authorities=tuple(filter(Path.is_file, map(self.folder.joinpath, AUTHORITY_FILES))),
            layer=self.folders.layer,
            work=_empty_folder(self.folder / "work") if self.folders.layer else None,
            is_command=self.is_command,
        )
        plan = build_plan(mount_plan, self.tools, self.limits, uid=self.uid, seccomp=seccomp_filter())
        file = self.folder / "plan.json"
        file.write_text(json.dumps(plan))
        return write_launcher(self.folder / "enter", Path(enter.__file__), file)

    def end(self, failure: Failure, reason: str) -> None:
        self.ended = (failure, reason)

    def has_tool(self, tool: str) -> bool:
        return has_program(self.tools, tool)

    @property
    def kill_reason(self) -> str:
        return self.ended[1]

    @property
    def refusals(self) -> tuple[str, ...]:
        return self.usage.refusals

    def correct(self, report: TurnReport) -> TurnReport:
        usage = self.usage
        counted = replace(report, tokens=usage.tokens, usd=usage.usd, refusals=tuple(usage.refusals))
        failure, reason = self.ended
        if usage.used_up and report.failure:
            failure, reason = _used_up(usage.used_up, self.day)
        elif usage.unsaved and report.failure:
            failure, reason = Failure.DISK, usage.unsaved
        elif report.failure in {Failure.MODEL, Failure.LIMIT}:
            # a limit pauses all runs, so an agent's claim is not trusted
            reset_at = self.usage.limit_reset_at
            failure, reason = Failure.MODEL if reset_at is None else Failure.LIMIT, report.detail
            counted = replace(counted, retry_at=reset_at or 0.0, is_model_unreachable=bool(usage.unreachable))
            reason = usage.unreachable or reason
        elif report.failure is Failure.KEY and not self.usage.is_key_refused:
            failure, reason = Failure.AGENT, "The proxy refused a request of the agent's program to the model."
        if not failure or report.state is TurnState.STOPPED:
            return counted
        return replace(counted, state=TurnState.FAILED, failure=failure, detail=reason)


def _used_up(limit: UsedUp, day: DayBudget) -> tuple[Failure, str]:
    if limit is not UsedUp.DAY:
        return Failure.BUDGET, f"The {limit.value} that this issue may use are used up."
    spent = f"{dollars(day.read_spent_usd())} of the {dollars(day.limit_usd)} that may be spent in a day are spent"
    return Failure.DAY_BUDGET, f"{spent}, so this turn was ended."


def _uid_for(folder: Path) -> int:
    """Returns the same user for each turn of a run, so that its files stay its own."""
    number = int.from_bytes(hashlib.sha256(os.fsencode(folder)).digest()[:4], "big")
    return _UIDS[number % len(_UIDS)]
