"""Which sandboxes may use a registry: setup, and agents only if the operator lists the host for them as well."""

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.domain.turn import AgentTask, WorktreeMounts
from bot.sandbox.authorities import TrustedAuthorities
from bot.sandbox.bubblewrap import Bubblewrap, SandboxRules
from bot.sandbox.proxy.grant import Grant, SandboxUsage, ignore_usage
from bot.sandbox.proxy.host_and_port import HostPort
from bot.sandbox.proxy.registry import Registry
from bot.sandbox.proxy.registry_route import RegistryAccess

HOST = "npm.corp.test"
NPM = Registry(HostPort(HOST, 443), "corp-token-4711-abcdef", variable="NPM_TOKEN")


@dataclass
class OpenProxy:
    """Records what the proxies of sandboxes are opened with."""

    opened: list[tuple[Grant, RegistryAccess | None]] = field(default_factory=list)

    @asynccontextmanager
    async def open(self, _socket: Path, grant: Grant, _on_usage, registries: RegistryAccess | None):
        self.opened.append((grant, registries))
        yield SandboxUsage()


@pytest.fixture
def mounts(tmp_path) -> WorktreeMounts:
    folders = [tmp_path / name for name in ("worktree", "shadow", "agent-git", "objects", "home")]
    for folder in folders:
        folder.mkdir()
    return WorktreeMounts(*folders[:4])


async def opened(folder: Path, mounts: WorktreeMounts, hosts: frozenset[str] = frozenset()):
    """Opens each kind of sandbox; returns what its proxy got, and its variables."""
    rules = SandboxRules(hosts, frozenset({HOST}), frozenset({HOST}), [NPM], authorities=TrustedAuthorities())
    sandbox, proxy = Bubblewrap(folder / "state", {}, rules), OpenProxy()
    sandbox._proxy = proxy
    turn = AgentTask("turn", mounts, folder / "home", "", "")
    kinds = {
        "turn": sandbox.open_turn(turn, "cells:none", ignore_usage),
        "test": sandbox.open_test(mounts, folder / "home", None, "cells:none"),
        "setup": sandbox.open_setup(mounts, folder / "home", "cells:none", network=True),
        "offline": sandbox.open_setup(mounts, folder / "home", "cells:none", network=False),
    }
    found = {}
    for kind, opening in kinds.items():
        async with opening as one:
            found[kind] = (*proxy.opened[-1], one.environment)
    return found


async def test_t8_only_setup_reaches_a_registry_that_is_listed_for_nobody_else(tmp_path, mounts):
    found = await opened(tmp_path, mounts)

    assert {kind for kind, (grant, _, _) in found.items() if grant.hosts} == {"setup"}
    assert {kind for kind, (_, access, _) in found.items() if access} == {"setup"}
    assert {kind for kind, (_, _, variables) in found.items() if "SSL_CERT_FILE" in variables} == {"setup"}


async def test_agents_and_tests_reach_a_registry_that_is_listed_for_them_too(tmp_path, mounts):
    found = await opened(tmp_path, mounts, frozenset({HOST}))

    assert {kind for kind, (_, access, _) in found.items() if access} == {"turn", "test", "setup"}
    assert {kind for kind, (_, _, variables) in found.items() if "SSL_CERT_FILE" in variables} == {
        "turn",
        "test",
        "setup",
    }


async def test_t6_every_sandbox_has_a_placeholder_and_an_authority_of_its_own(tmp_path, mounts):
    found = await opened(tmp_path, mounts, frozenset({HOST}))

    assert {variables["NPM_TOKEN"] for _, _, variables in found.values()} == {"held-by-treehand"}
    assert all(NPM.token not in " ".join(variables.values()) for _, _, variables in found.values())
    certificates = [access.authority.certificate for _, access, _ in found.values() if access]
    assert len(set(certificates)) == 3
