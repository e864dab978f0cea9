"""Personal tools: finds build tools that installers put into the home of one user. Changes nothing.

Rule: the sandbox shows a program alone, or the environment that pipx or uv made for it, and never a folder of programs:
people keep other things there.
"""

import os
import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

_NAMES = ("uv", "uvx", "pnpm", "bun", "deno", "just", "task", "poetry", "pdm", "hatch")
_FOLDERS = (".local/bin", ".cargo/bin", ".bun/bin", ".deno/bin", ".local/share/pnpm")
_ENVIRONMENTS = (
    ".local/share/pipx/venvs/*", ".local/pipx/venvs/*", ".local/share/uv/tools/*", ".local/share/pypoetry/venv",
)  # fmt: skip
_PERSONAL = ".local/share"
"""A Python that is installed around it, such as one in `~/.local`, has keys beside it."""
_NATIVE = b"\x7fELF"


@dataclass(frozen=True, slots=True)
class PersonalTool:
    name: str
    program: Path
    folders: tuple[Path, ...] = ()
    """Its Python environment, and the Python of that; empty: the program is one native file."""
    links: tuple[tuple[Path, Path], ...] = ()
    """Links between the two, with their targets."""


def find_personal_tools(home: Path, system_path: str, shown: Collection[Path]) -> Iterator[PersonalTool]:
    """Skips tools that are on `system_path`. `shown`: folders that the sandbox shows anyway."""
    path = os.pathsep.join(str(home / folder) for folder in _FOLDERS)
    for name in _NAMES:
        found = None if shutil.which(name, path=system_path) else shutil.which(name, path=path)
        if not found:
            continue
        program = Path(found).resolve()
        if _is_native(program):
            yield PersonalTool(name, program)
        elif folders := _environment_of(program, home, shown):
            yield PersonalTool(name, program, folders, tuple(_links_from(program.parent / "python")))


def _is_native(program: Path) -> bool:
    try:
        with program.open("rb") as file:
            return program.is_file() and file.read(len(_NATIVE)) == _NATIVE
    except OSError:
        return False


def _environment_of(program: Path, home: Path, shown: Collection[Path]) -> tuple[Path, ...]:
    """Returns nothing if the program, or its Python, is somewhere else."""
    folder = program.parent.parent
    places = [home.resolve() / pattern for pattern in _ENVIRONMENTS]
    if program.parent.name != "bin" or not any(folder.match(str(place)) for place in places):
        return ()
    python = (program.parent / "python").resolve()
    if any(python.is_relative_to(one) for one in shown):
        return (folder,)
    prefix = python.parent.parent
    if (home / _PERSONAL).resolve().is_relative_to(prefix):
        return ()
    return (folder, prefix) if any(prefix.glob("lib/python3*/os.py")) else ()


def _links_from(python: Path) -> Iterator[tuple[Path, Path]]:
    """uv names its Pythons `cpython-3.12-...`, which are links to `cpython-3.12.4-...`."""
    while python.is_symlink():
        python = python.parent / python.readlink()
        prefix = python.parent.parent
        if prefix.is_symlink():
            yield prefix, prefix.resolve()
