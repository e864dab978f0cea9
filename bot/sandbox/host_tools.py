"""Finds what programs in a sandbox are run with. Looks at the machine; changes nothing."""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from bot.errors import BadSettings, CannotStart
from bot.sandbox import init_process as inside
from bot.sandbox.mount_plan import Tools

NO_BWRAP = (
    "There is no bubblewrap (`bwrap`) on the PATH, and agents work only inside it. Install it (Debian and Ubuntu: "
    'apt-get install bubblewrap; Fedora: dnf install bubblewrap), or choose to do without with `sandbox.kind = "none"`.'
)
NO_LINUX = (
    "Agents work in a sandbox that only Linux has. Run Treehand on Linux (a virtual machine will do), or choose to do"
    ' without: `sandbox.kind = "none"`, for issues and repositories that you trust.'
)
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32")
_ETC = (
    "alternatives", "ca-certificates", "ca-certificates.conf", "chromium.d", "debian_version", "dotnet", "fonts",
    "java-*", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "magic", "maven/logging", "maven/m2.conf",
    "mime.types", "os-release", "php", "pki", "protocols", "services", "ssl/certs", "ssl/openssl.cnf", "timezone",
)  # fmt: skip
"""What builds look up there; nothing that names people, machines or keys."""


def find_tools(more: Sequence[Path], state_dir: Path) -> Tools:
    """`more` are folders that the operator adds. Raises when bubblewrap is missing, or a folder would show too much."""
    if sys.platform != "linux":
        raise CannotStart(NO_LINUX)
    bwrap = shutil.which("bwrap")
    if not bwrap:
        raise CannotStart(NO_BWRAP)
    for folder in more:
        _check(folder, state_dir)
    roots = [Path(name) for name in _SYSTEM if Path(name).exists()]
    etc = [found for name in _ETC for found in sorted(Path("/etc").glob(name))]
    shown = [folder for folder in (*roots, *etc) if not folder.is_symlink()]
    own = [one for one in _own(more) if not any(one.is_relative_to(known) for known in shown)]
    _ensure_hidden(state_dir, (*shown, *own))
    return Tools(
        bwrap=Path(bwrap).resolve(),
        python=Path(os.path.realpath(sys.executable)),
        inside=Path(inside.__file__).resolve(),
        folders=(*shown, *own),
        links=tuple((str(link), str(link.readlink())) for link in (*roots, *etc) if link.is_symlink()),
        search=("/usr/local/bin", "/usr/bin", "/bin", *map(_programs_in, own)),
    )


def find_hidden(tools: Tools) -> Sequence[str]:
    """What is on the PATH out here, and not there in the sandbox. What we live in ourselves is nothing to agents."""
    known = [*tools.folders, *(Path(place) for place, _ in tools.links), Path(sys.prefix)]
    return tuple(
        str(folder)
        for folder in dict.fromkeys(map(Path, os.get_exec_path()))
        if folder.is_dir() and not any(folder.resolve().is_relative_to(one.resolve()) for one in known)
    )


def find_program(tools: Tools, name: str) -> bool:
    """As a shell in there would; a link has to lead to something that is shown as well."""
    found = shutil.which(name, path=tools.path)
    shown = [one.resolve() for one in (*tools.folders, *(Path(place) for place, _ in tools.links))]
    return found is not None and any(Path(found).resolve().is_relative_to(one) for one in shown)


def _programs_in(folder: Path) -> str:
    return str(folder / "bin" if (folder / "bin").is_dir() else folder)


def _own(more: Sequence[Path]) -> Sequence[Path]:
    """The Python that we run with has to be there, wherever it was installed."""
    return tuple(dict.fromkeys(folder.resolve() for folder in (Path(sys.base_prefix), *more)))


def _check(folder: Path, state_dir: Path) -> None:
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
