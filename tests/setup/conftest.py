"""A repository, worktrees of it, and a real sandbox for their setup."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bot.domain.setup_plan import SetupResult
from bot.domain.turn import Event, Workspace
from bot.sandbox.bubblewrap import Bubblewrap, SandboxRules
from bot.sandbox.interface import Sandbox
from bot.secret_scan.scanner import Secrets
from bot.setup.install_versions import VersionInstaller
from bot.setup.plan import SetupOverrides
from bot.setup.port_blocks import PortBlocks
from bot.setup.prepare import ProjectSetup
from bot.setup.resources import SetupResources
from bot.setup.services.programs import InstalledServers
from bot.setup.toolchains import Toolchains
from bot.workspace.workspaces import GitWorkspaces
from tests.workspace.conftest import Origin, empty_origin, origin, root  # noqa: F401 - for the tests here

BRANCH = "treehand/shop-1"
MARKER_PREFIX = f"tests-{os.getpid()}"
"""Other tests run beside these."""


@dataclass
class Shop:
    """One project; its operator's folder is `ada`, the clone from which people push."""

    origin: Origin
    root: Path
    sandbox: Sandbox
    secrets: Secrets = field(default_factory=Secrets)
    seconds: float = 60.0
    verify_seconds: float = 60.0
    events: list[Event] = field(default_factory=list)
    overrides: SetupOverrides = field(default_factory=SetupOverrides)
    toolchains: Toolchains = field(default_factory=lambda: Toolchains(home=Path("/nonexistent")))
    installer: VersionInstaller | None = None

    servers: InstalledServers = field(default_factory=InstalledServers)

    def __post_init__(self) -> None:
        self.workspaces = GitWorkspaces(self.root, "shop", secrets=self.secrets, idle_seconds=0)

    @property
    def resources(self) -> SetupResources:
        blocks, caches = PortBlocks(self.root / "ports"), self.root / "caches" / "shop"
        return SetupResources(
            self.sandbox, self.secrets, blocks, caches, MARKER_PREFIX, lambda: 0.0, self.seconds, self.verify_seconds,
            toolchains=self.toolchains, installer=self.installer, servers=self.servers,
        )  # fmt: skip

    @property
    def project_setup(self) -> ProjectSetup:
        return ProjectSetup(self.workspaces.setup_access, self.overrides, self.resources)

    def told(self, *setup: str, **overrides: object) -> "Shop":
        """Sets the operator's settings."""
        self.overrides = replace(self.overrides, setup=setup or self.overrides.setup, **overrides)
        return self

    async def worktree(self, branch: str = BRANCH) -> Workspace:
        return await self.workspaces.ensure(branch, base="main", remote=self.origin.remote)

    async def ready(self, branch: str = BRANCH) -> SetupResult:
        """Processes of another branch have another marker, as those of another run have: it ends only its own."""
        return await self.project_setup.ensure(await self.worktree(branch), f"{branch}/turn-1", self.events.append)

    async def captured(self, branch: str = BRANCH):
        return await self.workspaces.capture(branch, message="m", at=1.0)

    def folder(self, branch: str = BRANCH) -> Path:
        return self.workspaces.folder(branch)


@pytest.fixture
def shop(origin, root) -> Shop:  # noqa: F811 - pytest's way
    return Shop(origin, root, Bubblewrap(root, {}, SandboxRules()))


@pytest.fixture
def shop_with(origin, root) -> Callable[[Sandbox], Shop]:  # noqa: F811
    return lambda sandbox: Shop(origin, root, sandbox)
