"""Installs missing versions of languages and package managers, outside of any sandbox, before setup runs.

Rules: the operator allows it (`sandbox.install_versions`), and the operator's own npm, uv or mise does it; no code of a
repository runs. Each version is installed once, in `toolchains` below the state directory, and is read-only in every
sandbox.
"""

import logging
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.domain.setup_plan import PACKAGE_MANAGERS, WantedVersion, by_weight
from bot.domain.version_range import Version, parse_range, parse_version
from bot.setup.npm_packages import install_package_manager
from bot.setup.operator_programs import ProgramFailed, find_operator_program, run_operator_program
from bot.system.private_files import share_folder
from bot.text.invisible_characters import strip_invisible

log = logging.getLogger(__name__)

_MOST_SECONDS = 600.0
_LIST_SECONDS = 60.0
_SPARE_GB = 2.0
"""Free beyond the minimum, for one version."""
_RETRY_SECONDS = 600.0
_LONGEST_REASON = 200
_UV_LINE = re.compile(r"^cpython-([0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})-", re.MULTILINE)
_MISE_LINE = re.compile(r"^([0-9]{1,9}(?:\.[0-9]{1,9}){1,3})$", re.MULTILINE)
_BY_MISE = ("python", "node", "go", "ruby", "java", "dotnet")


@dataclass(frozen=True, slots=True)
class VersionInstaller:
    """Installs versions into a folder that all projects share."""

    folder: Path
    is_allowed: bool = True
    seconds: float = _MOST_SECONDS
    min_free_gb: float = 0.0
    clock: Callable[[], float] = lambda: 0.0
    find_program: Callable[[str], Path | None] = find_operator_program
    _failed: dict[tuple[WantedVersion, ...], tuple[float, str]] = field(default_factory=dict)
    """Time and reason of failed installations of preferred versions, which are tried again later."""

    def program_for(self, tool: str, wanted: Sequence[WantedVersion]) -> str:
        """Returns the name of the program that would install the tool; empty if none can."""
        if not self.is_allowed:
            return ""
        if tool in PACKAGE_MANAGERS:
            return "npm" if any(one.pin for one in wanted) and self.find_program("npm") else ""
        if tool == "python" and self.find_program("uv"):
            return "uv"
        return "mise" if tool in _BY_MISE and self.find_program("mise") else ""

    def install(self, tool: str, wanted: Sequence[WantedVersion]) -> str:
        """Returns why the tool could not be installed; empty if it was. Raises WrongHash."""
        key, now = tuple(wanted), self.clock()
        is_required = any(one.is_required for one in wanted)
        if key in self._failed and not is_required and now < self._failed[key][0] + _RETRY_SECONDS:
            return self._failed[key][1]
        program = self.program_for(tool, wanted)
        try:
            self._ensure_room()
            version = self._install(program, tool, wanted)
        except (ProgramFailed, OSError) as problem:
            why = f"{program} could not install it: `{_on_one_line(str(problem))}`"
            self._failed[key] = now, why
            log.warning("version not installed tool=%s program=%s: %s", tool, program, problem)
            return why
        log.info("version installed tool=%s version=%s program=%s folder=%s", tool, version, program, self.folder)
        return ""

    def _ensure_room(self) -> None:
        share_folder(self.folder)
        free = shutil.disk_usage(self.folder).free / 1e9
        if self.min_free_gb and free < self.min_free_gb + _SPARE_GB:
            raise ProgramFailed(f"only {free:.1f} GB of disk are free")

    def _install(self, program: str, tool: str, wanted: Sequence[WantedVersion]) -> str:
        if program == "npm":
            exact = next(one for one in wanted if one.pin)
            share_folder(self.folder / tool)
            install_package_manager(tool, exact.pin, self.folder / tool / exact.folder_name, seconds=self.seconds)
            return exact.pin
        return self._install_by_uv(wanted) if program == "uv" else self._install_by_mise(tool, wanted)

    def _install_by_uv(self, wanted: Sequence[WantedVersion]) -> str:
        variables = {"UV_PYTHON_INSTALL_BIN": "0", "UV_NO_PROGRESS": "1", "UV_NO_CACHE": "1"}
        listed = self._run("uv", ("python", "list", "--all-versions", "--only-downloads"), variables, _LIST_SECONDS)
        version = _newest(_UV_LINE.findall(listed), wanted)
        self._run("uv", ("python", "install", "--install-dir", str(self.folder / "python"), version), variables)
        return version

    def _install_by_mise(self, tool: str, wanted: Sequence[WantedVersion]) -> str:
        own = self.folder / "mise"
        variables = {"MISE_DATA_DIR": str(own), "MISE_YES": "1", "MISE_AUTO_INSTALL": "false"}
        listed = self._run("mise", ("ls-remote", tool), variables, _LIST_SECONDS)
        version = _newest(_MISE_LINE.findall(listed), wanted, prefers_even=tool == "node")
        self._run("mise", ("install", f"{tool}@{version}"), variables)
        return version

    def _run(self, name: str, words: Sequence[str], variables: Mapping[str, str], seconds: float = 0.0) -> str:
        program = self.find_program(name)
        if program is None:
            raise ProgramFailed(f"{name} is not installed")
        return run_operator_program((str(program), *words), variables, seconds=seconds or self.seconds)


def _newest(listed: Sequence[str], wanted: Sequence[WantedVersion], *, prefers_even: bool = False) -> str:
    """Even numbers of Node get support for years, and odd ones for months. Raises ProgramFailed if nothing fits."""

    def rank(text: str) -> tuple[bool, Version]:
        version = parse_version(text)
        return prefers_even and version[0] % 2 == 0, version

    for chosen in filter(None, by_weight(wanted)):
        ranges = [parse_range(one.range) for one in chosen]
        if found := [one for one in listed if all(each.contains(parse_version(one)) for each in ranges)]:
            return max(found, key=rank)
    raise ProgramFailed("it knows no version that fits")


def _on_one_line(text: str) -> str:
    """The beginning, to be quoted in backticks."""
    return " ".join(strip_invisible(text).replace("`", "'").split())[:_LONGEST_REASON] or "no reason given"
