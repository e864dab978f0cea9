"""PHP: detects the setup and test commands of a folder with a composer.json. Pure."""

from bot.domain.setup_plan import SetupStep
from bot.setup.repository_files import FileFolder, nested_table
from bot.setup.stacks.steps import run_step, setup_step

LOCKS = ("composer.lock",)


def find_setup(folder: FileFolder) -> SetupStep | None:
    if not folder.has("composer.json"):
        return None
    reason = folder.has("composer.lock", "composer.json")
    command = "composer install --no-interaction --no-progress"
    return setup_step(folder, command, reason, "composer", "php", creates=(f"/{folder.at('vendor')}/",))


def find_tests(folder: FileFolder) -> SetupStep | None:
    scripts = nested_table(folder.json("composer.json"), "scripts")
    if "test" in scripts:
        return run_step(folder, "composer test", "composer.json", "composer", "php")
    settings = folder.has("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml") if folder.has("composer.json") else ""
    return run_step(folder, "php vendor/bin/phpunit", settings, "php") if settings else None
