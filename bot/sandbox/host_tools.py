"""Host tools: finds the machine's programs and libraries that every sandbox shows, read-only. Changes nothing."""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from bot.errors import BadSettings, CannotStart
from bot.sandbox import init_process, service_process
from bot.sandbox.mount_plan import SYSTEM_SEARCH, TOOLS, HostTools
from bot.sandbox.personal_tools import find_personal_tools

BWRAP_MISSING = (
    "There is no bubblewrap (`bwrap`) on the PATH, and agents work only inside it. Install bubblewrap (Debian "
    "and Ubuntu: "
    'apt-get install bubblewrap; Fedora: dnf install bubblewrap), or run without a sandbox: `sandbox.kind = "none"`.'
)
LINUX_ONLY = (
    "Agents work in a sandbox that only Linux has. Run Treehand on Linux (a virtual machine will do), or run without"
    ' a sandbox: `sandbox.kind = "none"`, for issues and repositories that you trust.'
)
_SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32")
_ETC_FILES = (
    "alternatives", "ca-certificates", "ca-certificates.conf", "chromium.d", "debian_version", "dotnet", "fonts",
    "java-*", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "magic", "maven/logging", "maven/m2.conf",
    "mime.types", "os-release", "php", "pki", "protocols", "services", "ssl/certs", "ssl/openssl.cnf", "timezone",
)  # fmt: skip
"""Files that builds read there; none holds names of people or machines, or keys."""


def find_tools(extra: Sequence[Path], state_dir: Path, toolchains: Sequence[Path] = ()) -> HostTools:
    """Programs are searched in `toolchains` first, then in `extra`, which is `sandbox.tools`, then in the system's.

    Raises CannotStart without bubblewrap, BadSettings if a folder would show secrets.
    """
    if sys.platform != "linux":
        raise CannotStart(LINUX_ONLY)
    bwrap = shutil.which("bwrap")
    if not bwrap:
        raise CannotStart(BWRAP_MISSING)
    extra = (*toolchains, *extra)
    for folder in extra:
        _ensure_allowed(folder, state_dir)
    roots = [Path(name) for name in _SYSTEM_FOLDERS if Path(name).exists()]
    etc = [found for name in _ETC_FILES for found in sorted(Path("/etc").glob(name))]
    shown = [folder for folder in (*roots, *etc) if not folder.is_symlink()]
    first, last = _unique_folders(extra), _unique_folders([Path(sys.base_prefix)])
    own = [one for one in (*first, *last) if not any(one.is_relative_to(known) for known in shown)]
    before = (*map(_bin_folder, first), *SYSTEM_SEARCH)
    personal = tuple(find_personal_tools(Path.home(), os.pathsep.join(before), (*shown, *own)))
    own += _unique_folders([folder for one in personal for folder in one.folders])
    _ensure_hidden(state_dir, (*shown, *own))
    return HostTools(
        bwrap=Path(bwrap).resolve(),
        python=Path(os.path.realpath(sys.executable)),
        init_process=Path(init_process.__file__).resolve(),
        service_process=Path(service_process.__file__).resolve(),
        folders=(*shown, *own),
        links=tuple(
            (str(link), str(target))
            for link, target in (
                *((link, link.readlink()) for link in (*roots, *etc) if link.is_symlink()),
                *dict.fromkeys(link for one in personal for link in one.links),
            )
        ),
        programs=tuple((one.name, one.program) for one in personal),
        search=tuple(dict.fromkeys((*before, *([TOOLS] if personal else []), *map(_bin_folder, last)))),
    )


def find_hidden_folders(tools: HostTools) -> Sequence[str]:
    """Folders of this process's PATH that the sandbox does not show, except those of Treehand's own environment."""
    known = [*tools.folders, *(Path(place) for place, _ in tools.links), Path(sys.prefix)]
    return tuple(
        str(folder)
        for folder in dict.fromkeys(map(Path, os.get_exec_path()))
        if folder.is_dir() and not any(folder.resolve().is_relative_to(one.resolve()) for one in known)
    )


def has_program(tools: HostTools, name: str) -> bool:
    """Searches as a shell in the sandbox would; the target of a link must be shown as well."""
    if any(name == shown for shown, _ in tools.programs):
        return True
    found = shutil.which(name, path=tools.path)
    shown = [one.resolve() for one in (*tools.folders, *(Path(place) for place, _ in tools.links))]
    return found is not None and any(Path(found).resolve().is_relative_to(one) for one in shown)


def _bin_folder(folder: Path) -> str:
    return str(folder / "bin" if (folder / "bin").is_dir() else folder)


def _unique_folders(folders: Sequence[Path]) -> Sequence[Path]:
    return tuple(dict.fromkeys(folder.resolve() for folder in folders))


def _ensure_allowed(folder: Path, state_dir: Path) -> None:
    if not folder.is_dir():
        raise BadSettings(f"sandbox.tools: {folder} is not a folder.")
    if state_dir.resolve().is_relative_to(folder.resolve()):
        raise BadSettings(
            f"sandbox.tools: {folder} contains the state_dir, where secrets and other runs are. Name a smaller folder."
        )


def _ensure_hidden(state_dir: Path, shown: Sequence[Path]) -> None:
    for folder in shown:
        if state_dir.resolve().is_relative_to(folder.resolve()):
            raise BadSettings(
                f"state_dir: {state_dir} is in {folder}, which every agent can read. Choose a folder outside of it."
            )
