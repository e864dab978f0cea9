"""What a folder with Python in it needs. Pure."""

import re

from bot.domain.setup_plan import Step
from bot.setup.repository_files import Folder, table, words

LOCKS = ("uv.lock", "poetry.lock", "pdm.lock")

_MAKES = (".venv/", "*.egg-info/")
_LOCKED = {
    "uv.lock": ("uv", "uv sync --frozen"),
    "poetry.lock": ("poetry", "poetry install --no-interaction"),
    "pdm.lock": ("pdm", "pdm install --frozen-lockfile"),
}
_REQUIREMENTS = re.compile(
    r"requirements(?:[-_.](?:dev|develop|development|tests?|testing))?\.txt|(?:dev|tests?)[-_]requirements\.txt"
)
_EXTRAS = ("dev", "test", "tests", "testing")


def find_python(folder: Folder) -> Step | None:
    if lock := folder.has(*LOCKS):
        tool, command = _LOCKED[lock]
        return _step(folder, command, tool, [lock])
    listed = sorted(name for name in folder.names if _REQUIREMENTS.fullmatch(name))
    package = _package(folder)
    if not listed and not package:
        return None
    wanted = [*(f"-r {name}" for name in listed), *([f"-e {_itself(folder)}"] if package else [])]
    command = f"python3 -m venv .venv && .venv/bin/python -m pip install {' '.join(wanted)}"
    return _step(folder, command, "python3", [*listed, *([package] if package else [])])


def members_of(top: Folder) -> tuple[str, ...]:
    return words(table(top.toml("pyproject.toml"), "tool", "uv", "workspace").get("members"))


def hints_in(folder: Folder) -> tuple[str, ...]:
    return tuple(f"{folder.at(name)}: not run by itself" for name in ("tox.ini", "noxfile.py") if folder.has(name))


def _package(folder: Folder) -> str:
    """The file that makes it installable; a pyproject.toml may only hold settings of tools."""
    pyproject = folder.toml("pyproject.toml")
    if "project" in pyproject or "build-system" in pyproject:
        return "pyproject.toml"
    return folder.has("setup.py")


def _itself(folder: Folder) -> str:
    known = table(folder.toml("pyproject.toml"), "project", "optional-dependencies")
    extras = [name for name in _EXTRAS if name in known]
    return f"'.[{','.join(extras)}]'" if extras else "."


def _step(folder: Folder, command: str, tool: str, because: list[str]) -> Step:
    locks = tuple(folder.at(name) for name in because)
    return Step(command, folder.path, ", ".join(locks), (tool,), locks, _MAKES)
