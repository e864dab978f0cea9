"""Salvaged work of one project: lists, shares, fetches and deletes it, here and at the remote."""

from collections.abc import Callable, Sequence
from pathlib import Path

from bot.domain.change import Objection
from bot.domain.remote import Remote
from bot.domain.salvage import SalvagedWork, SalvageLocation
from bot.git.in_thread import in_thread
from bot.system.disk import describe_sizes
from bot.workspace.dropped import contains_dropped
from bot.workspace.mirror import Mirror
from bot.workspace.paths import SALVAGE_DATES
from bot.workspace.salvage import companion_ref, list_salvaged, record_dates
from bot.workspace.salvage_remote import delete_local, delete_remote, fetch_shared, share

_SECONDS = 3.0
"""A person who has stopped a run waits for it."""
_SIZE_SECONDS = 1.0


class SalvageStore:
    def __init__(self, mirror: Mirror, objections_to: Callable[[str, float], Sequence[Objection]]) -> None:
        self._mirror, self._objections_to = mirror, objections_to

    async def list(self) -> Sequence[SalvagedWork]:
        return await in_thread(list_salvaged, self._mirror) if self._mirror.exists() else ()

    async def restart_retention(self, refs: Sequence[str], *, now: float) -> None:
        """Restarts the retention period."""
        await in_thread(record_dates, self._mirror, now, *refs)

    async def share(self, ref: str, *, remote: Remote) -> SalvageLocation:
        """Pushes it to the remote, unless the publish guard objects. Returns its location.

        A folder stays on this machine.
        """
        return await in_thread(self._share, ref, remote)

    async def fetch(self, *, remote: Remote) -> None:
        """Fetches salvaged work that only the remote has."""
        await in_thread(self._fetch, remote)

    async def delete(self, one: SalvagedWork, *, remote: Remote | None) -> None:
        """Deletes it at the remote, then here."""
        await in_thread(self._delete, one, remote)

    def _share(self, ref: str, remote: Remote) -> SalvageLocation:
        if SalvageLocation(ref).is_folder:
            return SalvageLocation(ref, size=describe_sizes([("", Path(ref))], seconds=_SIZE_SECONDS).strip())
        if remote.here:
            return SalvageLocation(ref)
        if contains_dropped(self._mirror, ref):
            return SalvageLocation(ref, why="it contains commits that were removed from the branch")
        if objections := self._objections_to(ref, _SECONDS):
            rules = ", ".join(sorted({one.rule for one in objections}))
            return SalvageLocation(ref, why=f"a person has to review it first ({rules})")
        return SalvageLocation(share(self._mirror, ref, remote), shared=True)

    def _fetch(self, remote: Remote) -> None:
        if not self._mirror.exists():
            self._mirror.ensure_ready()
        fetch_shared(self._mirror, remote)

    def _delete(self, one: SalvagedWork, remote: Remote | None) -> None:
        date_ref = companion_ref(one.ref, SALVAGE_DATES)
        before = self._mirror.refs(date_ref).get(date_ref, "")
        if remote:
            delete_remote(self._mirror, one.ref, remote)
        delete_local(self._mirror, one, before)
