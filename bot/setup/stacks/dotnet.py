"""Dotnet: detects the setup and test commands of a folder with a solution or a project file. Pure."""

from bot.domain.setup_plan import SetupStep
from bot.setup.repository_files import FileFolder
from bot.setup.stacks.steps import run_step, setup_step

_SOLUTIONS = (".sln", ".slnx")
_PROJECTS = (".csproj", ".fsproj", ".vbproj")


def find_setup(folder: FileFolder) -> SetupStep | None:
    reason = _first_ending(folder, _SOLUTIONS) or _first_ending(folder, _PROJECTS)
    return setup_step(folder, "dotnet restore", reason, "dotnet") if reason else None


def find_tests(folder: FileFolder) -> SetupStep | None:
    reason = _first_ending(folder, _SOLUTIONS)
    return run_step(folder, "dotnet test --no-restore", reason, "dotnet") if reason else None


def _first_ending(folder: FileFolder, endings: tuple[str, ...]) -> str:
    return next((name for name in sorted(folder.names) if name.endswith(endings)), "")
