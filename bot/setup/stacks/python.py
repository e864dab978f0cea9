"""Python: detects the setup command (uv, Poetry, PDM, pip), pytest, and Django's server in a folder. Pure.

Rules: a test command needs nothing that setup has not installed; tox and nox, which build environments of their own,
are named and not run. It runs `python -m pytest`, because a `pytest` that is not in the environment may be elsewhere on
the PATH, and would test another environment.
"""

import re
import shlex
from collections.abc import Iterator, Sequence

from bot.domain.setup_plan import SetupStep
from bot.setup.repository_files import FileFolder, nested_table, strings
from bot.setup.stacks import make
from bot.setup.stacks.python_requirements import find_requirements, requirement_files
from bot.setup.stacks.steps import run_step

LOCKS = ("uv.lock", "poetry.lock", "pdm.lock")

_CREATES = (".venv/", "*.egg-info/")
_INSTALL = {
    "uv.lock": ("uv", "uv sync --frozen --all-groups --all-extras"),
    "poetry.lock": ("poetry", "poetry install --no-interaction"),
    "pdm.lock": ("pdm", "pdm install --frozen-lockfile"),
}
_INTERPRETER = {"uv": "uv run --no-sync python", "poetry": "poetry run python", "pdm": "pdm run python"}
_LOCKED_PYTEST = re.compile(r"""^name = ['"]pytest['"]""", re.MULTILINE)
_TEST_FILE = re.compile(r"(?:(?:[\w-]+/){0,3}tests?/(?:[\w-]+/){0,3})?test_\w+\.py")
_PYTEST = re.compile(r"""(?:^|["'\s=,\[])pytest(?![\w-])""", re.MULTILINE)


def find_setup(folder: FileFolder) -> SetupStep | None:
    if lock := folder.has(*LOCKS):
        tool, command = _INSTALL[lock]
        if lock == "uv.lock" and nested_table(folder.toml("pyproject.toml"), "tool", "uv").get("conflicts"):
            command = "uv sync --frozen"  # uv refuses to install conflicting groups together
        return _setup_step(folder, command, tool, [lock])
    package = _package_file(folder)
    if not package and all(name.startswith("test") for name in requirement_files(folder)):
        return None
    runs_pytest = bool(_pytest_file(folder) or (_unnamed_tests(folder) and not make.find_tests(folder)))
    wanted = find_requirements(folder, runs_pytest=runs_pytest)
    itself = [f"-e {_package_with_extras(wanted.extras)}"] if package else []
    install = ".venv/bin/python -m pip install"
    newer_pip = f" && {install} --upgrade 'pip>=25.1'" if wanted.groups else ""  # the first with --group
    arguments = [
        *(f"-r {shlex.quote(name)}" for name in wanted.files),
        *(f"--group {shlex.quote(name)}" for name in wanted.groups),
        *itself,
        *map(shlex.quote, wanted.packages),
    ]
    command = f"python3 -m venv .venv{newer_pip} && {install} {' '.join(arguments)}"
    reasons = dict.fromkeys([*wanted.files, *([package] if package else []), *wanted.read])
    return _setup_step(folder, command, "python3", list(reasons))


def members_of(top: FileFolder) -> tuple[str, ...]:
    """Folders of the uv workspace at the top, as patterns."""
    return strings(nested_table(top.toml("pyproject.toml"), "tool", "uv", "workspace").get("members"))


def find_tests(folder: FileFolder) -> SetupStep | None:
    reason = _pytest_file(folder)
    if not reason:
        return None
    if lock := folder.has(*LOCKS):
        tool, _ = _INSTALL[lock]
        return run_step(folder, f"{_INTERPRETER[tool]} -m pytest", reason, tool)
    python = ".venv/bin/python" if find_setup(folder) else "python3"
    return run_step(folder, f"{python} -m pytest", reason)


def find_unnamed_tests(folder: FileFolder) -> SetupStep | None:
    """Tests that no file speaks of, in a folder with setup: pytest runs those of unittest as well."""
    place = _unnamed_tests(folder)
    if not place:
        return None
    lock = folder.has(*LOCKS)
    if not lock:
        return run_step(folder, ".venv/bin/python -m pytest", place)
    tool, _ = _INSTALL[lock]
    runner = "pytest" if _LOCKED_PYTEST.search(folder.text(lock)) else "unittest"
    return run_step(folder, f"{_INTERPRETER[tool]} -m {runner}", place, tool)


def find_tests_without_setup(folder: FileFolder) -> SetupStep | None:
    """The test command where the operator or the repository names the setup: its environment is not known."""
    reason = _pytest_file(folder)
    return run_step(folder, "python3 -m pytest", reason, "python3") if reason else None


def find_servers(folder: FileFolder) -> Iterator[tuple[str, SetupStep]]:
    if not folder.has("manage.py") or "django" not in folder.text("manage.py"):
        return
    setup = find_setup(folder)
    tool = setup.tools[0] if setup else ""
    python = _INTERPRETER.get(tool, ".venv/bin/python" if setup else "python3")
    yield "web", run_step(folder, f"{python} manage.py runserver $PORT", "manage.py", tool or "python3")


def hints_in(folder: FileFolder) -> tuple[str, ...]:
    return tuple(
        f"{folder.at(name)}: does not run automatically" for name in ("tox.ini", "noxfile.py") if folder.has(name)
    )


def _package_file(folder: FileFolder) -> str:
    """The file that makes the folder installable; a pyproject.toml may hold settings of tools only."""
    pyproject = folder.toml("pyproject.toml")
    if "project" in pyproject or "build-system" in pyproject:
        return "pyproject.toml"
    return folder.has("setup.py")


def _package_with_extras(extras: Sequence[str]) -> str:
    return f"'.[{','.join(extras)}]'" if extras else "."


def _pytest_file(folder: FileFolder) -> str:
    """The file that shows that pytest is used; empty if none does."""
    if folder.has("pytest.ini", "conftest.py"):
        return folder.has("pytest.ini", "conftest.py")
    if "pytest" in nested_table(folder.toml("pyproject.toml"), "tool"):
        return "pyproject.toml"
    listed = sorted(name for name in folder.names if "requirements" in name and name.endswith(".txt"))
    texts = ("pyproject.toml", "setup.cfg", *listed, *requirement_files(folder), "tox.ini", "noxfile.py")
    named = [name for name in texts if _PYTEST.search(folder.text(name))]
    return named[0] if named else ""


def _unnamed_tests(folder: FileFolder) -> str:
    """The first file with tests, if the folder is set up."""
    if not (folder.has(*LOCKS) or _package_file(folder)):
        return ""
    inside = folder.at("")
    names = sorted(name.removeprefix(inside) for name in folder.files.names if name.startswith(inside))
    return next((name for name in names if _TEST_FILE.fullmatch(name)), "")


def _setup_step(folder: FileFolder, command: str, tool: str, reasons: list[str]) -> SetupStep:
    locks = tuple(folder.at(name) for name in reasons)
    return SetupStep(command, folder.path, ", ".join(locks), (tool,), locks, _CREATES)
