"""Resources of setup and verification: sandbox, secrets, ports, caches, and time limits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.sandbox.interface import Sandbox
from bot.secret_scan.scanner import Secrets
from bot.setup.download_hosts import RunTool
from bot.setup.install_versions import VersionInstaller
from bot.setup.port_blocks import PortBlocks
from bot.setup.services.programs import InstalledServers
from bot.setup.toolchains import Toolchains
from bot.system.trash import discard

TRASH = "~trash"
"""Folder of `cache_folder`, which is pruned with it."""


@dataclass(frozen=True, slots=True)
class SetupResources:
    sandbox: Sandbox
    secrets: Secrets
    port_blocks: PortBlocks
    cache_folder: Path
    """Downloads of the project."""
    marker_prefix: str
    """Prefix of the marker that all processes of this daemon carry."""
    clock: Callable[[], float]
    setup_seconds: float
    """Time limit of one setup (`limits.setup_minutes`)."""
    verify_seconds: float = 900.0
    """Time limit of all commands of one verification together, on one commit (`limits.verify_minutes`)."""
    setup_hosts: tuple[str, ...] = ()
    """Hosts that setup may reach."""
    run_tool: RunTool = lambda _: ""
    toolchains: Toolchains = field(default_factory=Toolchains)
    installer: VersionInstaller | None = None
    """Installs missing versions; None: nothing is installed."""
    servers: InstalledServers = field(default_factory=InstalledServers)
    """Databases and the like that a sandbox can see."""

    @property
    def shared_cache(self) -> Path:
        return self.cache_folder / "shared"

    def run_cache(self, folder: Path) -> Path:
        return self.cache_folder / "runs" / folder.name

    @property
    def trial_folders(self) -> Sequence[Callable[[Path], Path]]:
        """Folders of test commands in a worktree."""
        return (self.test_home, self.test_copy, self.service_copy)

    def service_data(self, folder: Path) -> Path:
        """Data of the services of a worktree."""
        return self.cache_folder / "services" / folder.name

    def discard(self, folder: Path) -> None:
        """Deletes a cache or home that commands wrote to."""
        discard(folder, self.cache_folder / TRASH)

    def test_home(self, folder: Path) -> Path:
        """Home of test commands; removed when they have ended."""
        return self.cache_folder / "trials" / folder.name

    def test_copy(self, folder: Path) -> Path:
        """Copy of a worktree for one test command; removed when it has ended."""
        return self.cache_folder / "trials" / f"{folder.name}.copy"

    def service_copy(self, folder: Path) -> Path:
        """Copy of the data of its services, for the same command."""
        return self.cache_folder / "trials" / f"{folder.name}.services"
