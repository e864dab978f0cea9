"""Ruby: detects the setup and test commands of a folder with a Gemfile. Pure."""

import re

from bot.domain.setup_plan import SetupStep
from bot.setup.repository_files import FileFolder
from bot.setup.stacks.steps import run_step, setup_step

LOCKS = ("Gemfile.lock",)
_TEST_TASK = re.compile(
    r"^[ \t]*(?:Rake::TestTask\.new(?:[ \t]*do\b|\(?[ \t]*:test\b)|task[ (]+:?['\"]?test\b)", re.MULTILINE
)


def find_setup(folder: FileFolder) -> SetupStep | None:
    reason = folder.has("Gemfile.lock", "Gemfile")
    return setup_step(folder, "bundle install", reason, "bundle") if folder.has("Gemfile") else None


def find_tests(folder: FileFolder) -> SetupStep | None:
    if not folder.has("Gemfile"):
        return None
    if reason := folder.has(".rspec") or ("spec" if folder.has_below("spec") else ""):
        return run_step(folder, "bundle exec rspec", reason, "bundle")
    if folder.has_path("bin/rails") and folder.has_below("test"):
        return run_step(folder, "bundle exec ruby bin/rails test", "bin/rails", "bundle")
    rakefile = folder.has("Rakefile", "rakefile", "Rakefile.rb")
    return run_step(folder, "bundle exec rake test", rakefile, "bundle") if _has_task(folder.text(rakefile)) else None


def _has_task(rakefile: str) -> bool:
    return _TEST_TASK.search(rakefile) is not None
