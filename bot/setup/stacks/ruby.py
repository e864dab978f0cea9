"""Ruby: detects the setup and test commands of a folder with a Gemfile. Pure."""

from bot.domain.setup_plan import SetupStep
from bot.setup.repository_files import FileFolder
from bot.setup.stacks.steps import run_step, setup_step

LOCKS = ("Gemfile.lock",)


def find_setup(folder: FileFolder) -> SetupStep | None:
    reason = folder.has("Gemfile.lock", "Gemfile")
    return setup_step(folder, "bundle install", reason, "bundle") if folder.has("Gemfile") else None


def find_tests(folder: FileFolder) -> SetupStep | None:
    reason = folder.has(".rspec") or ("spec" if folder.has_below("spec") else "")
    return run_step(folder, "bundle exec rspec", reason, "bundle") if reason and folder.has("Gemfile") else None
