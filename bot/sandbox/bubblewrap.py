"""The sandbox: one cell for each turn, made of bubblewrap and a gate, and watched from outside while it lasts."""

import asyncio
import contextlib
import hashlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from bot.domain.turn import Failure, Ground, TurnReport, TurnState, Work
from bot.sandbox import enter
from bot.sandbox.host_tools import find_program, find_tools
from bot.sandbox.mount_plan import HOME, PRIVATE, SHELL, Furniture, Limits, Tools, plan_for
from bot.sandbox.none import write_launcher
from bot.sandbox.ownership import give
from bot.sandbox.port_forward import porch
from bot.sandbox.proxy import Gate, Passage, Passport
from bot.sandbox.proxy.upstream import PROXIES, stand_in_for, upstream_for
from bot.sandbox.resource_watch import Allowance, watch
from bot.sandbox.seccomp import filter_for

_UIDS = range(59_000, 59_900)
"""Whom agents work as where we are root: nobody that a system of ours would know."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What the operator allows every agent."""

    hosts: frozenset[str] = frozenset()
    setup_hosts: frozenset[str] = frozenset()
    """For what makes a worktree ready, in place of the others."""
    tools: Sequence[Path] = ()
    limits: Limits = field(default_factory=Limits)
    allowance: Allowance = field(default_factory=Allowance)


class Bubblewrap:
    def __init__(self, state_dir: Path, model: Mapping[str, str], rules: Rules) -> None:
        """`model` is the model's address and key, which stay on this side."""
        self._state_dir = state_dir
        self._folder = state_dir / "cells"
        self._model = dict(model)
        self._rules = rules
        self._gate = Gate(upstream_for(model))
        self.answers: Mapping[int, int] = self._gate.answers

    @asynccontextmanager
    async def open(self, work: Work, marker: str) -> AsyncIterator["_OpenCell"]:
        token = f"sk-treehand-{secrets.token_hex(24)}"
        passport = Passport(token, self._rules.hosts, model=work.model, most_tokens=work.most_tokens)
        inside = _Inside(work.ground, work.home, work.ready.cache)
        async with self._opened(inside, passport, marker, stand_in_for(self._model, token)) as cell:
            yield cell

    @asynccontextmanager
    async def open_bench(self, ground: Ground, cache: Path, marker: str) -> AsyncIterator["_OpenCell"]:
        passport = Passport("", self._rules.setup_hosts)
        async with self._opened(_Inside(ground, cache), passport, marker, PROXIES) as cell:
            yield cell

    @asynccontextmanager
    async def open_trial(
        self, ground: Ground, home: Path, cache: Path | None, marker: str, *, ports: Sequence[int] = ()
    ) -> AsyncIterator["_OpenCell"]:
        passport = Passport("", self._rules.hosts)
        async with self._opened(_Inside(ground, home, cache, ports), passport, marker, PROXIES) as cell:
            yield cell

    @asynccontextmanager
    async def _opened(
        self, inside: "_Inside", passport: Passport, marker: str, reaching: Mapping[str, str]
    ) -> AsyncIterator["_OpenCell"]:
        tools, ground = find_tools(self._rules.tools, self._state_dir), inside.ground
        uid = _uid_for(ground.folder)
        if os.geteuid() == 0:
            await asyncio.to_thread(give, (ground.folder, ground.shadow, inside.home), uid)
        with self._own_folder() as (here, shortcut):
            async with self._gate.open(shortcut / "gate", passport) as passage, _porch_for(inside, shortcut):
                told = {**reaching, **_told(tools)}
                cell = _OpenCell(inside, here, tools, self._rules.limits, uid, told, passage)
                with watch(marker, self._rules.allowance, ground.folder, cell.end):
                    yield cell

    def sweep(self) -> None:
        """What cells of an earlier life left behind."""
        shutil.rmtree(self._folder, ignore_errors=True)

    @contextlib.contextmanager
    def _own_folder(self) -> Iterator[tuple[Path, Path]]:
        """And a short way to it: the path of a socket may have no more than a hundred characters."""
        self._folder.mkdir(parents=True, exist_ok=True)
        here = Path(tempfile.mkdtemp(dir=self._folder))
        opened = os.open(here, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield here, Path(f"/proc/self/fd/{opened}")
        finally:
            os.close(opened)
            shutil.rmtree(here, ignore_errors=True)


def _told(tools: Tools) -> dict[str, str]:
    local = "127.0.0.1,localhost,::1"
    return {
        "PATH": tools.path,
        "HOME": HOME,
        "USER": "agent",
        "XDG_RUNTIME_DIR": PRIVATE,
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp",  # noqa: S108 - the sandbox's own
        "NO_PROXY": local,
        "no_proxy": local,
    }


@dataclass(frozen=True, slots=True)
class _Inside:
    ground: Ground
    home: Path
    """To be written, besides the worktree."""
    cache: Path | None = None
    ports: Sequence[int] = ()
    """That people may come in by."""


def _porch_for(inside: _Inside, folder: Path) -> AbstractAsyncContextManager[None]:
    return porch(folder / "porch", inside.ports) if inside.ports else contextlib.nullcontext()


@dataclass(slots=True)
class _OpenCell:
    inside: _Inside
    folder: Path
    tools: Tools
    limits: Limits
    uid: int
    environment: Mapping[str, str]
    passage: Passage
    ended: tuple[Failure, str] = (Failure.NONE, "")
    """Why the host had to end it."""
    shell: str = SHELL

    @property
    def handed_on(self) -> tuple[str, ...]:
        return ()

    def launcher(self, program: Path) -> Path:
        inside = self.inside
        door = self.folder / "porch" if inside.ports else None
        furniture = Furniture(
            inside.ground, inside.home, self.folder / "gate", program.resolve(), inside.cache, door
        )  # fmt: skip
        plan = plan_for(furniture, self.tools, self.limits, uid=self.uid, system_calls=filter_for())
        file = self.folder / "plan.json"
        file.write_text(json.dumps(plan))
        return write_launcher(self.folder / "enter", Path(enter.__file__), file)

    def end(self, failure: Failure, why: str) -> None:
        self.ended = (failure, why)

    def finds(self, tool: str) -> bool:
        return find_program(self.tools, tool)

    @property
    def trouble(self) -> str:
        return self.ended[1]

    @property
    def refused(self) -> tuple[str, ...]:
        return self.passage.refusals

    def seen(self, report: TurnReport) -> TurnReport:
        counted = replace(report, tokens=max(report.tokens, self.passage.tokens), refusals=tuple(self.passage.refusals))
        failure, why = self.ended
        if self.passage.is_exhausted and report.failure:
            failure, why = Failure.BUDGET, "The tokens that this issue may use are used up."
        elif report.failure in {Failure.MODEL, Failure.LIMIT}:  # a limit stops everybody: no agent is believed that
            limit = self.passage.limit
            failure, why = Failure.MODEL if limit is None else Failure.LIMIT, report.detail
            counted = replace(counted, retry_at=limit or 0.0)
        elif report.failure is Failure.KEY and not self.passage.is_key_refused:
            failure, why = Failure.AGENT, "The gate refused what the agent's program asked of the model."
        if not failure or report.state is TurnState.STOPPED:
            return counted
        return replace(counted, state=TurnState.FAILED, failure=failure, detail=why)


def _uid_for(folder: Path) -> int:
    """The same for each turn of a run: the files stay its own."""
    number = int.from_bytes(hashlib.sha256(os.fsencode(folder)).digest()[:4], "big")
    return _UIDS[number % len(_UIDS)]
