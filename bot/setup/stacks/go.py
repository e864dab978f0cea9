"""Go: detects the setup and test commands of a folder with a go.mod or go.work. Pure."""

from bot.domain.setup_plan import SetupStep
from bot.setup.repository_files import FileFolder
from bot.setup.stacks.steps import run_step, setup_step

LOCKS = ("go.sum",)


def find_setup(folder: FileFolder) -> SetupStep | None:
    reason = folder.has("go.work", "go.sum", "go.mod")
    return setup_step(folder, "go mod download", reason, "go") if reason else None


def find_tests(folder: FileFolder) -> SetupStep | None:
    reason = folder.has("go.mod")
    return run_step(folder, "go test -v ./...", reason, "go") if reason else None
