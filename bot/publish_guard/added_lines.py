"""Added lines of a file against its known versions, searched for secrets and programs. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.publish_guard.auto_run_files import git_drivers, programs_finder
from bot.publish_guard.hidden_changes import hiding_attributes
from bot.publish_guard.path_collisions import decode_path
from bot.publish_guard.path_rules import canonical
from bot.publish_guard.protected_paths import ATTRIBUTES
from bot.secret_scan.scanner import NOT_SEARCHED, Secrets, find_suspicious
from bot.secret_scan.unpack import UnpackBudget

_SNIFFED_BYTES = 8_000


@dataclass(frozen=True, slots=True)
class AddedLines:
    path: bytes
    content: bytes
    before: Sequence[bytes]

    @property
    def is_binary(self) -> bool:
        return b"\0" in self.content[:_SNIFFED_BYTES]

    def lines(self) -> list[tuple[int, bytes]]:
        """Added lines with their numbers."""
        old = {line for version in self.before for line in version.split(b"\n")}
        numbered = enumerate(self.content.split(b"\n"), start=1)
        return [(number, line) for number, line in numbered if line not in old]


def known_secrets_in(file: AddedLines, secrets: Secrets, budget: UnpackBudget) -> tuple[str, ...]:
    """The host's own secrets that no earlier version held, in words; or that they could not be searched for."""
    found = secrets.search(file.content, budget)
    before = [secrets.search(version, budget).names for version in file.before] if found.names else []
    held = tuple(f"contains {name}" for name in found.names if not any(name in names for names in before))
    return held if found.is_complete else (*held, NOT_SEARCHED)


def find_likely_secrets(files: Sequence[AddedLines]) -> Mapping[bytes, tuple[str, ...]]:
    """Text that looks like a secret, in words, by path. Scanning all files at once is faster."""
    lines: list[str] = []
    places: list[tuple[bytes, int]] = []
    for file in files:
        new = [] if file.is_binary else file.lines()
        lines += [*(line.decode(errors="replace") for _, line in new), ""]
        places += [*((file.path, number) for number, _ in new), (file.path, 0)]
    found = defaultdict[bytes, tuple[str, ...]](tuple)
    for one in find_suspicious(lines):
        path, number = places[one.line - 1]
        found[path] += (f"line {number} contains what looks like a secret ({one.kind})",)
    return found


def can_run_programs(path: bytes) -> bool:
    """True if a file of this name can make tools run programs."""
    name = _name_of(path)
    return name == ATTRIBUTES or programs_finder(name) is not None


def programs_in(file: AddedLines) -> tuple[str, ...]:
    """Programs that the file makes tools run, in words."""
    name = _name_of(file.path)
    if name == ATTRIBUTES:
        return git_drivers(line for _, line in file.lines())
    find_programs = programs_finder(name)
    return find_programs(file.content, file.before) if find_programs else ()


def marks_in(file: AddedLines) -> tuple[str, ...]:
    """Marks that the file adds so that something is kept from a reviewer, in words."""
    return hiding_attributes([line for _, line in file.lines()]) if _name_of(file.path) == ATTRIBUTES else ()


def _name_of(path: bytes) -> str:
    return canonical(decode_path(path)).rpartition("/")[2]
