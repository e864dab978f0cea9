"""Detects the setup commands, test commands and servers of a repository from the files of one commit. Pure.

Rule: each stack is set up once. Members of a workspace are set up with it at the top; a folder right below the top is
set up by itself if it has a lock file of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from bot.domain.setup_plan import SetupPlan, SetupStep
from bot.setup.repository_files import FileFolder, RepositoryFiles
from bot.setup.stacks import c, dotnet, go, java, make, node, php, procfile, python, ruby, rust
from bot.setup.wanted_versions import find_wanted_versions

_FindStep = Callable[[FileFolder], SetupStep | None]


@dataclass(frozen=True, slots=True)
class _Stack:
    find_setup: _FindStep
    find_tests: _FindStep
    locks: Sequence[str] = ()
    """A folder with one of these is set up by itself, even beside the same stack at the top."""
    members: Callable[[FileFolder], Sequence[str]] = lambda _: ()
    """Patterns of the folders that belong to the workspace at the top."""
    find_tests_without_setup: _FindStep | None = None
    """Used instead of `find_tests` where the detected setup is not run."""


_STACKS = (
    _Stack(python.find_setup, python.find_tests, python.LOCKS, python.members_of, python.find_tests_without_setup),
    _Stack(node.find_setup, node.find_tests, node.LOCKS, node.members_of),
    _Stack(rust.find_setup, rust.find_tests, rust.LOCKS),
    _Stack(go.find_setup, go.find_tests, go.LOCKS),
    _Stack(php.find_setup, php.find_tests, php.LOCKS),
    _Stack(ruby.find_setup, ruby.find_tests, ruby.LOCKS),
    _Stack(java.find_maven_setup, java.find_maven_tests),
    _Stack(java.find_gradle_setup, java.find_gradle_tests),
    _Stack(dotnet.find_setup, dotnet.find_tests),
    _Stack(c.find_setup, c.find_tests),
)
_FIND_HINTS = (python.hints_in, node.hints_in, make.hints_in)
_FIND_SERVERS: tuple[Callable[[FileFolder], Iterator[tuple[str, SetupStep]]], ...] = (
    procfile.find_servers,
    node.find_servers,
    python.find_servers,
)
_SKIPPED_FOLDERS = {
    *("build", "contrib", "dist", "doc", "docs", "example", "examples", "fixtures", "node_modules", "samples"),
    *("support", "target", "templates", "test", "testdata", "tests", "third_party", "vendor"),
}
_SKIPPED_BESIDE_TOP = {
    *("bench", "benchmark", "benchmarks", "demo", "demos", "fuzz", "perf", "perf-testing", "playground", "website"),
}
"""Skipped beside a project of the same kind at the top: its tests do not need them, and their downloads are large."""


def detect(files: RepositoryFiles, *, uses_detected_setup: bool = True) -> SetupPlan:
    top = files.top()
    below = [one for one in files.below() if one.path not in _SKIPPED_FOLDERS and not one.path.startswith(".")]
    steps = [
        _without_tracked(step, files)
        for stack in _STACKS
        for step in _find_steps(stack.find_setup, _own_folders(stack, top, below))
    ]
    checks = [
        step
        for stack in _STACKS
        for step in _find_steps(
            stack.find_tests if uses_detected_setup else stack.find_tests_without_setup or stack.find_tests,
            _own_folders(stack, top, below),
        )
    ]
    checks = checks or _find_steps(make.find_tests, [top])
    if not checks and uses_detected_setup:
        checks = _find_steps(python.find_unnamed_tests, [top])
    hints = [hint for folder in (top, *below) for find in _FIND_HINTS for hint in find(folder)]
    set_up = {step.folder for step in (*steps, *checks)}
    wanted = find_wanted_versions([top, *(folder for folder in below if folder.path in set_up)])
    return SetupPlan(
        _by_folder(steps),
        hints=tuple(hints),
        checks=_by_folder(checks),
        servers=_servers_in((top, *below)),
        wanted=wanted,
    )


def _by_folder(steps: Sequence[SetupStep]) -> tuple[SetupStep, ...]:
    return tuple(sorted(steps, key=lambda step: step.folder))


def _without_tracked(step: SetupStep, files: RepositoryFiles) -> SetupStep:
    """Drops folders that the step creates if the repository tracks files in them: new files there may be work."""
    makes = (pattern for pattern in step.makes if not any(_is_in(name, pattern) for name in files.names))
    return replace(step, makes=tuple(makes))


def _is_in(name: str, pattern: str) -> bool:
    if pattern.startswith("/"):
        return f"/{name}".startswith(pattern)
    return any(fnmatchcase(part, pattern.rstrip("/")) for part in name.split("/")[:-1])


def _find_steps(find: _FindStep, folders: Sequence[FileFolder]) -> list[SetupStep]:
    return [step for step in map(find, folders) if step]


def _own_folders(stack: _Stack, top: FileFolder, below: Sequence[FileFolder]) -> Sequence[FileFolder]:
    """The top, and the folders below it that the stack sets up by themselves."""
    at_top = stack.find_setup(top) or stack.find_tests(top)
    members = [pattern.removeprefix("./").rstrip("/") for pattern in stack.members(top)]
    alone = [one for one in below if not any(fnmatchcase(one.path, pattern) for pattern in members)]
    if at_top:
        alone = [one for one in alone if one.has(*stack.locks) and one.path not in _SKIPPED_BESIDE_TOP]
        alone = alone if "go.work" not in at_top.why else []
    return [top, *alone]


def _servers_in(folders: Sequence[FileFolder]) -> dict[str, SetupStep]:
    """Servers by name, with the folder in front below the top. The first one keeps a name."""
    found: dict[str, SetupStep] = {}
    for folder in folders:
        for find in _FIND_SERVERS:
            for name, step in find(folder):
                found.setdefault(folder.at(name), step)
    return found
