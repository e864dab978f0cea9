"""Wanted versions: reads which versions of languages and build tools a repository asks for. Pure.

A version is required if setup would fail with another one, and preferred otherwise: npm, for example, only warns.
"""

import configparser
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from bot.domain.setup_plan import WantedVersion
from bot.domain.version_range import parse_version
from bot.setup.repository_files import FileFolder, nested_table
from bot.setup.stacks.node import is_berry

_Wanted = Iterator[WantedVersion]
_FIRST_GO_THAT_FETCHES = (1, 21)
"""This version of Go, and each later one, fetches the version that a go.mod names."""
_TOOL_NAMES = {"golang": "go", "nodejs": "node", "dotnet-core": "dotnet"}
"""asdf's and mise's names of tools that have another name here."""
_TOOLS = ("python", "node", "go", "rust", "ruby", "php", "java", "dotnet")
_GO_LINE = re.compile(r"^go[ \t]+([0-9][0-9.]*)", re.MULTILINE)
_RUBY_LINE = re.compile(r"^ruby[ \t(]+(['\"])([^'\"\n]{1,60})\1", re.MULTILINE)
_POM_RELEASE = re.compile(r"<(?:maven\.compiler\.(?:release|target)|java\.version)>[ \t]*([0-9][0-9.]*)")
_LINE_OF_TOOL = re.compile(r"^[ \t]*([a-z][a-z0-9_-]*)[ \t]+([^\s#]+)", re.MULTILINE)
_PINNED = re.compile(
    r"(npm|pnpm|yarn|bun)@([0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}(?:-[0-9A-Za-z][0-9A-Za-z.-]{0,40})?)"
    r"(\+sha(?:1|224|256|384|512)\.[0-9a-f]{40,128})?"
)
"""Corepack's notation. An address in the place of the version is nothing that Treehand fetches."""
_SDKMAN_JAVA = re.compile(r"^java=([0-9][0-9.]*)", re.MULTILINE)


def find_wanted_versions(folders: Sequence[FileFolder]) -> tuple[WantedVersion, ...]:
    found = (one for folder in folders for read in _READERS for one in read(folder))
    return tuple(dict.fromkeys(one for one in found if one.range.strip()))


def _python(folder: FileFolder) -> _Wanted:
    pyproject = folder.toml("pyproject.toml")
    if folder.has("pyproject.toml"):
        yield _required(folder, "python", nested_table(pyproject, "project").get("requires-python"), "pyproject.toml")
        poetry = nested_table(pyproject, "tool", "poetry", "dependencies").get("python")
        yield _required(folder, "python", poetry, "pyproject.toml")
    if folder.has("setup.cfg"):
        yield _required(folder, "python", _in_setup_cfg(folder.text("setup.cfg")), "setup.cfg")
    pinned = _first_line(folder.text(".python-version")).removeprefix("cpython-")
    asks = _required if folder.has("uv.lock") else _preferred
    yield asks(folder, "python", pinned, ".python-version")


def _node(folder: FileFolder) -> _Wanted:
    manifest = folder.json("package.json")
    lock = folder.has("pnpm-lock.yaml", "yarn.lock")  # Yarn 2 and later read no engines
    asks = _required if lock and not is_berry(folder, lock) else _preferred
    yield asks(folder, "node", nested_table(manifest, "engines").get("node"), "package.json")
    yield _preferred(folder, "node", nested_table(manifest, "volta").get("node"), "package.json")
    for name in (".nvmrc", ".node-version"):
        yield _preferred(folder, "node", _first_line(folder.text(name)), name)


def _package_manager(folder: FileFolder) -> _Wanted:
    """Yarn 1 refuses the lock file of a later Yarn, unless the repository contains that Yarn."""
    pinned = _PINNED.fullmatch(str(folder.json("package.json").get("packageManager", "")))
    if pinned:
        is_berry_alone = pinned[1] == "yarn" and not pinned[2].startswith("1.")
        is_required = is_berry_alone and "yarnPath:" not in folder.text(".yarnrc.yml")
        wanted = _preferred(folder, pinned[1], pinned[2], "package.json")
        yield replace(wanted, is_required=is_required, pin=f"{pinned[2]}{pinned[3] or ''}")


def _go(folder: FileFolder) -> _Wanted:
    if line := _GO_LINE.search(folder.text("go.mod")):
        yield _preferred(folder, "go", f">={line[1]}", "go.mod")
        enough = min(parse_version(line[1])[:2], _FIRST_GO_THAT_FETCHES)
        yield _required(folder, "go", f">={'.'.join(map(str, enough))}", "go.mod")


def _rust(folder: FileFolder) -> _Wanted:
    if wanted := nested_table(folder.toml("Cargo.toml"), "package").get("rust-version"):
        yield _required(folder, "rust", f">={wanted}", "Cargo.toml")
    channel = nested_table(folder.toml("rust-toolchain.toml"), "toolchain").get("channel")
    yield _preferred(folder, "rust", channel, "rust-toolchain.toml")
    yield _preferred(folder, "rust", _first_line(folder.text("rust-toolchain")), "rust-toolchain")


def _ruby(folder: FileFolder) -> _Wanted:
    if line := _RUBY_LINE.search(folder.text("Gemfile")):
        yield _required(folder, "ruby", line[2], "Gemfile")
    yield _preferred(folder, "ruby", _first_line(folder.text(".ruby-version")).removeprefix("ruby-"), ".ruby-version")


def _php(folder: FileFolder) -> _Wanted:
    wanted = nested_table(folder.json("composer.json"), "require").get("php")
    if isinstance(wanted, str):  # Composer's `~8.1` allows 8.2, as Bundler's `~> 8.1`
        yield _required(folder, "php", re.sub(r"~(?![>=])", "~>", wanted), "composer.json")


def _java(folder: FileFolder) -> _Wanted:
    if release := _POM_RELEASE.search(folder.text("pom.xml")):
        yield _required(folder, "java", f">={release[1].removeprefix('1.')}", "pom.xml")
    yield _preferred(folder, "java", _first_line(folder.text(".java-version")), ".java-version")
    if line := _SDKMAN_JAVA.search(folder.text(".sdkmanrc")):
        yield _preferred(folder, "java", line[1].partition(".")[0], ".sdkmanrc")


def _dotnet(folder: FileFolder) -> _Wanted:
    sdk = nested_table(folder.json("global.json"), "sdk")
    version = parse_version(str(sdk.get("version", "")))
    if len(version) < 3:  # noqa: PLR2004 - an SDK has three numbers
        return
    major, minor, patch = version[:3]
    given, forward = f"{major}.{minor}.{patch}", str(sdk.get("rollForward", "latestPatch"))
    ends = {
        "disable": f"={given}",
        "patch": f"<{major}.{minor}.{patch // 100 * 100 + 100}",
        "latestPatch": f"<{major}.{minor}.{patch // 100 * 100 + 100}",
        "feature": f"<{major}.{minor + 1}",
        "latestFeature": f"<{major}.{minor + 1}",
        "minor": f"<{major + 1}",
        "latestMinor": f"<{major + 1}",
    }
    yield _required(folder, "dotnet", f">={given} {ends.get(forward, '')}".strip(), "global.json")


def _tool_versions(folder: FileFolder) -> _Wanted:
    for line in _LINE_OF_TOOL.finditer(folder.text(".tool-versions")):
        yield from _of_manager(folder, line[1], line[2], ".tool-versions")
    for name in ("mise.toml", ".mise.toml"):
        for tool, version in nested_table(folder.toml(name), "tools").items():
            yield from _of_manager(folder, tool, version, name)


def _of_manager(folder: FileFolder, tool: str, version: object, file: str) -> _Wanted:
    name = _TOOL_NAMES.get(tool, tool)
    if name in _TOOLS and isinstance(version, str):
        yield _preferred(folder, name, version if version[:1].isdigit() else version.partition("-")[2], file)


_READERS: Sequence[Callable[[FileFolder], _Wanted]] = (
    _python, _node, _package_manager, _go, _rust, _ruby, _php, _java, _dotnet, _tool_versions,
)  # fmt: skip


def _required(folder: FileFolder, tool: str, wanted: object, file: str) -> WantedVersion:
    return replace(_preferred(folder, tool, wanted, file), is_required=True)


def _preferred(folder: FileFolder, tool: str, wanted: object, file: str) -> WantedVersion:
    return WantedVersion(tool, wanted if isinstance(wanted, str) else "", folder.at(file))


def _in_setup_cfg(text: str) -> object:
    found = configparser.ConfigParser(interpolation=None)
    try:
        found.read_string(text)
    except configparser.Error:
        return None
    return found.get("options", "python_requires", fallback=None)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].strip()
