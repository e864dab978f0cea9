"""Command kinds: what a plain command is for, by its program and its first words. Pure.

Rule: a command that is not known counts as one that may change everything.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum, auto


class CommandKind(Enum):
    TEST = auto()
    INSTALL = auto()
    """Downloads dependencies."""
    BUILD = auto()
    STATE = auto()
    """Changes the folder or the variables of the lines below it."""
    SYSTEM = auto()
    """Needs the rights of root."""
    ISOLATED = auto()
    """Tests in environments of its own, which it downloads."""
    HARMLESS = auto()
    """Changes nothing that tests need."""
    OTHER = auto()


ORDER = (
    CommandKind.OTHER, CommandKind.SYSTEM, CommandKind.ISOLATED, CommandKind.TEST, CommandKind.INSTALL,
    CommandKind.BUILD, CommandKind.STATE, CommandKind.HARMLESS,
)  # fmt: skip
"""The kind of a line is the first of these that one of its commands has."""

_Reader = Callable[[Sequence[str]], CommandKind]
"""Takes the words behind the program."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_LINT = re.compile(r"(?:^|[:_-])(?:lint|format|fmt|prettier|eslint|types?|typecheck|tsc|style)(?=$|[:_-])")
_OTHER = re.compile(r"publish|deploy|release|upload|push|e2e|bench|fuzz|docker|browser|playwright|cypress")
_TEST_PROGRAM = re.compile(r"(?:run[_-]?)?(?:unit[_-]?)?tests?(?:\.sh|\.py)?|rspec|phpunit|pytest|jest|vitest|mocha")
_TEST_SCRIPT = re.compile(r"t|(?:test|unit)(?:[:_-][a-z0-9:_-]*)?|vitest|jest|mocha")
_TEST_TARGETS = {"test", "tests", "check", "unittest", "unit-test", "test-unit"}
_RUN_OPTIONS = {"--with", "--group", "--extra", "--python", "-p", "--only-group", "--package"}
"""Options of `uv run` that a value follows."""
_MAKE_OPTIONS = {"-C", "-f", "--directory", "--file"}


def kind_of(words: Sequence[str]) -> CommandKind:
    program, rest = words[0], tuple(words[1:])
    if rest in {("--version",), ("-v",), ("-V",), ("version",)}:
        return CommandKind.HARMLESS
    if reader := _READERS.get(program):
        return reader(rest)
    return _kind_of_program(program)


def _kind_of_program(program: str) -> CommandKind:
    """A program of the repository, or of its dependencies, is known by its name."""
    name = program.rpartition("/")[2]
    if "/" not in program or program.startswith("/") or _OTHER.search(name):
        return CommandKind.OTHER
    if name in {"configure", "autogen.sh", "buildconf"}:
        return CommandKind.BUILD
    return CommandKind.TEST if _TEST_PROGRAM.fullmatch(name) else CommandKind.OTHER


def _options_removed(words: Sequence[str]) -> list[str]:
    return [word for word in words if not word.startswith(("-", "+")) and not _VARIABLE.match(word)]


def _behind(word: str, words: Sequence[str]) -> Sequence[str]:
    return words[words.index(word) + 1 :]


def _by_first_word(words: Mapping[str, CommandKind], otherwise: CommandKind = CommandKind.OTHER) -> _Reader:
    """An empty word stands for none."""
    return lambda rest: words.get((_options_removed(rest) or [""])[0], otherwise)


def _always(kind: CommandKind) -> _Reader:
    return lambda _: kind


def _python(rest: Sequence[str]) -> CommandKind:
    while rest[:1] in {("-X",), ("-W",)}:
        rest = rest[2:]
    if rest[:1] == ("-m",) and len(rest) > 1:
        return kind_of(rest[1:]) if rest[1] in _MODULES else CommandKind.OTHER
    if not rest or rest[0].startswith("-"):
        return CommandKind.OTHER
    if rest[0].rpartition("/")[2] == "manage.py":
        return CommandKind.TEST if rest[1:2] == ("test",) else CommandKind.OTHER
    return _kind_of_program(f"./{rest[0]}")


def _coverage(rest: Sequence[str]) -> CommandKind:
    if rest[:2] == ("run", "-m"):
        return _python(rest[1:])
    return CommandKind.OTHER if rest[:1] == ("run",) else CommandKind.HARMLESS


def _environment_manager(*installs: str) -> _Reader:
    """uv, Poetry, PDM, Pipenv."""

    def read(rest: Sequence[str]) -> CommandKind:
        first = next(iter(_options_removed(rest)), "")
        if first in installs:
            return CommandKind.INSTALL
        if first == "pip":
            return _pip(_behind("pip", rest))
        if first != "run":
            return CommandKind.HARMLESS if first in {"config", "self", "cache", "check"} else CommandKind.OTHER
        inner = _behind("run", rest)
        while inner and inner[0].startswith("-"):
            inner = inner[2 if inner[0] in _RUN_OPTIONS else 1 :]
        return kind_of(inner) if inner else CommandKind.OTHER

    return read


def _package_manager(rest: Sequence[str]) -> CommandKind:
    """npm, pnpm, Yarn and Bun."""
    words = _options_removed(rest)
    first = words[0] if words else "install"
    if {"-g", "--global"} & set(rest) or first in {"config", "cache", "set", "version"}:
        return CommandKind.HARMLESS
    if first in {"install", "ci", "i"}:
        return CommandKind.INSTALL if len(words) <= 1 else CommandKind.OTHER
    script = words[1] if first in {"run", "run-script"} and len(words) > 1 else first
    if _OTHER.search(script):
        return CommandKind.OTHER
    if _TEST_SCRIPT.fullmatch(script):
        return CommandKind.TEST
    if _LINT.search(script):
        return CommandKind.HARMLESS
    return CommandKind.BUILD if script.startswith(("build", "compile")) else CommandKind.OTHER


def _maven_or_gradle(rest: Sequence[str]) -> CommandKind:
    goals = _options_removed(rest)
    if any(_OTHER.search(goal) for goal in goals) or any("skip" in word for word in rest):
        return CommandKind.OTHER
    if {"test", "verify", "check", "build"} & set(goals):
        return CommandKind.TEST
    return CommandKind.INSTALL if any("dependenc" in goal for goal in goals) else CommandKind.OTHER


def _make(rest: Sequence[str]) -> CommandKind:
    values = {number + 1 for number, word in enumerate(rest) if word in _MAKE_OPTIONS}
    targets = _options_removed(
        [word for number, word in enumerate(rest) if number not in values and not word.isdigit()]
    )
    if _TEST_TARGETS & set(targets):
        return CommandKind.TEST
    if not targets or targets in (["all"], ["build"]):
        return CommandKind.BUILD
    return CommandKind.HARMLESS if all(_LINT.search(target) for target in targets) else CommandKind.OTHER


def _cmake(rest: Sequence[str]) -> CommandKind:
    if {"--install", "install"} & set(rest):
        return CommandKind.OTHER
    return CommandKind.TEST if {"test", "check"} & set(rest) else CommandKind.BUILD


def _bundle(rest: Sequence[str]) -> CommandKind:
    if rest[:1] == ("exec",) and len(rest) > 1:
        return kind_of(rest[1:])
    return {"": CommandKind.INSTALL, "install": CommandKind.INSTALL, "config": CommandKind.HARMLESS}.get(
        next(iter(_options_removed(rest)), ""), CommandKind.OTHER
    )


def _composer(rest: Sequence[str]) -> CommandKind:
    words = _options_removed(rest)
    if words[:1] in (["run"], ["run-script"], ["exec"]):
        words = words[1:]
    known = {"test": CommandKind.TEST, "tests": CommandKind.TEST, "phpunit": CommandKind.TEST}
    known |= {"install": CommandKind.INSTALL, "validate": CommandKind.HARMLESS, "config": CommandKind.HARMLESS}
    return known.get(words[0] if words else "", CommandKind.OTHER)


def _rake(rest: Sequence[str]) -> CommandKind:
    plain = all(task in {"test", "spec", "default", "compile"} for task in _options_removed(rest))
    return CommandKind.TEST if plain else CommandKind.OTHER


def _node(rest: Sequence[str]) -> CommandKind:
    return CommandKind.TEST if "--test" in rest else CommandKind.OTHER


def _through(rest: Sequence[str]) -> CommandKind:
    """npx and the like: only a test runner that is installed."""
    words = [word for word in rest if word != "--no-install"]
    return CommandKind.TEST if words and _TEST_PROGRAM.fullmatch(words[0]) else CommandKind.OTHER


_pip = _by_first_word({"install": CommandKind.INSTALL})
_T, _I, _B, _H = CommandKind.TEST, CommandKind.INSTALL, CommandKind.BUILD, CommandKind.HARMLESS
_MODULES = {"pip", "pytest", "unittest", "coverage", "tox", "nox", "build", "twine", "ruff", "mypy", "flake8"}
_READERS: Mapping[str, _Reader] = {
    **dict.fromkeys(("sudo", "apt", "apt-get", "dnf", "yum", "apk", "brew", "choco"), _always(CommandKind.SYSTEM)),
    **dict.fromkeys(("cd", "export"), _always(CommandKind.STATE)),
    **dict.fromkeys(("echo", "ls", "cat", "pwd", "which", "true", "whoami", "df", "uname", "date"), _always(_H)),
    **dict.fromkeys(
        ("ruff", "mypy", "flake8", "black", "isort", "pylint", "eslint", "codecov", "corepack"), _always(_H)
    ),
    **dict.fromkeys(("python", "python3"), _python),
    **dict.fromkeys(("pip", "pip3"), _pip),
    **dict.fromkeys(("pytest", "py.test", "unittest", "rspec", "phpunit", "ctest", "prove", "jest"), _always(_T)),
    **dict.fromkeys(("tox", "nox", "hatch", "uvx", "pipx"), _always(CommandKind.ISOLATED)),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _package_manager),
    **dict.fromkeys(("mvn", "./mvnw", "gradle", "./gradlew"), _maven_or_gradle),
    **dict.fromkeys(("mkdir", "autoreconf", "autoconf", "automake", "aclocal"), _always(_B)),
    **dict.fromkeys(("npx", "bunx"), _through),
    "coverage": _coverage,
    "uv": _environment_manager("sync"),
    "poetry": _environment_manager("install", "sync"),
    "pdm": _environment_manager("install", "sync"),
    "pipenv": _environment_manager("install", "sync"),
    "cargo": _by_first_word({"test": _T, "fetch": _I, "build": _B, "check": _H, "fmt": _H, "clippy": _H, "doc": _H}),
    "go": _by_first_word({"test": _T, "mod": _I, "get": _I, "build": _B, "vet": _H, "env": _H}),
    "dotnet": _by_first_word({"test": _T, "restore": _I, "build": _B}),
    "composer": _composer,
    "bundle": _bundle,
    "rake": _rake,
    "bake": _rake,
    "node": _node,
    "make": _make,
    "cmake": _cmake,
    "meson": _by_first_word({"test": _T, "setup": _B, "compile": _B}),
    "ninja": _make,
    "mix": _by_first_word({"test": _T, "deps.get": _I, "compile": _B, "format": _H}),
    "swift": _by_first_word({"test": _T, "build": _B}),
    "git": _by_first_word(dict.fromkeys(("config", "submodule", "lfs", "status", "log", "diff"), _H)),
}
"""Submodules and files of Git LFS are in a worktree anyway."""

_TOOLS = frozenset(
    (
        *("uv", "poetry", "pdm", "pipenv", "npm", "npx", "pnpm", "yarn", "bun", "node", "mvn", "gradle", "cargo", "go"),
        *("dotnet", "composer", "bundle", "rake", "make", "cmake", "ctest", "meson", "ninja", "autoreconf", "mix"),
        *("swift", "prove"),
    )
)
"""Programs that a machine may not have."""


def known_tools(commands: Collection[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(command[0] for command in commands if command[0] in _TOOLS))
