"""Finds changed files that decide what the tests say: tests, settings of their runner, programs it loads. Pure.

Rule: names alone tell, so the list is for people who read the change; it proves nothing.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from fnmatch import translate
from posixpath import join, normpath

_FOLDERS = frozenset(
    [
        ".cargo",
        ".mvn",
        ".venv",
        "__mocks__",
        "__snapshots__",
        "__tests__",
        "cypress",
        "e2e",
        "features",
        "fixtures",
        "gradle",
        "node_modules",
        "_pytest",
        "pytest",
        "spec",
        "specs",
        "test",
        "testdata",
        "testing",
        "tests",
        "venv",
        # packages that `python -m pytest` would load from the folder it is started in
        "coverage",
        "exceptiongroup",
        "iniconfig",
        "packaging",
        "pluggy",
        "pygments",
        "tomli",
        "xdist",
    ]
)
_TESTS = (
    "test_*", "*_test.*", "*_tests.*", "*.test.*", "*.tests.*", "*.spec.*", "*_spec.*", "*test.java", "*tests.java",
    "test.*", "runtests*", "*it.java", "*test.kt", "*tests.kt", "*test.cs", "*tests.cs", "*test.php", "*.feature",
    "tests.py",
)  # fmt: skip
_SETTINGS = (
    "conftest.py", "pytest.*", ".pytest.ini", "pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "noxfile.py",
    "*.pth", "*customize.py", ".coveragerc", "package.json", ".npmrc", ".yarnrc*", ".pnpmfile.*", "jest.*", "vitest.*",
    "vite.config.*", "babel.config.*", ".babelrc*", ".swcrc", ".mocharc*", "karma.conf.*", "playwright.config.*",
    "cypress.config.*", ".nycrc*", ".c8rc*", "tsconfig*.json", "makefile", "gnumakefile", "*.mk", "justfile",
    "taskfile.y*ml", "rakefile", ".rspec", "gemfile", "phpunit.*", "composer.json", "pom.xml", "*.gradle",
    "*.gradle.kts", "gradle.properties", "gradlew*", "mvnw*", "*.runsettings", "directory.build.*", "*.csproj",
    "*.fsproj", "*.vbproj", "cargo.toml", "build.rs", "go.mod", "go.work",
    ".env*", ".python-version", ".ruby-version", ".nvmrc", ".node-version", ".java-version", ".tool-versions",
    "rust-toolchain*", "global.json", "pyvenv.cfg", "entry_points.txt", "pluggy.py", "iniconfig.py", "packaging.py",
    "exceptiongroup.py", "tomli.py", "xdist.py", "coverage.py", "pygments.py", "pytest_*.py", "_pytest.py",
    "manage.py", "tasks.py", "dodo.py", "fabfile.py", "nx.json", "turbo.json", "deno.json*", ".taprc", "ava.config.*",
    "wdio.conf.*", "*.sh", "*.bash", "*.ps1", "*.bat", "*.cmd",
)  # fmt: skip
_NAMES = re.compile("|".join(translate(name) for name in (*_TESTS, *_SETTINGS)))
_STANDARD_MODULES = frozenset(sys.stdlib_module_names)


def find_test_files(changed: Iterable[str], commands: Iterable[tuple[str, str]] = ()) -> tuple[str, ...]:
    """`commands`: those of the verification, each with the folder that it starts in."""
    named = frozenset(path for command, folder in commands for path in _named_in(command, folder))
    return tuple(path for path in changed if path in named or _can_change_results(path.casefold()))


def _named_in(command: str, folder: str) -> Iterator[str]:
    """Yields every word with a slash: a shell starts a program of the worktree by such a name."""
    for word in re.split(r"[\s;&|()<>='\"]+", command):
        if "/" in word:
            yield normpath(join(folder, word))


def _can_change_results(path: str) -> bool:
    *_, name = parts = path.split("/")
    return (
        not _FOLDERS.isdisjoint(parts)
        or _NAMES.fullmatch(name) is not None
        or path.partition("/")[0].removesuffix(".py") in _STANDARD_MODULES
    )
