"""Builds the steps that stacks return, each with the file that shows that it is needed. Pure."""

from bot.domain.setup_plan import SetupStep
from bot.setup.repository_files import FileFolder


def setup_step(folder: FileFolder, command: str, reason: str, *tools: str, creates: tuple[str, ...] = ()) -> SetupStep:
    """A step that is repeated when the file `reason` changes."""
    lock = folder.at(reason)
    return SetupStep(command, folder.path, lock, tools, (lock,), creates)


def run_step(folder: FileFolder, command: str, reason: str, *tools: str) -> SetupStep:
    """A command that runs the tests or a server."""
    return SetupStep(command, folder.path, folder.at(reason), tools)
