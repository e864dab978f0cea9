"""Runs the commands of verification in a prepared worktree, and reads what their test runners report.

Rule: what a command prints and writes is read in a thread, up to a limit, and decides about nothing but its own run.
"""

import asyncio
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bot.domain.compare_with_base import MeasuredCommand
from bot.domain.setup_plan import SetupResult, SetupStep
from bot.domain.turn import WorktreeMounts
from bot.domain.verification import VerifiedCommand
from bot.git.in_thread import in_thread
from bot.ports import EventSink
from bot.sandbox.interface import CommandSandbox
from bot.setup.clean_files import CleanFiles
from bot.setup.progress import report_progress
from bot.setup.resources import SetupResources
from bot.setup.run_command import MAX_OUTPUT_BYTES, CommandOutcome, SetupCommand, run_command
from bot.setup.runners.read import read_report
from bot.workspace.safe_files import read_within

_MAX_HEAD_BYTES = 1 << 20
_MAX_TAIL_BYTES = 3 << 20
"""Output that is read for a report; people see far less."""
_MAX_REPORT_BYTES = 16 << 20
_NO_DOWNLOADS = {"npm_config_yes": "false"}
"""With it, npx refuses to fetch a runner that setup has not installed."""
_REPORT_FILE = "treehand-report.xml"
_REPORT_OPTION = "--junitxml"
_KEEP_GOING = "--continue-on-collection-errors"
"""Without it, one module that cannot be imported hides all tests, and with them every regression."""
_UNKNOWN_OPTION = f"unrecognized arguments: {_REPORT_OPTION}"


@dataclass(frozen=True, slots=True)
class PreparedWorktree:
    """A worktree that was made and set up to run commands in."""

    mounts: WorktreeMounts
    ready: SetupResult
    marker: str
    emit: EventSink
    title: str


@dataclass(frozen=True, slots=True)
class CommandRunner:
    place: PreparedWorktree
    resources: SetupResources

    async def run(self, steps: Sequence[SetupStep]) -> tuple[MeasuredCommand, ...]:
        """All share one time limit, and none finds what another one has written."""
        left, results = self.resources.verify_seconds, []
        for number, step in enumerate(steps):
            name = f"{self.place.marker}-{number}"
            with report_progress(self.place.emit, self.resources.clock, "verify", name, f"{self.place.title}: {step}"):
                result = await self._run_clean(step, left, is_last=number == len(steps) - 1)
            left -= result.command.seconds
            results.append(replace(result, command=replace(result.command, seconds=round(result.command.seconds, 1))))
        return tuple(results)

    async def _run_clean(self, step: SetupStep, seconds: float, *, is_last: bool) -> MeasuredCommand:
        """The last command may change the worktree itself; those before it get a copy."""
        result = VerifiedCommand(step.command, step.folder)
        if seconds <= 0:
            return MeasuredCommand(replace(result, problem="not run: no time was left (`limits.verify_minutes`)"))
        place, clock = self.place, asyncio.get_running_loop().time
        files = CleanFiles(self.resources, place.mounts, place.ready.cache, place.marker)
        is_copy = not is_last and self.resources.sandbox.can_show_copies
        if is_copy and (reason := await files.copy_worktree()):
            problem = f"not run: its copy of the worktree could not be made: {reason}"
            return MeasuredCommand(replace(result, problem=problem))
        async with files.open_sandbox(is_copy=is_copy) as sandbox:
            began = clock()
            measured = await self._run_one(step, sandbox, seconds)
            return replace(measured, command=replace(measured.command, seconds=clock() - began))

    async def _run_one(self, step: SetupStep, sandbox: CommandSandbox, seconds: float) -> MeasuredCommand:
        result = VerifiedCommand(step.command, step.folder)
        if missing := [tool for tool in step.tools if not sandbox.has_tool(tool)]:
            return MeasuredCommand(replace(result, problem=f"not run: {', '.join(missing)} missing in the sandbox"))
        if foreign := [one for one in step.runners if not self._is_installed(one, step.folder)]:
            problem = f"not run: setup has not installed {', '.join(foreign)} in `node_modules`"
            return MeasuredCommand(replace(result, problem=problem))
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        outcome = await run_command(self._command(step, sandbox), sandbox, seconds=seconds)
        if outcome.code and _UNKNOWN_OPTION in outcome.output:  # a pytest without this plugin refuses to start
            command = self._command(step, sandbox, asks_for_report=False)
            outcome = await run_command(command, sandbox, seconds=max(end - clock(), 0.0))
        return await in_thread(self._measured, result, outcome, sandbox)

    def _is_installed(self, runner: str, folder: str) -> bool:
        """Searches as npm does: in the folder and in those above it, up to the worktree, and in shared dependencies."""
        mounts = self.place.mounts
        places = [Path(folder), *Path(folder).parents]
        tops = [mounts.folder, *([mounts.layer] if mounts.layer else [])]
        return any(os.path.lexists(top / one / "node_modules" / ".bin" / runner) for top in tops for one in places)

    def _command(self, step: SetupStep, sandbox: CommandSandbox, *, asks_for_report: bool = True) -> SetupCommand:
        """Asks pytest for a report file where the host finds it: `HOME` in the sandbox is on no disk."""
        environment = {**self.place.ready.environment, **sandbox.environment, "CI": "1", **_NO_DOWNLOADS}
        if asks_for_report:
            home = self.resources.test_home(self.place.mounts.folder)
            option = shlex.quote(f"{_REPORT_OPTION}={home / _REPORT_FILE}")
            given = environment.get("PYTEST_ADDOPTS", "")
            environment["PYTEST_ADDOPTS"] = f"{given} {_KEEP_GOING} {option}".strip()
        folder = self.place.mounts.folder / step.folder
        return SetupCommand(
            step.command, folder, environment, self.place.marker, _MAX_TAIL_BYTES, max_head_bytes=_MAX_HEAD_BYTES
        )

    def _measured(self, result: VerifiedCommand, outcome: CommandOutcome, sandbox: CommandSandbox) -> MeasuredCommand:
        redact, folder = self.resources.secrets.redact, f"{self.place.mounts.folder}/"
        output = redact(outcome.output)
        written = redact(self._read_report_file().decode(errors="replace")).replace(folder, "")
        # the same test has the same name in every worktree
        report = read_report(
            output.replace(folder, ""), is_cut=outcome.is_cut, junit_xml=written.encode(errors="replace")
        )
        result = replace(
            result,
            exit_code=outcome.code,
            counts=report.counts if report else None,
            timed_out=outcome.is_late,
            output=_end_of(output),
        )
        if sandbox.kill_reason:
            problem = f"was stopped. {sandbox.kill_reason}"
            return MeasuredCommand(replace(result, exit_code=None, timed_out=False, problem=problem))
        if outcome.code is None and not outcome.is_late:
            return MeasuredCommand(replace(result, problem="could not be started in the sandbox"))
        return MeasuredCommand(result, report)

    def _read_report_file(self) -> bytes:
        home = self.resources.test_home(self.place.mounts.folder)
        try:
            return read_within(home, _REPORT_FILE, limit=_MAX_REPORT_BYTES)
        except OSError:
            return b""


def _end_of(text: str) -> str:
    if len(text) <= MAX_OUTPUT_BYTES:
        return text
    return text[-MAX_OUTPUT_BYTES:].partition("\n")[2] or text[-MAX_OUTPUT_BYTES:]
