"""Salvage retention: shares salvaged work with the remote and deletes it after RETENTION_DAYS.

Rule: work that was shared is deleted at the remote before it is deleted here.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence

from bot.domain.remote import Remote
from bot.domain.salvage import RETENTION_DAYS, SalvagedWork
from bot.errors import NeedsHuman, Retryable
from bot.ports import Project
from bot.system import clock
from bot.workspace.salvage_store import SalvageStore

log = logging.getLogger(__name__)


async def sync_salvage(
    project: Project, salvage: SalvageStore, *, may_write: Callable[[Project], Awaitable[bool]]
) -> Sequence[str]:
    """Shares salvaged work with the remote and deletes it after RETENTION_DAYS. Returns what was done, for people."""
    now = clock.now()
    remote = await _remote_for_salvage(project)
    if remote:
        await salvage.fetch(remote=remote)
    found, done = await salvage.list(), list[str]()
    await salvage.restart_retention([one.ref for one in found if not one.at], now=now)
    due = [one for one in found if one.is_over(now) or (remote and not one.shared)]
    if due and remote and not await may_write(project):
        log.info("salvage not shared project=%s reason=another daemon holds the lease", project.name)
        remote = None
    for one in due:
        if one.is_over(now):
            done += await _delete_expired(project, salvage, one, remote)
        elif remote:
            done += await _share(project, salvage, one, remote)
    return done


async def _remote_for_salvage(project: Project) -> Remote | None:
    """Returns the remote for salvaged work; None if it is local or cannot be reached."""
    try:
        remote = await project.forge.remote()
    except (Retryable, NeedsHuman) as problem:
        log.info("salvage not shared project=%s reason=%s", project.name, problem)
        return None
    return None if remote.here else remote


async def _delete_expired(
    project: Project, salvage: SalvageStore, one: SalvagedWork, remote: Remote | None
) -> Sequence[str]:
    if one.shared and not remote:
        return ()  # the remote's copy has to be deleted first
    if remote and project.lease:
        project.lease.check()
    await salvage.delete(one, remote=remote)
    return [f"{one.ref} was kept for {RETENTION_DAYS} days and is now removed"]


async def _share(project: Project, salvage: SalvageStore, one: SalvagedWork, remote: Remote) -> Sequence[str]:
    if project.lease:
        project.lease.check()
    try:
        kept = await salvage.share(one.ref, remote=remote)
    except NeedsHuman as problem:
        log.info("salvage not shared ref=%s reason=%s", one.ref, problem)
        return ()
    return [f"{kept.ref} was pushed to the repository"] if kept.shared else ()
