"""Python requirements: finds what the tests of a folder without a lock file need besides the package itself. Pure.

Rule: files and groups for tests go before those for development, which hold documentation tools and linters as well.
Packages that tox, hatch and others install into environments of their own are used only if nothing else is named.
"""

import configparser
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bot.setup.repository_files import FileFolder, nested_table, strings

_EXTRAS = ("dev", "test", "tests", "testing")
_TEST_NAMES = ("test", "tests", "testing")
_DEV_NAMES = ("dev", "develop", "development")
_AT_TOP = re.compile(
    r"requirements(?:[-_.](?:dev|develop|development|tests?|testing))?\.txt|(?:dev|tests?)[-_]requirements\.txt"
)
_IN_FOLDERS = (
    *(f"requirements/{name}.txt" for name in (*_TEST_NAMES, "requirements-test", "test-requirements")),
    *("tests/requirements.txt", "test/requirements.txt", "tests/requirements/tests.txt"),
    *(f"requirements/{name}.txt" for name in (*_DEV_NAMES, "requirements-dev")),
    "requirements/local.txt",
)
_BASES = ("requirements/base.txt", "requirements/common.txt", "requirements/requirements.txt")
_SETUP_PY_EXTRA = re.compile(r"""['"](dev|tests?|testing)['"][ \t]{0,9}:""")
_HATCH_ENVIRONMENTS = ("default", "test", "hatch-test")
_FACTOR = re.compile(r"[\w.,!-]+:[ \t]")
_PLUGINS = (
    (re.compile(r"--cov\b"), "pytest-cov"),
    (re.compile(r"--numprocesses|(?:^|[\s\"'=])-n[ =]?(?:auto|logical|[0-9])"), "pytest-xdist"),
    (re.compile(r"\basyncio_mode\b"), "pytest-asyncio"),
    (re.compile(r"--timeout\b"), "pytest-timeout"),
    (re.compile(r"\bDJANGO_SETTINGS_MODULE\b|--(?:ds|reuse-db|no-migrations)\b"), "pytest-django"),
    (re.compile(r"--benchmark-"), "pytest-benchmark"),
)
"""Plugins that the settings of pytest use, by the sign of each: without its plugin, pytest may refuse to start."""
_WORD = re.compile(r"[\w-]+")
_PLAIN = re.compile(r"-r[\w./-]{1,200}|[A-Za-z0-9][\w .,<>=!~\[\]()*+;'\"-]{0,199}")


@dataclass(frozen=True, slots=True)
class TestRequirements:
    """Arguments of `pip install`, besides the package."""

    __test__ = False

    files: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    """Requirements in the form of pip; unquoted."""
    read: tuple[str, ...] = ()
    """Other files that these were read from."""


def find_requirements(folder: FileFolder, *, runs_pytest: bool) -> TestRequirements:
    files = tuple(requirement_files(folder))
    extras = tuple(dict.fromkeys(_extras_in(folder)))
    are_named = bool(extras) or any(map(_is_for_tests, files))
    groups = _groups_in(folder, are_named=are_named)
    text = "\n".join(
        [*map(folder.text, files), *_packages_of_groups(folder, groups), *_texts_of_extras(folder, extras)]
    )
    found = () if are_named or groups or _names(text, "pytest") else tuple(_of_tools(folder))
    packages = [one for _, listed in found for one in listed if _PLAIN.fullmatch(one)]
    if runs_pytest:
        text = "\n".join([text, *packages])
        packages += [one for one in _pytest_packages(folder) if not _names(text, one)]
    read = tuple(name for name, listed in found if listed)
    return TestRequirements(files, extras, groups, tuple(dict.fromkeys(packages)), read)


def requirement_files(folder: FileFolder) -> Iterator[str]:
    """Yields the files at the top, and one for tests or development in a folder of requirements."""
    here = sorted(name for name in folder.names if _AT_TOP.fullmatch(name))
    yield from here
    if any(map(_is_for_tests, here)):
        return
    below = [name for name in (*_IN_FOLDERS, *_BASES) if folder.has_path(name)]
    for_tests = [name for name in below if name in _IN_FOLDERS]
    yield from for_tests[:1]
    if not here and not (for_tests and "-r" in folder.text(for_tests[0])):
        yield from [name for name in below if name in _BASES][:1]


def _is_for_tests(file: str) -> bool:
    return file not in {"requirements.txt", *_BASES}


def _extras_in(folder: FileFolder) -> Iterator[str]:
    known: set[str] = set(nested_table(folder.toml("pyproject.toml"), "project", "optional-dependencies"))
    known |= {name for name, _ in _options_of(folder.text("setup.cfg"), "options.extras_require")}
    if "extras_require" in (script := folder.text("setup.py")):
        known |= set(_SETUP_PY_EXTRA.findall(script))
    return (name for name in _EXTRAS if name in known)


def _texts_of_extras(folder: FileFolder, extras: Sequence[str]) -> Iterator[str]:
    """In files of setuptools, the packages of an extra are somewhere in the text."""
    known = nested_table(folder.toml("pyproject.toml"), "project", "optional-dependencies")
    for name in extras:
        yield from strings(known.get(name))
    yield from (folder.text(name) for name in ("setup.cfg", "setup.py") if extras)


def _groups_in(folder: FileFolder, *, are_named: bool) -> tuple[str, ...]:
    """Returns groups for development only if nothing else is for tests."""
    known = nested_table(folder.toml("pyproject.toml"), "dependency-groups")
    for_tests = tuple(name for name in _TEST_NAMES if name in known)
    return for_tests or tuple(name for name in _DEV_NAMES if name in known and not are_named)


def _packages_of_groups(folder: FileFolder, groups: Sequence[str]) -> Iterator[str]:
    """With the groups that they include, each once."""
    known = nested_table(folder.toml("pyproject.toml"), "dependency-groups")
    waiting, seen = list(groups), set[str]()
    while waiting:
        name = waiting.pop()
        listed = known.get(name)
        if name in seen or not isinstance(listed, list):
            continue
        seen.add(name)
        yield from strings(listed)
        waiting += [str(one["include-group"]) for one in listed if isinstance(one, dict) and "include-group" in one]


def _of_tools(folder: FileFolder) -> Iterator[tuple[str, Sequence[str]]]:
    """Yields the packages that other tools would install for tests, with the file that names them."""
    tool = nested_table(folder.toml("pyproject.toml"), "tool")
    yield "pyproject.toml", [*_of_hatch(tool), *_of_poetry(tool), *_of_pdm(tool)]
    yield "tox.ini", list(_of_tox(folder))


def _of_hatch(tool: Any) -> Iterator[str]:
    for name in _HATCH_ENVIRONMENTS:
        environment = nested_table(tool, "hatch", "envs", name)
        for key in ("dependencies", "extra-dependencies"):
            yield from (one for one in strings(environment.get(key)) if "{" not in one)


def _of_poetry(tool: Any) -> Iterator[str]:
    """Names only: its versions have a syntax of their own."""
    groups = nested_table(tool, "poetry", "group")
    tables = [nested_table(groups, name, "dependencies") for name in (*_TEST_NAMES, *_DEV_NAMES)]
    for table in (nested_table(tool, "poetry", "dev-dependencies"), *tables):
        yield from (name for name, version in table.items() if isinstance(version, str) and name != "python")


def _of_pdm(tool: Any) -> Iterator[str]:
    groups = nested_table(tool, "pdm", "dev-dependencies")
    for name in [one for one in (*_TEST_NAMES, *_DEV_NAMES) if one in groups][:1]:
        yield from (one for one in strings(groups[name]) if not one.startswith("-"))


def _of_tox(folder: FileFolder) -> Iterator[str]:
    """The plain lines of its `deps`; those for some environments only are left out."""
    for name, text in _options_of(folder.text("tox.ini"), "testenv"):
        lines = (line.partition(" #")[0].strip().replace("{toxinidir}/", "") for line in text.splitlines())
        for line in lines if name == "deps" else ():
            file = line.removeprefix("-r").strip()
            if line.startswith("-r") and folder.has_path(file):
                yield f"-r{file}"
            elif line and not line.startswith(("-", "#", ".")) and "{" not in line and not _FACTOR.match(line):
                yield line


def _options_of(text: str, section: str) -> Iterator[tuple[str, str]]:
    found = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        found.read_string(text)
    except configparser.Error:
        return
    yield from (found.items(section) if found.has_section(section) else ())


def _pytest_packages(folder: FileFolder) -> Iterator[str]:
    yield "pytest"
    settings = _settings_of_pytest(folder)
    yield from (package for sign, package in _PLUGINS if sign.search(settings))


def _settings_of_pytest(folder: FileFolder) -> str:
    """Without comments."""
    tool = nested_table(folder.toml("pyproject.toml"), "tool", "pytest")
    options = [
        f"{name} = {value}" for table in (tool, nested_table(tool, "ini_options")) for name, value in table.items()
    ]
    for file, section in (("pytest.ini", "pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        options += [f"{name} = {value}" for name, value in _options_of(folder.text(file), section)]
    return "\n".join(options)


def _names(text: str, package: str) -> bool:
    return package in _WORD.findall(text)
