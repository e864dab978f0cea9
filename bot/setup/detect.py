"""Finds out what a repository needs, from the files of one commit. Pure.

Rule: every stack is set up once. What belongs to a workspace is set up with it, at the top; of the folders right below,
those that stand on their own are set up by themselves.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from bot.domain.setup_plan import Recipe, Step
from bot.setup.repository_files import Files, Folder
from bot.setup.stacks import node, others, python
from bot.setup.stacks import tests as testing
from bot.setup.stacks.servers import servers_in


@dataclass(frozen=True, slots=True)
class _Stack:
    find: Callable[[Folder], Step | None]
    locks: Sequence[str] = ()
    """What makes a folder stand on its own beside the same stack at the top."""
    members: Callable[[Folder], Sequence[str]] = lambda _: ()
    """Of a workspace at the top."""
    check: Callable[[Folder], Step | None] = lambda _: None
    check_bare: Callable[[Folder], Step | None] | None = None
    """Where something else than what is found here sets it up."""


_STACKS = (
    _Stack(python.find_python, python.LOCKS, python.members_of, testing.check_python, testing.check_bare_python),
    _Stack(node.find_node, node.LOCKS, node.members_of, testing.check_node),
    _Stack(others.find_rust, ("Cargo.lock",), check=testing.check_rust),
    _Stack(others.find_go, ("go.sum",), check=testing.check_go),
    _Stack(others.find_php, ("composer.lock",), check=testing.check_php),
    _Stack(others.find_ruby, ("Gemfile.lock",), check=testing.check_ruby),
    _Stack(others.find_maven, check=testing.check_maven),
    _Stack(others.find_gradle, check=testing.check_gradle),
    _Stack(others.find_dotnet, check=testing.check_dotnet),
)
_HINTS = (python.hints_in, node.hints_in, others.hints_in)
_NOT_OURS = {
    *("build", "dist", "doc", "docs", "example", "examples", "fixtures", "node_modules", "samples", "target"),
    *("templates", "test", "testdata", "tests", "third_party", "vendor"),
}
"""Folders whose manifests are for something else."""


def detect(files: Files, *, is_set_up: bool = True) -> Recipe:
    """`is_set_up`: what is found is what will be run; else somebody has said otherwise."""
    top = files.top()
    below = [one for one in files.below() if one.path not in _NOT_OURS and not one.path.startswith(".")]
    steps = [
        _without_tracked(step, files) for stack in _STACKS for step in _found(stack.find, _standing(stack, top, below))
    ]
    asked = [(stack.check if is_set_up else stack.check_bare or stack.check, stack) for stack in _STACKS]
    checks = [step for check, stack in asked for step in _found(check, _standing(stack, top, below))]
    checks = checks or _found(testing.check_make, [top])
    hints = [hint for folder in (top, *below) for find in _HINTS for hint in find(folder)]
    by_folder = (tuple(sorted(some, key=lambda step: step.folder)) for some in (steps, checks))
    found, tried = by_folder
    return Recipe(found, hints=tuple(hints), checks=tried, servers=servers_in((top, *below)))


def _without_tracked(step: Step, files: Files) -> Step:
    """Where a repository keeps files of its own in a folder of dependencies, what is new there is somebody's work."""
    makes = (one for one in step.makes if not any(_is_in(name, one) for name in files.names))
    return replace(step, makes=tuple(makes))


def _is_in(name: str, pattern: str) -> bool:
    if pattern.startswith("/"):
        return f"/{name}".startswith(pattern)
    return any(fnmatchcase(part, pattern.rstrip("/")) for part in name.split("/")[:-1])


def _found(find: Callable[[Folder], Step | None], folders: Sequence[Folder]) -> list[Step]:
    return [step for step in map(find, folders) if step]


def _standing(stack: _Stack, top: Folder, below: Sequence[Folder]) -> Sequence[Folder]:
    """The top, and what stands on its own beside it."""
    at_top = stack.find(top)
    members = [pattern.removeprefix("./").rstrip("/") for pattern in stack.members(top)]
    alone = [one for one in below if not any(fnmatchcase(one.path, pattern) for pattern in members)]
    if at_top:
        alone = [one for one in alone if one.has(*stack.locks)] if "go.work" not in at_top.why else []
    return [top, *alone]
