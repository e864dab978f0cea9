"""One guard: its place in the code, how to disable it, and which tests notice."""

from dataclasses import dataclass
from pathlib import Path


class NotApplicable(Exception):
    """The code differs from the text of this guard."""


@dataclass(frozen=True, slots=True)
class Guard:
    name: str
    """Begins with the threats it stands against: `T8: ...`."""
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    """The fewest and fastest: at least one of them fails without it."""
    as_root: bool = False
    """It only matters where we are root."""


def switched_off(guard: Guard, root: Path) -> None:
    """Rewrites the file under `root`, which must contain the old text once."""
    file = root / guard.file
    text = file.read_text()
    if text.count(guard.old) != 1:
        raise NotApplicable(f"{guard.file} has it {text.count(guard.old)} times: {guard.old!r}")
    file.unlink()  # other copies may share it
    file.write_text(text.replace(guard.old, guard.new))
