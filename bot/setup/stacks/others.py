"""What a folder in another language needs, a few lines for each. Pure."""

from collections.abc import Sequence

from bot.domain.setup_plan import Step
from bot.setup.repository_files import Folder

_GRADLE = ("settings.gradle", "settings.gradle.kts", "build.gradle", "build.gradle.kts")
_SOLUTIONS = (".sln", ".slnx")
_DOTNET = (".csproj", ".fsproj", ".vbproj")


def find_rust(folder: Folder) -> Step | None:
    if not folder.has("Cargo.toml"):
        return None
    lock = folder.has("Cargo.lock")
    command = "cargo fetch --locked" if lock else "cargo fetch"
    return _step(folder, command, lock or "Cargo.toml", ["cargo"])


def find_go(folder: Folder) -> Step | None:
    because = folder.has("go.work", "go.sum", "go.mod")
    return _step(folder, "go mod download", because, ["go"]) if because else None


def find_php(folder: Folder) -> Step | None:
    if not folder.has("composer.json"):
        return None
    because = folder.has("composer.lock", "composer.json")
    command = "composer install --no-interaction --no-progress"
    return _step(folder, command, because, ["composer", "php"], (f"/{folder.at('vendor')}/",))


def find_ruby(folder: Folder) -> Step | None:
    because = folder.has("Gemfile.lock", "Gemfile")
    return _step(folder, "bundle install", because, ["bundle"]) if folder.has("Gemfile") else None


def find_maven(folder: Folder) -> Step | None:
    if not folder.has("pom.xml"):
        return None
    program, tools = ("sh ./mvnw", ["java"]) if folder.has("mvnw") else ("mvn", ["mvn", "java"])
    command = f"{program} --batch-mode --no-transfer-progress -U dependency:go-offline"
    return _step(folder, command, "pom.xml", tools)


def find_gradle(folder: Folder) -> Step | None:
    because = folder.has(*_GRADLE)
    if not because:
        return None
    program, tools = ("sh ./gradlew", ["java"]) if folder.has("gradlew") else ("gradle", ["gradle", "java"])
    return _step(folder, f"{program} --no-daemon dependencies", because, tools, (".gradle/",))


def find_dotnet(folder: Folder) -> Step | None:
    because = _ending(folder, _SOLUTIONS) or _ending(folder, _DOTNET)
    return _step(folder, "dotnet restore", because, ["dotnet"]) if because else None


def hints_in(folder: Folder) -> tuple[str, ...]:
    makefile = folder.has("GNUmakefile", "makefile", "Makefile")
    targets = {line.partition(":")[0].strip() for line in folder.text(makefile).splitlines() if ":" in line[:40]}
    known = [name for name in ("setup", "bootstrap") if makefile and name in targets]
    return tuple(f"{folder.at(makefile)}: has `make {name}`, which is not run by itself" for name in known)


def _ending(folder: Folder, endings: Sequence[str]) -> str:
    return next((name for name in sorted(folder.names) if name.endswith(tuple(endings))), "")


def _step(
    folder: Folder,
    command: str,
    because: str,
    tools: Sequence[str],
    makes: tuple[str, ...] = (),
) -> Step:
    lock = folder.at(because)
    return Step(command, folder.path, lock, tuple(tools), (lock,), makes)
