"""What worktrees are made ready with, and tried with."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bot.sandbox.interface import Sandbox
from bot.secret_scan.scanner import Secrets
from bot.setup.download_hosts import Ask
from bot.setup.port_blocks import Blocks


@dataclass(frozen=True, slots=True)
class Means:
    sandbox: Sandbox
    secrets: Secrets
    blocks: Blocks
    caches: Path
    """Of all that was downloaded for the project."""
    house: str
    """What the marker of every process of ours begins with."""
    clock: Callable[[], float]
    seconds: float
    """One setup may take."""
    verify_seconds: float = 900.0
    """All commands of one verification may take, on one commit."""
    hosts: tuple[str, ...] = ()
    """What setup may reach."""
    ask: Ask = lambda _: ""

    @property
    def shared(self) -> Path:
        return self.caches / "shared"

    def own(self, folder: Path) -> Path:
        return self.caches / "runs" / folder.name

    def home(self, folder: Path) -> Path:
        """Of the commands that try a worktree; gone with them."""
        return self.caches / "trials" / folder.name
