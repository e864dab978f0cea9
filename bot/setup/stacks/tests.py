"""What a repository tries its own code with, as its files say. Pure.

Rule: only what needs nothing from elsewhere. What makes environments of its own first, such as tox, is not run unasked.
"""

import re

from bot.domain.setup_plan import Step
from bot.setup.repository_files import Folder, table
from bot.setup.stacks.node import find_node
from bot.setup.stacks.python import find_python

_PYTEST = re.compile(r"""(?:^|["'\s=,\[])pytest(?![\w-])""", re.MULTILINE)
_NO_TEST = re.compile(r"no test specified")
_RUNS = {"uv.lock": ("uv", "uv run --no-sync"), "poetry.lock": ("poetry", "poetry run"), "pdm.lock": ("pdm", "pdm run")}
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_TARGET = re.compile(r"^test\s*:(?!=)", re.MULTILINE)


def check_python(folder: Folder) -> Step | None:
    because = _pytest_in(folder)
    if not because:
        return None
    if lock := folder.has(*_RUNS):
        tool, runs = _RUNS[lock]
        return _step(folder, f"{runs} pytest", because, tool)
    python = ".venv/bin/python" if find_python(folder) else "python3"
    return _step(folder, f"{python} -m pytest", because)


def check_bare_python(folder: Folder) -> Step | None:
    """Where setup is not ours: whether there is an environment, and where, is not known."""
    because = _pytest_in(folder)
    return _step(folder, "python3 -m pytest", because, "python3") if because else None


def check_node(folder: Folder) -> Step | None:
    script = str(table(folder.json("package.json"), "scripts").get("test", "")).strip()
    setup = find_node(folder)
    if not script or _NO_TEST.search(script) or setup is None:
        return None
    (manager,) = setup.tools
    return _step(folder, "bun run test" if manager == "bun" else f"{manager} test", "package.json", manager)


def check_rust(folder: Folder) -> Step | None:
    locked = " --locked" if folder.has("Cargo.lock") else ""
    return _step(folder, f"cargo test{locked}", "Cargo.toml", "cargo") if folder.has("Cargo.toml") else None


def check_go(folder: Folder) -> Step | None:
    because = folder.has("go.mod")
    return _step(folder, "go test ./...", because, "go") if because else None


def check_php(folder: Folder) -> Step | None:
    scripts = table(folder.json("composer.json"), "scripts")
    return _step(folder, "composer test", "composer.json", "composer", "php") if "test" in scripts else None


def check_ruby(folder: Folder) -> Step | None:
    because = folder.has(".rspec") or ("spec" if folder.has_below("spec") else "")
    return _step(folder, "bundle exec rspec", because, "bundle") if because and folder.has("Gemfile") else None


def check_maven(folder: Folder) -> Step | None:
    if not folder.has("pom.xml"):
        return None
    program, tools = ("sh ./mvnw", ("java",)) if folder.has("mvnw") else ("mvn", ("mvn", "java"))
    return _step(folder, f"{program} --batch-mode --offline -q test", "pom.xml", *tools)


def check_gradle(folder: Folder) -> Step | None:
    because = folder.has("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
    if not because:
        return None
    program, tools = ("sh ./gradlew", ("java",)) if folder.has("gradlew") else ("gradle", ("gradle", "java"))
    return _step(folder, f"{program} --no-daemon --offline test", because, *tools)


def check_dotnet(folder: Folder) -> Step | None:
    because = next((name for name in sorted(folder.names) if name.endswith((".sln", ".slnx"))), "")
    return _step(folder, "dotnet test --no-restore", because, "dotnet") if because else None


def check_make(folder: Folder) -> Step | None:
    """For what is found in no other way."""
    makefile = folder.has(*_MAKEFILES)
    return _step(folder, "make test", makefile, "make") if _TARGET.search(folder.text(makefile)) else None


def _pytest_in(folder: Folder) -> str:
    """The file that shows that it is used here."""
    if folder.has("pytest.ini", "conftest.py"):
        return folder.has("pytest.ini", "conftest.py")
    if "pytest" in table(folder.toml("pyproject.toml"), "tool"):
        return "pyproject.toml"
    listed = sorted(name for name in folder.names if re.fullmatch(r".*requirements.*\.txt", name))
    named = [name for name in ("pyproject.toml", "setup.cfg", *listed) if _PYTEST.search(folder.text(name))]
    return named[0] if named else ""


def _step(folder: Folder, command: str, because: str, *tools: str) -> Step:
    return Step(command, folder.path, folder.at(because), tools)
