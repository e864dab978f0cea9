"""Where one project's salvaged work waits for people: here, and at the remote where that is allowed."""

from collections.abc import Callable, Sequence

from bot.domain.change import Objection
from bot.domain.remote import Remote
from bot.domain.salvage import Kept, Salvaged
from bot.git.in_thread import in_thread
from bot.workspace.mirror import Mirror
from bot.workspace.paths import SALVAGED_AT
from bot.workspace.salvage import beside, find_salvaged, note_times
from bot.workspace.salvage_remote import fetch_shared, forget, share, withdraw


class GitShelf:
    def __init__(self, mirror: Mirror, objections_to: Callable[[str], Sequence[Objection]]) -> None:
        self._mirror, self._objections_to = mirror, objections_to

    async def look(self) -> Sequence[Salvaged]:
        return await in_thread(find_salvaged, self._mirror) if self._mirror.exists() else ()

    async def keep(self, refs: Sequence[str], *, now: float) -> None:
        """For their whole time, from now on."""
        await in_thread(note_times, self._mirror, now, *refs)

    async def share(self, ref: str, *, remote: Remote) -> Kept:
        """At the remote as well, unless the host objects to what is in it. Says where it is then."""
        return await in_thread(self._share, ref, remote)

    async def fetch(self, *, remote: Remote) -> None:
        """What the remote has of it and this machine has not, or not any more."""
        await in_thread(self._fetch, remote)

    async def let_go(self, one: Salvaged, *, remote: Remote | None) -> None:
        """Its time is over: there, and then here."""
        await in_thread(self._let_go, one, remote)

    def _share(self, ref: str, remote: Remote) -> Kept:
        if remote.here:
            return Kept(ref)
        if held := self._objections_to(ref):
            rules = ", ".join(sorted({one.rule for one in held}))
            return Kept(ref, why=f"it holds what a person has to look at first ({rules})")
        return Kept(share(self._mirror, ref, remote), shared=True)

    def _fetch(self, remote: Remote) -> None:
        if not self._mirror.exists():
            self._mirror.prepare()
        fetch_shared(self._mirror, remote)

    def _let_go(self, one: Salvaged, remote: Remote | None) -> None:
        noted = beside(one.ref, SALVAGED_AT)
        before = self._mirror.refs(noted).get(noted, "")
        if remote:
            withdraw(self._mirror, one.ref, remote)
        forget(self._mirror, one, before)
