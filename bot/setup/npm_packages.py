"""npm packages: fetches a package manager from the operator's registry with the operator's npm, checks and unpacks it.

Rules: no script of a package runs. Of an archive only ordinary files are taken, and only into the new folder.
"""

import hashlib
import json
import os
import platform
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from bot.errors import NeedsHuman
from bot.setup.operator_programs import ProgramFailed, find_operator_program, run_operator_program
from bot.system.private_files import share_folder

_MAX_BYTES = 500_000_000
"""Largest unpacked package."""
_FIRST_NATIVE_PNPM = 12
"""First version that is a native program, which is in a package of its own."""
_MACHINES = {"x86_64": "x64", "aarch64": "arm64"}
_QUIET = {
    "npm_config_audit": "false",
    "npm_config_fund": "false",
    "npm_config_update_notifier": "false",
    "npm_config_fetch_retries": "1",
    "npm_config_ignore_scripts": "true",
}


class WrongHash(NeedsHuman):
    """The registry's package is not the one that the repository names."""


def install_package_manager(name: str, pin: str, folder: Path, *, seconds: float) -> None:
    """Installs it as `folder`, with a `bin`. `pin`: a version, with a hash if there is one.

    Raises ProgramFailed, or WrongHash, and then leaves nothing.
    """
    version, _, expected = pin.partition("+")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="~") as scratch:
        new, archive = Path(scratch) / "new", _fetch(_package_of(name, version), Path(scratch), seconds)
        _unpack(archive, new / "package")
        hashed = new / "package/bin/yarn.js" if _is_berry(name, version) else archive
        _ensure_hash(expected, hashed, f"{name} {version}")
        if name == "pnpm" and _major(version) >= _FIRST_NATIVE_PNPM:
            _add_native_pnpm(version, new / "package", Path(scratch), seconds)
        _link_programs(name, new)
        if not folder.exists():
            new.rename(folder)


def _package_of(name: str, version: str) -> str:
    if name == "bun":
        return f"@oven/bun-linux-{_machine()}@{version}"
    return f"{'@yarnpkg/cli-dist' if _is_berry(name, version) else name}@{version}"


def _is_berry(name: str, version: str) -> bool:
    return name == "yarn" and _major(version) > 1


def _major(version: str) -> int:
    return int(version.partition(".")[0])


def _machine() -> str:
    try:
        return _MACHINES[platform.machine()]
    except KeyError as unknown:
        raise ProgramFailed(f"there is no package for {platform.machine()}") from unknown


def _fetch(package: str, scratch: Path, seconds: float) -> Path:
    npm = find_operator_program("npm")
    if npm is None:
        raise ProgramFailed("npm is not installed")
    place = Path(tempfile.mkdtemp(dir=scratch))
    words = (str(npm), "pack", "--loglevel=error", "--ignore-scripts", "--pack-destination", str(place), "--", package)
    run_operator_program(words, {**_QUIET, "npm_config_cache": str(scratch / "cache")}, seconds=seconds)
    archives = list(place.glob("*.tgz"))
    if len(archives) != 1:
        raise ProgramFailed(f"npm returned no archive of {package}")
    return archives[0]


def _unpack(archive: Path, folder: Path) -> None:
    share_folder(folder.parent)
    room = _MAX_BYTES
    try:
        with tarfile.open(archive, "r:gz") as packed:
            for member, path in _files_in(packed):
                room -= member.size
                content = packed.extractfile(member)
                if room < 0 or content is None:
                    raise ProgramFailed(f"the archive holds more than {_MAX_BYTES // 1_000_000} MB")
                place = folder / path
                for parent in reversed(path.parents):
                    share_folder(folder / parent)
                with place.open("xb") as file:
                    shutil.copyfileobj(content, file)
                place.chmod(0o755 if member.mode & 0o100 else 0o644)
    except (tarfile.TarError, EOFError, OSError) as problem:
        raise ProgramFailed(f"the archive cannot be unpacked: {problem}") from problem


def _files_in(packed: tarfile.TarFile) -> Iterator[tuple[tarfile.TarInfo, PurePosixPath]]:
    """The first part of each path is the package's own folder."""
    for member in packed:
        parts = PurePosixPath(member.name).parts[1:]
        if member.isreg() and parts and ".." not in parts and not member.name.startswith("/"):
            yield member, PurePosixPath(*parts)


def _ensure_hash(expected: str, file: Path, what: str) -> None:
    """Corepack names the hash of the archive; of a Yarn after 1, that of its only file."""
    if not expected:
        return
    algorithm, _, wanted = expected.partition(".")
    with file.open("rb") as content:
        found = hashlib.file_digest(content, algorithm).hexdigest()
    if found != wanted:
        raise WrongHash(f"the registry's {what} has another {algorithm} than package.json names: {found[:16]}...")


def _add_native_pnpm(version: str, package: Path, scratch: Path, seconds: float) -> None:
    native = scratch / "native"
    _unpack(_fetch(f"@pnpm/exe.linux-{_machine()}@{version}", scratch, seconds), native)
    for name in _programs_in(package):
        (package / name).unlink(missing_ok=True)
        os.link(native / "pnpm", package / name)


def _link_programs(name: str, new: Path) -> None:
    share_folder(new / "bin")
    programs = {"bun": "bin/bun", "bunx": "bin/bun"} if name == "bun" else _programs_in(new / "package")
    for program, path in programs.items():
        target = (new / "package" / path).resolve()
        if not target.is_relative_to((new / "package").resolve()) or not target.is_file():
            raise ProgramFailed(f"the package has no {path}")
        target.chmod(0o755)
        (new / "bin" / program).symlink_to(Path("..") / target.relative_to(new.resolve()))
    if not (new / "bin" / name).exists():
        raise ProgramFailed(f"the package has no program {name}")


def _programs_in(package: Path) -> Mapping[str, str]:
    try:
        listed = json.loads((package / "package.json").read_text()).get("bin", {})
    except (OSError, ValueError, AttributeError) as problem:
        raise ProgramFailed("the package has no readable package.json") from problem
    found = listed.items() if isinstance(listed, dict) else ()
    return {one: path for one, path in found if one.isalnum() and isinstance(path, str)}
