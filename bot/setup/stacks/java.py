"""Java: detects the setup and test commands of Maven and Gradle, with their wrappers where there are some. Pure."""

from bot.domain.setup_plan import SetupStep
from bot.setup.repository_files import FileFolder
from bot.setup.stacks.steps import run_step, setup_step

_GRADLE_SETUP_FILES = ("settings.gradle", "settings.gradle.kts", "build.gradle", "build.gradle.kts")
_GRADLE_TEST_FILES = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")


def find_maven_setup(folder: FileFolder) -> SetupStep | None:
    if not folder.has("pom.xml"):
        return None
    program, tools = _maven(folder)
    command = f"{program} --batch-mode --no-transfer-progress -U dependency:go-offline"
    return setup_step(folder, command, "pom.xml", *tools)


def find_maven_tests(folder: FileFolder) -> SetupStep | None:
    if not folder.has("pom.xml"):
        return None
    program, tools = _maven(folder)
    return run_step(folder, f"{program} --batch-mode --offline --fail-at-end test", "pom.xml", *tools)


def find_gradle_setup(folder: FileFolder) -> SetupStep | None:
    reason = folder.has(*_GRADLE_SETUP_FILES)
    if not reason:
        return None
    program, tools = _gradle(folder)
    return setup_step(folder, f"{program} --no-daemon dependencies", reason, *tools, creates=(".gradle/",))


def find_gradle_tests(folder: FileFolder) -> SetupStep | None:
    reason = folder.has(*_GRADLE_TEST_FILES)
    if not reason:
        return None
    program, tools = _gradle(folder)
    return run_step(folder, f"{program} --no-daemon --offline test", reason, *tools)


def _maven(folder: FileFolder) -> tuple[str, tuple[str, ...]]:
    return ("sh ./mvnw", ("java",)) if folder.has("mvnw") else ("mvn", ("mvn", "java"))


def _gradle(folder: FileFolder) -> tuple[str, tuple[str, ...]]:
    return ("sh ./gradlew", ("java",)) if folder.has("gradlew") else ("gradle", ("gradle", "java"))
