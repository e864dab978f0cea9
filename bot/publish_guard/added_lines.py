"""What has been written into a file since the versions that are known: the lines that are new. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.publish_guard.auto_run_files import drivers, install_scripts
from bot.publish_guard.path_collisions import text_of
from bot.publish_guard.path_rules import canonical
from bot.publish_guard.protected_paths import ATTRIBUTES, PACKAGE
from bot.secret_scan.scanner import Secrets, suspicious

_SNIFFED = 8_000


@dataclass(frozen=True, slots=True)
class Written:
    path: bytes
    content: bytes
    before: Sequence[bytes]

    @property
    def is_binary(self) -> bool:
        return b"\0" in self.content[:_SNIFFED]

    def lines(self) -> list[tuple[int, bytes]]:
        """The new ones, each with its number."""
        old = {line for version in self.before for line in version.split(b"\n")}
        numbered = enumerate(self.content.split(b"\n"), start=1)
        return [(number, line) for number, line in numbered if line not in old]


def leaks_in(file: Written, secrets: Secrets) -> tuple[str, ...]:
    """Secrets of ours that none of the versions before held, in words."""
    found = secrets.find_in(file.content)
    old = {name for version in file.before for name in secrets.find_in(version)} if found else set()
    return tuple(f"it holds {name}" for name in found if name not in old)


def looks_in(files: Sequence[Written]) -> Mapping[bytes, tuple[str, ...]]:
    """What looks like anybody's secret, by path, in words. One look at all files takes less time."""
    lines: list[str] = []
    places: list[tuple[bytes, int]] = []
    for file in files:
        new = [] if file.is_binary else file.lines()
        lines += [*(line.decode(errors="replace") for _, line in new), ""]
        places += [*((file.path, number) for number, _ in new), (file.path, 0)]
    found = defaultdict[bytes, tuple[str, ...]](tuple)
    for one in suspicious(lines):
        path, number = places[one.line - 1]
        found[path] += (f"line {number} holds what looks like a secret ({one.kind})",)
    return found


def may_run(path: bytes) -> bool:
    """A file of this name may have others run programs."""
    return _name_of(path) in {PACKAGE, ATTRIBUTES}


def programs_in(file: Written) -> tuple[str, ...]:
    """What the file would have others run, in words."""
    match _name_of(file.path):
        case name if name == PACKAGE:
            return install_scripts(file.content, file.before)
        case name if name == ATTRIBUTES:
            return drivers(line for _, line in file.lines())
        case _:
            return ()


def _name_of(path: bytes) -> str:
    return canonical(text_of(path)).rpartition("/")[2]
