"""Toolchains: finds the installed versions of languages and build tools, and chooses what a repository asks for.

Looks where version managers install (uv, pyenv, mise, asdf, nvm, fnm, Volta, rustup, rbenv, SDKMAN), and where Treehand
keeps the versions that it installed. What the machine has anyway is used if it will do.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from bot.domain.setup_plan import PACKAGE_MANAGERS, SetupPlan, WantedVersion, by_weight
from bot.domain.version_range import Version, parse_range, parse_version
from bot.setup.download_hosts import RunTool

_MAX_FOLDERS = 200
_MAX_NAMED = 4
_UNUSUAL = re.compile(r"nightly|beta|dev|freethreaded|debug|rc|[0-9][ab][0-9]")
_NUMBERS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,3}")
_NAMED_VERSION = re.compile(r"(?:v|go|go-|cpython-|ruby-|java-|jdk-)?([0-9]{1,9}(?:\.[0-9]{1,9}){0,3})(?![0-9])")


@dataclass(frozen=True, slots=True)
class _Tool:
    program: str
    """Exists in the `bin` of each installed version."""
    places: tuple[str, ...]
    """Patterns of the folders that hold one version each; `~` is the operator's home, `@` Treehand's own folder."""
    advice: str
    """A command that installs a version."""


def _managed(*names: str) -> tuple[str, ...]:
    folders = ("~/.local/share/mise/installs", "@/mise/installs", "~/.asdf/installs")
    return tuple(f"{folder}/{name}/*" for folder in folders for name in names)


_TOOLS = {
    "python": _Tool(
        "python3",
        ("~/.local/share/uv/python/cpython-*", "@/python/cpython-*", "~/.pyenv/versions/*", *_managed("python")),
        "uv python install {version}",
    ),
    "node": _Tool(
        "node",
        (
            "~/.nvm/versions/node/*", "~/.local/share/fnm/node-versions/*/installation", "~/.volta/tools/image/node/*",
            *_managed("node", "nodejs"),
        ),
        "mise install node@{version}",
    ),
    "go": _Tool("go", ("~/sdk/go*", "/usr/local/go", "/usr/lib/go-*", *_managed("go"), "~/.asdf/installs/golang/*/go"),
                "mise install go@{version}"),
    "rust": _Tool("cargo", ("~/.rustup/toolchains/*", *_managed("rust")), "rustup toolchain install {version}"),
    "ruby": _Tool("ruby", ("~/.rbenv/versions/*", *_managed("ruby")), "mise install ruby@{version}"),
    "php": _Tool("php", _managed("php"), "mise install php@{version}"),
    "java": _Tool("java", ("/usr/lib/jvm/*", "~/.sdkman/candidates/java/*", *_managed("java")),
                  "mise install java@{version}"),
    "dotnet": _Tool("dotnet", _managed("dotnet", "dotnet-core"), "mise install dotnet@{version}"),
    **{name: _Tool(name, (f"@/{name}/*",), f"npm install --global {name}@{{version}}") for name in PACKAGE_MANAGERS},
}  # fmt: skip
_VERSION_COMMANDS = {"go": "version"}
_TOOL_OF = {
    "python3": "python", "npm": "node", "pnpm": "node", "yarn": "node", "go": "go", "cargo": "rust", "bundle": "ruby",
    "composer": "php", "java": "java", "dotnet": "dotnet",
}  # fmt: skip
"""The tool that a program belongs to."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """One installed version of a tool."""

    tool: str
    version: Version
    """Empty: it does not say, and counts as any."""
    folder: Path | None = None
    """None if the sandbox shows it anyway."""

    def __str__(self) -> str:
        number = ".".join(map(str, self.version)) or "of an unknown version"
        return f"{number} in {self.folder}" if self.folder else number


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """The versions that a worktree gets."""

    folders: tuple[Path, ...] = ()
    """Folders that the sandbox shows, and searches first."""
    used: tuple[Toolchain, ...] = ()
    missing: tuple[str, ...] = ()
    """Sentences: setup cannot succeed."""
    notes: tuple[str, ...] = ()
    """Sentences about preferences that are not met."""
    planned: Mapping[str, str] = field(default_factory=dict)
    """Sentences about versions that will be installed, by tool."""
    unmet: Mapping[str, Sequence[WantedVersion]] = field(default_factory=dict)
    """All wanted versions of each tool that lacks one of them."""

    def will_bring(self, program: str) -> bool:
        """Returns True if the program comes with a version that will be installed."""
        return program in self.planned or _TOOL_OF.get(program) in self.planned


@dataclass(frozen=True, slots=True)
class Toolchains:
    """Finds the toolchains of this machine."""

    search: Callable[[], str] = lambda: os.defpath
    """Returns the PATH of the sandbox."""
    home: Path = field(default_factory=Path.home)
    run_tool: RunTool = lambda _: ""
    own_folder: Path = Path("/nonexistent")
    """Holds the versions that Treehand installed."""
    _versions: dict[tuple[str, int], Version] = field(default_factory=dict)
    """Versions by the path and the time of change of the program that printed them."""

    def choose(
        self,
        plan: SetupPlan,
        program_for: Callable[[str, Sequence[WantedVersion]], str] = lambda *_: "",
        problems: Mapping[str, str] = MappingProxyType({}),
    ) -> ToolChoice:
        """Also chooses a version of each tool that a step needs and the machine has not got elsewhere.

        `program_for` returns the program that will install a tool; empty if none will. `problems` says why that failed.
        """
        needed = (program for step in (*plan.steps, *plan.checks) for program in step.tools)
        tools = dict.fromkeys(
            [*(one.tool for one in plan.wanted), *(_TOOL_OF[one] for one in needed if one in _TOOL_OF)]
        )
        choice = ToolChoice()
        for tool in sorted(tools, key=lambda tool: tool not in PACKAGE_MANAGERS):  # a Node may bring other ones
            wanted = [one for one in plan.wanted if one.tool == tool]
            choice = self._add(choice, tool, wanted, program_for(tool, wanted), problems.get(tool, ""))
        return choice

    def _add(
        self, choice: ToolChoice, tool: str, wanted: Sequence[WantedVersion], program: str, problem: str
    ) -> ToolChoice:
        installed = sorted(self._installed(tool), key=_preference, reverse=True)
        if tool in PACKAGE_MANAGERS:  # each was installed for repositories that name exactly this one
            installed = [one for one in installed if any(_fits(one, each) for each in wanted)]
        known = [*self._on_path(tool), *installed]
        required = [one for one in wanted if one.is_required]
        chosen = next((one for some in by_weight(wanted) if (one := _first_for(known, some))), None)
        unmet = [one for one in wanted if chosen is None or not _fits(chosen, one)]
        if unmet:
            choice = replace(choice, unmet={**choice.unmet, tool: wanted})
        if unmet and program:
            named = ", ".join(f"{one.range} ({one.why})" for one in unmet)
            sentence = f"{tool} {named} will be installed with {program}"
            return replace(choice, planned={**choice.planned, tool: sentence})
        if chosen is None:
            missing = [_missing(tool, required, known, problem)] if required else []
            notes = [f"{one} is not installed{_because(problem)}" for one in wanted] if not required else []
            return replace(choice, missing=(*choice.missing, *missing), notes=(*choice.notes, *notes))
        folders = (*choice.folders, chosen.folder) if chosen.folder else choice.folders
        notes = [f"{one} is not installed{_because(problem)}; {tool} {chosen} is used" for one in unmet]
        return replace(choice, folders=folders, used=(*choice.used, chosen), notes=(*choice.notes, *notes))

    def _on_path(self, tool: str) -> Iterator[Toolchain]:
        program = shutil.which(_TOOLS[tool].program, path=self.search())
        if program and "corepack" not in Path(program).resolve().parts:  # corepack fetches its own versions
            yield Toolchain(tool, self._version_of(tool, program))

    def _installed(self, tool: str) -> Iterator[Toolchain]:
        for pattern in _TOOLS[tool].places:
            for folder in _matching(pattern, self.home, self.own_folder):
                program = folder / "bin" / _TOOLS[tool].program
                if not os.access(program, os.X_OK):
                    continue
                named = _NAMED_VERSION.match(folder.name)
                version = parse_version(named[1]) if named else self._version_of(tool, str(program))
                if version[:1] == (1,) and tool == "java":
                    version = version[1:]  # Debian's other name of 17 is `java-1.17.0`
                if version:
                    yield Toolchain(tool, version, folder.resolve())

    def _version_of(self, tool: str, program: str) -> Version:
        try:
            key = program, Path(program).stat().st_mtime_ns
        except OSError:
            return ()
        if key not in self._versions:
            self._versions[key] = parse_version(self.run_tool((program, _VERSION_COMMANDS.get(tool, "--version"))))
        return self._versions[key]


def _preference(toolchain: Toolchain) -> tuple[bool, Version]:
    """Releases first, the newest in front."""
    return not (toolchain.folder and _UNUSUAL.search(toolchain.folder.name)), toolchain.version


def _first_for(known: Sequence[Toolchain], wanted: Sequence[WantedVersion]) -> Toolchain | None:
    return next((one for one in known if all(_fits(one, each) for each in wanted)), None)


def _fits(toolchain: Toolchain, wanted: WantedVersion) -> bool:
    if wanted.pin and toolchain.folder:
        return toolchain.folder.name == wanted.folder_name
    return not toolchain.version or parse_range(wanted.range).contains(toolchain.version)


def _because(problem: str) -> str:
    return f" ({problem})" if problem else ""


def _missing(tool: str, required: Sequence[WantedVersion], known: Sequence[Toolchain], problem: str) -> str:
    ranges = " and ".join(f"`{one.range}` ({one.why})" for one in required)
    more = f" and {len(known) - _MAX_NAMED} more" if len(known) > _MAX_NAMED else ""
    found = f"found: {', '.join(map(str, known[:_MAX_NAMED]))}{more}" if known else "no version is found"
    lowest = next((number for one in required if (number := _NUMBERS.search(one.range))), None)
    command = _TOOLS[tool].advice.format(version=lowest[0] if lowest else "latest")
    problem_line = f"the repository asks for {tool} {ranges}; {found}{_because(problem)}"
    return f"{problem_line}. Install it, for example with `{command}`"


def _matching(pattern: str, home: Path, own_folder: Path) -> Sequence[Path]:
    top, _, names = pattern.partition("/")
    root = {"~": home, "@": own_folder}.get(top, Path("/"))
    try:
        return [folder for folder in sorted(root.glob(names))[:_MAX_FOLDERS] if folder.is_dir()]
    except OSError:
        return []
