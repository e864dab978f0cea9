"""Measures the memory that a sandbox's programs take, with the files that live in memory.

Such files are counted where they are kept: in file systems that only the sandbox has mounted, behind open descriptors,
and in shared mappings that have no descriptor. The kernel's page tables count too: a program fills gigabytes of them by
reading memory that it never writes.
"""

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from bot.system.processes import ProcessId

_PRIVATE_FIELDS = ("Pss_Anon:", "SwapPss:")
_SHARED_FIELD = "Pss_Shmem:"
_MAPPED_FIELDS = ("Pss:", "SwapPss:")
_MAPPING = re.compile(r"[0-9a-f]+-[0-9a-f]+ ")
_BLOCK_BYTES = 512

FileId = tuple[int, int]
"""Device and inode."""


def memory_of(processes: Iterable[ProcessId]) -> int:
    """A process that ends meanwhile counts as far as it was seen."""
    folders = [Path("/proc", str(process.pid)) for process in processes]
    counted: set[FileId] = set()
    kept = sum(_file_systems(folders).values()) + sum(_open_files(folders, counted))
    for folder in folders:
        with contextlib.suppress(OSError, ValueError, IndexError):
            kept += _page_tables(folder)
            lines = (folder / "smaps_rollup").read_text().splitlines()
            kept += sum(_bytes_in(line) for line in lines if line.startswith(_PRIVATE_FIELDS))
            if any(_bytes_in(line) for line in lines if line.startswith(_SHARED_FIELD)):
                kept += _mapped_bytes(folder, counted)
    return kept


def _page_tables(folder: Path) -> int:
    lines = (folder / "status").read_text(errors="replace").splitlines()
    return sum(_bytes_in(line) for line in lines if line.startswith("VmPTE:"))


def _file_systems(folders: Iterable[Path]) -> dict[int, int]:
    """Bytes used in each file system in memory, by device, without those of this machine."""
    ours = {device for device, _ in _memory_mounts(Path("/proc/self"))}
    used: dict[int, int] = {}
    for folder in folders:
        with contextlib.suppress(OSError):
            for device, place in _memory_mounts(folder):
                if device not in ours and device not in used and (found := _used_bytes(folder / "root", place, device)):
                    used[device] = found
    return used


def _memory_mounts(folder: Path) -> Iterator[tuple[int, str]]:
    """Device and place of each."""
    for line in (folder / "mountinfo").read_text(errors="surrogateescape").splitlines():
        fields, _, kind = line.partition(" - ")
        if kind.startswith("tmpfs "):
            device, _, place = fields.split(" ")[2:5]
            major, _, minor = device.partition(":")
            yield os.makedev(int(major), int(minor)), re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), place)


def _used_bytes(root: Path, place: str, device: int) -> int:
    """0 if a mount covers it, or a program put a link on the way to it."""
    with contextlib.suppress(OSError):
        opened = os.open(f"{root}{place}", os.O_PATH | os.O_NOFOLLOW)
        try:
            status = os.fstatvfs(opened)
            return (status.f_blocks - status.f_bfree) * status.f_frsize if os.fstat(opened).st_dev == device else 0
        finally:
            os.close(opened)
    return 0


def _open_files(folders: Iterable[Path], counted: set[FileId]) -> Iterator[int]:
    """Bytes of each file in memory that has no name and is open."""
    nameless = _device_of_nameless_files()
    for folder in folders:
        with contextlib.suppress(OSError):
            for descriptor in os.scandir(folder / "fd"):
                with contextlib.suppress(OSError):
                    status = descriptor.stat()
                    if status.st_dev == nameless and (status.st_dev, status.st_ino) not in counted:
                        counted.add((status.st_dev, status.st_ino))
                        yield status.st_blocks * _BLOCK_BYTES


def _mapped_bytes(folder: Path, counted: set[FileId]) -> int:
    """The process's share of nameless files that it has mapped and nobody has open."""
    nameless, found, is_counted = _device_of_nameless_files(), 0, False
    for line in (folder / "smaps").read_text(errors="replace").splitlines():
        if _MAPPING.match(line):
            major, _, minor = line.split()[3].partition(":")
            device, inode = os.makedev(int(major, 16), int(minor, 16)), int(line.split()[4])
            is_counted = device == nameless and (device, inode) not in counted
        elif is_counted and line.startswith(_MAPPED_FIELDS):
            found += _bytes_in(line)
    return found


def _device_of_nameless_files() -> int:
    """The kernel keeps memory files, shared memory and System V segments of all programs in one file system."""
    opened = os.memfd_create("device")
    try:
        return os.fstat(opened).st_dev
    finally:
        os.close(opened)


def _bytes_in(line: str) -> int:
    return int(line.split()[1]) * 1024
