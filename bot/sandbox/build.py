"""Chooses what holds the agents, by the settings, and sees that it does.

Rule: there is no falling back. What does not hold starts nothing.
"""

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bot.errors import CannotStart
from bot.settings import Settings

if TYPE_CHECKING:
    from bot.sandbox.bubblewrap import Rules
    from bot.sandbox.interface import Sandbox
    from bot.sandbox.selftest import Trial

log = logging.getLogger(__name__)


def sandbox_of(settings: Settings, model: Mapping[str, str]) -> "Sandbox":
    """`model` is how agents reach theirs."""
    if settings.sandbox.kind == "none":
        from bot.sandbox.none import Unconfined

        return Unconfined(settings.state_dir / "cells", model)
    from bot.sandbox.bubblewrap import Bubblewrap

    return Bubblewrap(settings.state_dir, model, rules_of(settings))


async def ensure_confined(settings: Settings) -> None:
    """Tried at every start: what held yesterday may leak since the last update."""
    trial = await try_sandbox(settings)
    if trial is None:
        log.warning("no sandbox: agents run with the rights of whoever runs this")
    elif trial.holds:
        log.info("sandbox %s", trial)
    else:
        raise CannotStart(f"The sandbox does not hold, so I start no agent. {trial}")


async def try_sandbox(settings: Settings) -> "Trial | None":
    """What tried to get out of it, and whether anything did. None: there is none, by choice."""
    if settings.sandbox.kind == "none":
        return None
    from bot.sandbox.selftest import try_out

    return await try_out(settings.state_dir, rules_of(settings))


def folders_not_shown(settings: Settings) -> Sequence[str]:
    """What a person finds on their PATH and an agent in the sandbox does not."""
    from bot.sandbox.host_tools import find_hidden, find_tools

    return find_hidden(find_tools(settings.sandbox.tools, settings.state_dir))


async def give_to_us(*folders: Path) -> None:
    """Where we are root, what agents work in belongs to users of their own; and git trusts no other's folders."""
    import asyncio

    from bot.sandbox.ownership import give

    if os.geteuid() == 0:
        await asyncio.to_thread(give, [folder for folder in folders if folder.exists()], 0)


def rules_of(settings: Settings) -> "Rules":
    from bot.sandbox.bubblewrap import Rules
    from bot.sandbox.mount_plan import Limits
    from bot.sandbox.resource_watch import Allowance

    chosen = settings.sandbox
    memory = round(chosen.memory_gb * 1e9)
    limits = Limits(
        memory_bytes=memory,
        processes=chosen.processes,
        file_bytes=round(chosen.file_gb * 1e9),
        scratch_bytes=(memory or round(8e9)) // 2,
    )
    allowance = Allowance(memory_bytes=memory, free_disk_bytes=round(min(settings.limits.free_disk_gb, 1) * 1e9 / 2))
    hosts, setup_hosts = frozenset(chosen.hosts), frozenset(chosen.setup_hosts)
    return Rules(hosts=hosts, setup_hosts=setup_hosts, tools=chosen.tools, limits=limits, allowance=allowance)
