"""One project's workspaces: the port. Everything here waits its turn per branch, and works in a thread."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

from bot.domain.change import Change, HandWork, Objection
from bot.domain.remote import Remote
from bot.domain.salvage import Kept
from bot.domain.turn import Workspace
from bot.errors import BotError, NeedsHuman
from bot.git.command import RepositoryDamaged, git
from bot.git.in_thread import in_thread
from bot.publish_guard.guard import Guard
from bot.publish_guard.protected_paths import Rules
from bot.secret_scan.scanner import Secrets
from bot.system.trash import Trash
from bot.workspace.agent_instructions import instructions_at
from bot.workspace.branch import adopt, begin_branch, commit, find_base
from bot.workspace.fetching import Fetching
from bot.workspace.hand_work import find_commit, put_back
from bot.workspace.merge import Taken, check_resolved, take_in
from bot.workspace.mirror import Mirror
from bot.workspace.park import park, shed, unpark
from bot.workspace.paths import AHEAD, BASES, ORIGIN, PARKED, PUSHED, Places
from bot.workspace.pool import Pool
from bot.workspace.push import push
from bot.workspace.remove import branches_known, clear_leftovers, leftovers, remove
from bot.workspace.salvage import salvage
from bot.workspace.salvage_store import GitShelf
from bot.workspace.setup_access import Provisioning
from bot.workspace.worktree import Worktree

IGNORED = (".treehand/",)
"""Never committed, whatever the repository says."""

_IDLE_SECONDS = 300.0
"""What was touched more lately is left alone: a turn may have begun that nobody has noted yet."""


class GitWorkspaces:
    def __init__(
        self,
        root: Path,
        project: str,
        *,
        ignored: Sequence[str] = IGNORED,
        rules: Rules | None = None,
        secrets: Secrets | None = None,
        idle_seconds: float = _IDLE_SECONDS,
    ) -> None:
        self._places = Places(root, project)
        self._mirror = Mirror(self._places.mirror)
        self._guard = Guard(self._places.mirror, rules or Rules(), secrets or Secrets())
        self._trash = Trash(self._places.trash)
        self._shelf = GitShelf(self._mirror, self._objections_to)
        self._ignored = tuple(ignored)
        self._idle_seconds = idle_seconds
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._touched: dict[str, float] = {}
        self.provisioning = Provisioning(self._places, self._mirror, self._worktree, self._touching)
        self.pool = Pool(self._places, self._mirror, self._worktree)
        self.fetch = Fetching(self._mirror)
        # branches asked for since the last sweep began: it cannot have been told to keep those
        self._wanted: set[str] = set()

    @property
    def mirror(self) -> Mirror:
        """The only one of this repository: two would take each other for the dead."""
        return self._mirror

    @property
    def shelf(self) -> GitShelf:
        return self._shelf

    async def ensure(self, branch: str, *, base: str, remote: Remote, merge: str = "") -> Workspace:
        self._wanted.add(branch)
        async with self._touching(branch):
            await self.fetch(remote)
            return await in_thread(self._ensure, branch, base, remote, merge)

    async def capture(
        self, branch: str, *, message: str, at: float, allowed: Collection[str] = (), forbids: Collection[str] = ()
    ) -> Change:
        async with self._touching(branch):
            return await in_thread(self._capture, branch, message, at, allowed, self._guard.forbidding(forbids))

    async def ensure_pushed(self, branch: str, *, remote: Remote) -> None:
        async with self._touching(branch):
            await in_thread(self._push, branch, remote)

    def folder(self, branch: str) -> Path:
        return self._places.of(branch).folder

    async def disarm(self, branch: str) -> None:
        async with self._touching(branch):
            await in_thread(self._disarm, branch)

    async def take_back(self, branch: str, *, message: str, at: float, allowed: Collection[str] = ()) -> HandWork:
        async with self._touching(branch):
            return await in_thread(self._take_back, branch, message, at, frozenset(allowed))

    async def put_back(self, branch: str) -> str:
        async with self._touching(branch):
            return await in_thread(self._put_back, branch)

    async def salvage(self, branch: str) -> str:
        async with self._touching(branch):
            return await in_thread(self._salvage, branch)

    async def remove(self, branch: str) -> None:
        async with self._turns[branch]:
            await in_thread(self._remove, branch)

    async def share(self, ref: str, *, remote: Remote) -> Kept:
        """Salvaged work: at the remote as well, unless the host objects to what is in it. Says where it is then."""
        return await self._shelf.share(ref, remote=remote)

    async def sweep(self, keep: Collection[str], *, only: Collection[str] | None = None) -> Sequence[str]:
        """Salvage and remove every workspace of ours whose branch is not in `keep`; say what was done.

        `only`: none but these; the others may belong to runs that nobody remembers yet.
        """
        self._wanted.clear()
        said = []
        with self._doubting():
            over = await in_thread(self._over, keep, only)
        for branch in over:
            async with self._turns[branch]:
                if branch not in self._wanted:
                    said.append(await in_thread(self._clear, branch))
        return [*said, *await in_thread(self._clear_leftovers, keep)]

    async def over(self, keep: Collection[str], *, only: Collection[str] | None = None) -> Sequence[str]:
        """What a sweep would remove."""
        if not self._mirror.exists():
            return ()
        branches = await in_thread(self._over, keep, only)
        left = await in_thread(leftovers, self._places, partial(self._still_wanted, keep))
        return [*branches, *map(str, left)]

    async def ensure_whole(self, remote: Callable[[], Awaitable[Remote]]) -> None:
        """A damaged mirror is made anew, also where no turn begins that would fetch."""
        if not await in_thread(self._mirror.is_whole):
            await self.fetch(await remote())

    async def maintain(self) -> None:
        async with self.fetch.alone:
            await in_thread(self._tidy)

    async def shed(self, branch: str) -> bool:
        """Remove the folders that git ignores from an idle worktree: they can be made again. False: nothing was."""
        async with self._turns[branch]:
            return self._is_idle(branch) and bool(await in_thread(self._shed, branch))

    async def park(self, branch: str) -> bool:
        """Take an idle worktree away. `ensure` brings it back as it was, but for what git ignores."""
        async with self._turns[branch]:
            return self._is_idle(branch) and await in_thread(self._park, branch)

    async def diff(self, branch: str, *, limit: int = 500_000) -> str:
        """Of the whole branch against its base, cut where it gets too long to show."""
        text = await in_thread(self._mirror.diff, f"{BASES}{branch}", f"refs/heads/{branch}")
        return text[:limit].decode(errors="replace") + ("\n[cut]\n" if len(text) > limit else "")

    async def objections_to(self, ref: str) -> Sequence[Objection]:
        """What speaks against publishing a commit that was made of work not judged before."""
        return await in_thread(self._objections_to, ref)

    @contextlib.asynccontextmanager
    async def _touching(self, branch: str) -> AsyncIterator[None]:
        clock = asyncio.get_running_loop().time
        async with self._turns[branch]:
            try:
                with self._doubting():
                    yield
            finally:
                self._touched[branch] = clock()

    @contextlib.contextmanager
    def _doubting(self) -> Iterator[None]:
        try:
            yield
        except RepositoryDamaged as problem:
            self._mirror.doubt(problem)
            raise

    def _worktree(self, branch: str) -> Worktree:
        self._mirror.prepare()
        return Worktree(self._places.of(branch), self._mirror, self._trash, self._guard, self._ignored)

    def _ensure(self, branch: str, base: str, remote: Remote, merge: str) -> Workspace:
        worktree = self._worktree(branch)
        refs = self._refs(worktree)
        onto = worktree.onto or base
        if worktree.ref not in refs or not onto:
            onto = find_base(self._mirror, base, remote, refs)
        is_taken = False
        if worktree.ref not in refs:
            refs |= begin_branch(worktree, onto, refs)
            is_taken = self.pool.take(branch, onto, refs)
            worktree = self._worktree(branch) if is_taken else worktree
        else:
            unpark(worktree, onto, refs, self._places)
            refs |= adopt(worktree, refs, onto)
        standing = worktree.find_pending(refs[worktree.ref])
        refs, pending, _ = Taken(refs, standing) if standing else take_in(worktree, refs, onto=onto, wanted=merge)
        if pending != standing or not worktree.is_whole():
            worktree.make(onto, places=self._places, refs=refs, pending=pending)
        elif not is_taken:  # setup has been in its git, and nobody else
            worktree.renew_pointer(refs)
        conflicts = pending.conflicts if pending else ()
        place, base = worktree.place, refs[f"{BASES}{branch}"]
        ground, told = place.ground(self._mirror.path), instructions_at(self._mirror.path, base)
        return Workspace(ground, branch, base, refs[worktree.ref], conflicts, told)

    def _capture(self, branch: str, message: str, at: float, allowed: Collection[str], guard: Guard) -> Change:
        refs = self._refs(worktree := self._worktree(branch))
        if worktree.ref not in refs:
            raise NeedsHuman(f"There is no worktree of `{branch}` to take changes from. `retry` makes a new one.")
        pending = worktree.find_pending(tip := refs[worktree.ref])
        base = pending.base if pending else refs[f"{BASES}{branch}"]
        known = (tip, base, pending.theirs, pending.tree) if pending else (tip, base)
        with worktree.look(tip) as look:
            if pending:
                check_resolved(look.quarantine.path, pending, look.tree)
            guard = guard.within(look.quarantine.path).minding(base)
            if objections := guard.objections(look.tree, known, allowed):
                return Change(base, tip, tip, self._mirror.changed_files(base, tip), look.found.left_out, objections)
            before, head = commit(worktree, look, refs, message=message, at=at, pending=pending)
            worktree.remember(look)
        if head != refs[worktree.ref]:
            worktree.renew_shadow(worktree.onto, {**refs, worktree.ref: head})
        return Change(base, head, before, self._mirror.changed_files(base, head), look.found.left_out)

    def _objections_to(self, ref: str) -> Sequence[Objection]:
        parents = git(self._mirror.path, "rev-parse", f"{ref}^@").split()
        known = parents or [git(self._mirror.path, "mktree", stdin=b"")]  # a first commit is new as a whole
        return self._guard.minding(known[0]).objections(f"{ref}^{{tree}}", known)

    def _push(self, branch: str, remote: Remote) -> None:
        worktree = self._worktree(branch)
        onto, was_whole = worktree.onto, worktree.is_whole()
        push(worktree, remote)
        if was_whole and not worktree.is_whole():
            worktree.make(onto, places=self._places, refs=self._refs(worktree))

    def _refs(self, worktree: Worktree) -> dict[str, str]:
        branch = worktree.place.branch
        return self._mirror.refs(ORIGIN, worktree.ref, *(f"{where}{branch}" for where in (BASES, PUSHED, PARKED)))

    def _disarm(self, branch: str) -> None:
        worktree, refs = self._worktree(branch), self._refs(self._worktree(branch))
        if worktree.is_whole():
            worktree.renew_shadow(worktree.onto, refs)
        elif worktree.ref in refs:  # it was taken away to make room
            unpark(worktree, "", refs, self._places)
            if not worktree.is_whole():
                worktree.make("", places=self._places, refs=refs)

    def _take_back(self, branch: str, message: str, at: float, allowed: frozenset[str]) -> HandWork:
        worktree = self._worktree(branch)
        refs, base = self._mirror.refs(worktree.ref, f"{BASES}{branch}"), f"{BASES}{branch}"
        is_there = worktree.ref in refs  # else the mirror went while somebody worked
        made = find_commit(self._mirror, refs[base], refs[worktree.ref], message=message, at=at) if is_there else ""
        if not made:
            change = self._capture(branch, message, at, allowed, self._guard)
            if change.objections:
                return HandWork(held=change)
            made = change.head if change.head != change.before else ""
        return HandWork(self._mirror.diff(f"{made}^", made).decode(errors="replace") if made else "")

    def _put_back(self, branch: str) -> str:
        worktree = self._worktree(branch)
        refs = self._refs(worktree)
        return put_back(worktree, refs, self._places) if worktree.ref in refs else ""

    def _salvage(self, branch: str) -> str:
        return salvage(self._worktree(branch))

    def _remove(self, branch: str) -> None:
        with contextlib.suppress(OSError):  # its refs are left then, and so the sweep tries again and says why
            remove(self._worktree(branch))

    def _over(self, keep: Collection[str], only: Collection[str] | None) -> Sequence[str]:
        known = branches_known(self._mirror) if self._mirror.exists() else frozenset()
        over = {one for one in known if not one.startswith(AHEAD)} - frozenset(keep) - self.provisioning.lent
        return sorted(over if only is None else over & frozenset(only))

    def _still_wanted(self, keep: Collection[str]) -> Collection[str]:
        return {*keep, *self._wanted, *branches_known(self._mirror)}

    def _is_idle(self, branch: str) -> bool:
        touched = self._touched.get(branch)
        return touched is None or asyncio.get_running_loop().time() - touched >= self._idle_seconds

    def _shed(self, branch: str) -> int:
        return shed(self._worktree(branch))

    def _park(self, branch: str) -> bool:
        return park(self._worktree(branch))

    def _tidy(self) -> None:
        borrowed = self._places.shadows.is_dir() and any(self._places.shadows.iterdir())
        self._mirror.tidy(borrowed=borrowed)

    def _clear(self, branch: str) -> str:
        """Trouble with one must not keep the others."""
        try:
            ref = self._salvage(branch)
            remove(self._worktree(branch))
        except (BotError, OSError) as exc:
            return f"{branch} could not be removed: {exc}"
        return f"{branch} removed; its unpublished work is kept at {ref}" if ref else f"{branch} removed"

    def _clear_leftovers(self, keep: Collection[str]) -> Sequence[str]:
        """What the trash could not delete."""
        self._mirror.prepare()
        found = leftovers(self._places, partial(self._still_wanted, keep))
        clear_leftovers(self._places, self._trash, found)
        return self._trash.empty()
