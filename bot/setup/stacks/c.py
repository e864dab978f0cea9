"""C and C++: detects the test commands of CMake, Meson and Autotools, and setup where a build downloads sources. Pure.

The tests are built from the commit that is tested, so each command builds before it tests.
"""

import re
import shlex
from collections.abc import Sequence

from bot.domain.setup_plan import SetupStep
from bot.setup.repository_files import FileFolder
from bot.setup.stacks.steps import run_step, setup_step

_CMAKE_FILES = ("CMakeLists.txt", "test/CMakeLists.txt", "tests/CMakeLists.txt")
_PROJECT = re.compile(r"^[ \t]*project[ \t]{0,9}\(", re.MULTILINE | re.IGNORECASE)
"""A folder without this line is built by the one above."""
_CMAKE_TESTS = re.compile(
    r"\b(?:enable_testing|add_test|gtest_discover_tests)[ \t]{0,9}\(|\binclude[ \t]{0,9}\(CTest\)"
)
_CMAKE_DOWNLOADS = re.compile(r"\b(?:FetchContent_Declare|CPMAddPackage)[ \t]{0,9}\(", re.IGNORECASE)
_CMAKE_OPTION = re.compile(
    r"\b(?:cmake_dependent_)?option[ \t]{0,9}\(\s{0,40}"
    r"((?:[A-Z0-9]{1,40}_){0,3}(?:BUILD|ENABLE|WITH)_(?:UNIT_)?(?:TESTS?|TESTING))\b",
    re.IGNORECASE,
)
"""Options that libraries leave off, so that others who build them need not build their tests."""
_MESON_TEST = re.compile(r"^[ \t]*test[ \t]{0,9}\(", re.MULTILINE)
_MESON_FILES = ("meson.build", "test/meson.build", "tests/meson.build")


def find_setup(folder: FileFolder) -> SetupStep | None:
    """Only downloads: a build that fails must not keep an agent from its work."""
    if _is_project(folder, "CMakeLists.txt") and _finds(_CMAKE_DOWNLOADS, folder, _CMAKE_FILES):
        build = _build_folder(folder)
        return setup_step(folder, _configure(folder), "CMakeLists.txt", "cmake", creates=(f"/{folder.at(build)}/",))
    if _is_project(folder, "meson.build") and _has_wraps(folder):
        return setup_step(folder, "meson subprojects download", "meson.build", "meson")
    return None


def find_tests(folder: FileFolder) -> SetupStep | None:
    return _cmake_tests(folder) or _meson_tests(folder) or _autotools_tests(folder)


def _cmake_tests(folder: FileFolder) -> SetupStep | None:
    if not (_is_project(folder, "CMakeLists.txt") and _finds(_CMAKE_TESTS, folder, _CMAKE_FILES)):
        return None
    build = _build_folder(folder)
    command = f"{_configure(folder)} && cmake --build {build} --parallel 2"
    command += f" && ctest --test-dir {build} --output-on-failure"
    return run_step(folder, command, "CMakeLists.txt", "cmake", "ctest")


def _configure(folder: FileFolder) -> str:
    options = dict.fromkeys(_CMAKE_OPTION.findall(folder.text("CMakeLists.txt")))
    words = ("cmake", "-S", ".", "-B", _build_folder(folder), *(f"-D{name}=ON" for name in options))
    return shlex.join(words)


def _meson_tests(folder: FileFolder) -> SetupStep | None:
    if not (_is_project(folder, "meson.build") and _finds(_MESON_TEST, folder, _MESON_FILES)):
        return None
    build = _build_folder(folder)
    command = f"meson setup {build} && meson test -C {build} --print-errorlogs"
    return run_step(folder, command, "meson.build", "meson", "ninja")


def _autotools_tests(folder: FileFolder) -> SetupStep | None:
    script = folder.has("configure.ac", "configure.in")
    if not (script and folder.has("Makefile.am")):
        return None
    command = "./configure && make --jobs=2 && make --keep-going check"
    if folder.has("configure"):
        return run_step(folder, command, script, "make")
    return run_step(folder, f"autoreconf --force --install && {command}", script, "autoreconf", "make")


def _is_project(folder: FileFolder, file: str) -> bool:
    return _PROJECT.search(folder.text(file)) is not None


def _finds(pattern: re.Pattern[str], folder: FileFolder, files: Sequence[str]) -> bool:
    return any(pattern.search(folder.text(name)) for name in files)


def _build_folder(folder: FileFolder) -> str:
    """Not one that the repository has files in."""
    return "cmake-build" if folder.has_below("build") else "build"


def _has_wraps(folder: FileFolder) -> bool:
    inside = folder.at("subprojects/")
    return any(name.startswith(inside) and name.endswith(".wrap") for name in folder.files.names)
