"""Finds changed files that decide what the tests say: tests, settings of their runner, programs it loads. Pure.

Rule: names alone tell, so the list is for people who read the change; it proves nothing.
"""

import re
import sys
from collections.abc import Iterable
from fnmatch import translate

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
    ]
)
_TESTS = (
    "test_*", "*_test.*", "*_tests.*", "*.test.*", "*.tests.*", "*.spec.*", "*_spec.*", "*test.java", "*tests.java",
    "*it.java", "*test.kt", "*tests.kt", "*test.cs", "*tests.cs", "*test.php", "*.feature", "tests.py",
)  # fmt: skip
_SETTINGS = (
    "conftest.py", "pytest.*", ".pytest.ini", "pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "noxfile.py",
    "*.pth", "*customize.py", ".coveragerc", "package.json", ".npmrc", ".yarnrc*", ".pnpmfile.*", "jest.*", "vitest.*",
    "vite.config.*", "babel.config.*", ".babelrc*", ".swcrc", ".mocharc*", "karma.conf.*", "playwright.config.*",
    "cypress.config.*", ".nycrc*", ".c8rc*", "tsconfig*.json", "makefile", "gnumakefile", "*.mk", "justfile",
    "taskfile.y*ml", "rakefile", ".rspec", "gemfile", "phpunit.*", "composer.json", "pom.xml", "*.gradle",
    "*.gradle.kts", "gradle.properties", "gradlew*", "mvnw*", "*.runsettings", "directory.build.*", "*.csproj",
    "*.fsproj", "*.vbproj", "cargo.toml", "build.rs", "go.mod", "go.work",
)  # fmt: skip
_NAMES = re.compile("|".join(translate(name) for name in (*_TESTS, *_SETTINGS)))
_STANDARD_MODULES = frozenset(sys.stdlib_module_names)


def find_test_files(changed: Iterable[str]) -> tuple[str, ...]:
    return tuple(path for path in changed if _can_change_results(path.casefold()))


def _can_change_results(path: str) -> bool:
    *folders, name = path.split("/")
    return (
        not _FOLDERS.isdisjoint(folders)
        or _NAMES.fullmatch(name) is not None
        or path.partition("/")[0].removesuffix(".py") in _STANDARD_MODULES
    )
