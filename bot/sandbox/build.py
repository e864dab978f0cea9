"""Builds the sandbox from the settings, and refuses to start if its self-test fails.

Rule: there is no fallback. A sandbox that does not hold starts nothing.
"""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bot.errors import CannotStart
from bot.settings.credentials import ensure_registry_tokens, https_proxy, registry_tokens
from bot.settings.schema import Settings

if TYPE_CHECKING:
    from bot.domain.health import Health
    from bot.sandbox.bubblewrap import SandboxRules
    from bot.sandbox.interface import Sandbox
    from bot.sandbox.proxy.learned_hosts import LearnedHosts
    from bot.sandbox.proxy.registry import Registry
    from bot.sandbox.selftest import SelfTestResult

log = logging.getLogger(__name__)


def build_sandbox(
    settings: Settings, model: Mapping[str, str], read_spent_today: Callable[[], float] = lambda: 0.0
) -> "Sandbox":
    """`model` holds the variables with the model's address and key. `read_spent_today` is asked at each request."""
    if settings.sandbox.kind == "none":
        from bot.sandbox.none import NoSandbox

        return NoSandbox(settings.state_dir / "cells", model)
    from bot.sandbox.bubblewrap import Bubblewrap
    from bot.sandbox.proxy.grant import DayBudget

    day = DayBudget(settings.budget.per_day_usd, read_spent_today)
    return Bubblewrap(settings.state_dir, model, sandbox_rules(settings), day)


def build_learning_sandbox(settings: Settings, learned: "LearnedHosts") -> "Sandbox":
    """A sandbox without a model, whose setups reach every public host."""
    from bot.sandbox.bubblewrap import Bubblewrap

    return Bubblewrap(settings.state_dir, {}, sandbox_rules(settings), learned=learned)


def change_sandbox_rules(sandbox: "Sandbox", settings: Settings) -> None:
    """Makes sandboxes that are opened from now on follow these settings."""
    from bot.sandbox.bubblewrap import Bubblewrap

    if isinstance(sandbox, Bubblewrap):
        sandbox.change_rules(sandbox_rules(settings), per_day_usd=settings.budget.per_day_usd)


async def ensure_sandbox_holds(settings: Settings) -> None:
    """Runs the self-test at every start, because an update of the machine may have opened a hole."""
    ensure_registry_tokens(settings)
    result = await run_selftest(settings)
    if result is None:
        log.warning("sandbox off: agents run with the permissions of the user that runs Treehand")
    elif result.holds:
        log.info("sandbox self-test passed: %s", result)
    else:
        raise CannotStart(f"The self-test of the sandbox failed, so Treehand starts no agent. {result}")


async def run_selftest(settings: Settings) -> "SelfTestResult | None":
    """Returns None if the settings choose no sandbox."""
    if settings.sandbox.kind == "none":
        return None
    from bot.sandbox.selftest import run_probes

    return await run_probes(settings.state_dir, sandbox_rules(settings))


async def check_hosts(settings: Settings) -> "Sequence[Health]":
    """Tries each private host and registry. Raises BadSettings if a token is missing."""
    from bot.domain.health import Health
    from bot.sandbox.check_hosts import HostChecks
    from bot.sandbox.proxy.network import Network

    if settings.sandbox.kind == "none":
        named = ", ".join(one.host for one in settings.registries)
        detail = f"[[registries]] has no effect without a sandbox: tools need their own tokens for {named}."
        return [Health("registries", ok=False, detail=detail)] if named else []
    ensure_registry_tokens(settings)
    rules = sandbox_rules(settings)
    network = Network(http_proxy=rules.http_proxy)
    return await HostChecks(rules.private_hosts, rules.registries, rules.authorities, network).run()


async def check_model(model: Mapping[str, str], chosen: str) -> "Health":
    """Sends one request that costs nothing. `chosen`: the full name of the model; empty if it is not known."""
    from bot.sandbox import check_model
    from bot.sandbox.proxy.http_proxy import parse_http_proxy

    return await check_model.check_model(model, chosen, parse_http_proxy(*https_proxy()))


def hidden_path_folders(settings: Settings) -> Sequence[str]:
    """Folders of the PATH that a person has and an agent in the sandbox has not."""
    from bot.sandbox.host_tools import find_hidden_folders, find_tools

    return find_hidden_folders(find_tools(settings.sandbox.tools, settings.state_dir))


async def chown_to_root(*folders: Path) -> None:
    """Makes root the owner again of folders given to agents' users: git refuses the folders of other users."""
    import asyncio

    from bot.sandbox.ownership import chown_tree

    if os.geteuid() == 0:
        await asyncio.to_thread(chown_tree, [folder for folder in folders if folder.exists()], 0)


def registries_of(settings: Settings) -> "Sequence[Registry]":
    """Registries without a token are left out."""
    from bot.sandbox.proxy.host_and_port import parse_allowed_hosts
    from bot.sandbox.proxy.registry import Registry

    tokens = registry_tokens(settings)
    return [
        Registry(host, tokens[one.host], one.auth, one.path, one.token_env or "")
        for one in settings.registries
        if one.host in tokens
        for host in parse_allowed_hosts([one.host])
    ]


def sandbox_rules(settings: Settings) -> "SandboxRules":
    from bot.domain.price import price_from
    from bot.sandbox.authorities import TrustedAuthorities
    from bot.sandbox.bubblewrap import SandboxRules
    from bot.sandbox.proxy.http_proxy import parse_http_proxy
    from bot.sandbox.resource_limits import ProcessLimits, ResourceLimits
    from bot.system.certificates import has_own_authorities

    chosen = settings.sandbox
    memory = round(chosen.memory_gb * 1e9)
    process_limits = ProcessLimits(
        memory_bytes=memory,
        processes=chosen.processes,
        file_bytes=round(chosen.file_gb * 1e9),
        scratch_bytes=(memory or round(8e9)) // 2,
    )
    resource_limits = ResourceLimits(
        memory_bytes=memory, free_disk_bytes=round(min(settings.limits.free_disk_gb, 1) * 1e9 / 2)
    )
    return SandboxRules(
        hosts=frozenset(chosen.hosts),
        setup_hosts=frozenset(settings.setup_hosts),
        private_hosts=frozenset(chosen.private_hosts),
        registries=registries_of(settings),
        authorities=TrustedAuthorities(chosen.ca_file, has_own_authorities()),
        http_proxy=parse_http_proxy(*https_proxy()),
        tools=chosen.tools,
        process_limits=process_limits,
        resource_limits=resource_limits,
        prices={
            name: price_from(one.input, one.output, one.cache_read) for name, one in settings.budget.prices.items()
        },
    )
