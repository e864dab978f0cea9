"""Workspaces port of one project: runs each operation in a thread, under its branch's lock."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from bot.domain.change import LIMIT, Change, HandWork, Objection
from bot.domain.remote import Remote
from bot.domain.salvage import SalvageLocation
from bot.domain.turn import Workspace
from bot.errors import BotError, NeedsHuman, OverLimit
from bot.git.command import RepositoryDamaged, git
from bot.git.in_child import MAX_SECONDS, in_child
from bot.git.in_thread import in_thread
from bot.git.objects import EMPTY_TREE
from bot.publish_guard.guard import PublishGuard, judge
from bot.publish_guard.protected_paths import PublishRules
from bot.secret_scan.scanner import Secrets
from bot.system.trash import Trash
from bot.workspace.agent_instructions import read_agent_instructions
from bot.workspace.branch import (
    adopt_pushed,
    begin_branch,
    commit_turn,
    ensure_base,
    find_base,
    forget_deleted,
)
from bot.workspace.ci_hold import approve_ci
from bot.workspace.evict import drop_ignored, evict, restore
from bot.workspace.hand_work import find_hand_commit, undo_uncommitted
from bot.workspace.layer_files import own_layer
from bot.workspace.merge import MergeResult, check_conflicts_resolved, merge_incoming
from bot.workspace.mirror import Mirror, SharedFetch
from bot.workspace.nested_git import set_nested_git_aside
from bot.workspace.paths import BASES, EVICTED, ORIGIN, POOL_BRANCH, PUSHED, ProjectPaths
from bot.workspace.pool import WorktreePool
from bot.workspace.push import fit_rewritten, push_branch
from bot.workspace.remove import clear_leftovers, find_leftovers, known_branches, remove_workspace
from bot.workspace.salvage import salvage
from bot.workspace.salvage_store import SalvageStore
from bot.workspace.setup_access import SetupAccess
from bot.workspace.worktree import Worktree

ALWAYS_IGNORED = (".treehand/",)
"""Never committed, even if the repository tracks it."""

_IDLE_SECONDS = 300.0
"""A worktree used more recently is left alone: a turn may have just started."""


class GitWorkspaces:
    def __init__(
        self,
        root: Path,
        project: str,
        *,
        ignored: Sequence[str] = ALWAYS_IGNORED,
        rules: PublishRules | None = None,
        secrets: Secrets | None = None,
        idle_seconds: float = _IDLE_SECONDS,
    ) -> None:
        self._paths = ProjectPaths(root, project)
        self._mirror = Mirror(self._paths.mirror)
        self._guard = PublishGuard(self._paths.mirror, rules or PublishRules(), secrets or Secrets())
        self._trash = Trash(self._paths.trash)
        self._salvage_store = SalvageStore(self._mirror, self._objections_to)
        self._ignored = tuple(ignored)
        self._idle_seconds = idle_seconds
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._last_used: dict[str, float] = {}
        self.setup_access = SetupAccess(self._paths, self._mirror, self._worktree, self._lock_branch)
        self.pool = WorktreePool(self._paths, self._mirror, self._worktree)
        self.fetch = SharedFetch(self._mirror)
        # branches requested after the last sweep began, unknown to its caller
        self._requested: set[str] = set()

    @property
    def mirror(self) -> Mirror:
        """One instance per repository: it treats another process's files as stale."""
        return self._mirror

    @property
    def salvage_store(self) -> SalvageStore:
        return self._salvage_store

    def change_rules(self, rules: PublishRules) -> None:
        """Applies to changes that are judged from now on."""
        self._guard = replace(self._guard, rules=rules)

    async def ensure(self, branch: str, *, base: str, remote: Remote, merge: str = "") -> Workspace:
        self._requested.add(branch)
        self._mirror.author = remote.author or self._mirror.author
        async with self._lock_branch(branch):
            await self.fetch(remote)
            return await in_thread(self._ensure, branch, base, remote, merge)

    async def capture(
        self, branch: str, *, message: str, at: float, allowed: Collection[str] = (), forbids: Collection[str] = ()
    ) -> Change:
        async with self._lock_branch(branch):
            return await in_thread(self._capture, branch, message, at, allowed, self._guard.with_forbidden(forbids))

    async def fit_rewritten(self, branch: str, change: Change, *, remote: Remote) -> Change:
        async with self._lock_branch(branch):
            return await in_thread(self._fit_rewritten, branch, change, remote)

    async def ensure_pushed(self, branch: str, *, remote: Remote, holds_ci: bool = False) -> None:
        self._mirror.author = remote.author or self._mirror.author
        async with self._lock_branch(branch):
            await in_thread(self._push, branch, remote, holds_ci=holds_ci)

    async def ensure_ci_started(self, branch: str, *, remote: Remote) -> None:
        self._mirror.author = remote.author or self._mirror.author
        async with self._lock_branch(branch):
            await in_thread(approve_ci, self._worktree(branch))
            await in_thread(self._push, branch, remote, holds_ci=True)

    def folder(self, branch: str) -> Path:
        return self._paths.for_branch(branch).folder

    async def disarm(self, branch: str) -> None:
        async with self._lock_branch(branch):
            await in_thread(self._disarm, branch)

    async def take_back(self, branch: str, *, message: str, at: float, allowed: Collection[str] = ()) -> HandWork:
        async with self._lock_branch(branch):
            return await in_thread(self._take_back, branch, message, at, frozenset(allowed))

    async def put_back(self, branch: str) -> str:
        async with self._lock_branch(branch):
            return await in_thread(self._put_back, branch)

    async def salvage(self, branch: str) -> str:
        async with self._lock_branch(branch):
            return await in_thread(self._salvage, branch)

    async def remove(self, branch: str) -> None:
        async with self._locks[branch]:
            await in_thread(self._remove, branch)

    async def share(self, ref: str, *, remote: Remote) -> SalvageLocation:
        """Pushes salvaged work to the remote, unless the publish guard objects. Returns its location."""
        return await self._salvage_store.share(ref, remote=remote)

    async def sweep(self, keep: Collection[str], *, only: Collection[str] | None = None) -> Sequence[str]:
        """Salvages and removes every workspace whose branch is not in `keep`. Returns what was done.

        `only` limits it to these branches; others may belong to runs that are not restored yet.
        """
        self._requested.clear()
        done = []
        with self._report_damage():
            over = await in_thread(self._removable, keep, only)
        for branch in over:
            async with self._locks[branch]:
                if branch not in self._requested:
                    done.append(await in_thread(self._salvage_and_remove, branch))
        stuck = await in_thread(self._clear_leftovers, keep)
        while self._trash.has_more:
            stuck = await in_thread(self._trash.empty)
        return [*done, *stuck]

    async def list_removable(self, keep: Collection[str], *, only: Collection[str] | None = None) -> Sequence[str]:
        """Returns what a sweep would remove."""
        if not self._mirror.exists():
            return ()
        branches = await in_thread(self._removable, keep, only)
        left = await in_thread(find_leftovers, self._paths, partial(self._needed_branches, keep))
        return [*branches, *map(str, left)]

    async def ensure_mirror_intact(self, remote: Callable[[], Awaitable[Remote]]) -> None:
        """Replaces a damaged mirror, also while no turn fetches."""
        if not await in_thread(self._mirror.is_intact):
            await self.fetch(await remote())

    async def pack_mirror(self) -> None:
        async with self.fetch.lock:
            await in_thread(self._pack_mirror)

    async def drop_ignored(self, branch: str) -> bool:
        """Deletes ignored folders of an idle worktree. Returns False if there were none."""
        async with self._locks[branch]:
            return self._is_idle(branch) and bool(await in_thread(self._drop_ignored, branch))

    async def evict(self, branch: str) -> bool:
        """Removes an idle worktree; `ensure` restores it without ignored files."""
        async with self._locks[branch]:
            return self._is_idle(branch) and await in_thread(self._evict, branch)

    async def diff(self, branch: str, *, limit: int = 500_000) -> str:
        """Diff of the branch against its base, cut at `limit` bytes."""
        text = await in_thread(self._mirror.diff, f"{BASES}{branch}", f"refs/heads/{branch}")
        return text[:limit].decode(errors="replace") + ("\n[cut]\n" if len(text) > limit else "")

    async def objections_to(self, ref: str) -> Sequence[Objection]:
        """Objections of the publish guard to a salvaged commit."""
        return await in_thread(self._objections_to, ref)

    @contextlib.asynccontextmanager
    async def _lock_branch(self, branch: str) -> AsyncIterator[None]:
        clock = asyncio.get_running_loop().time
        async with self._locks[branch]:
            try:
                with self._report_damage():
                    yield
            finally:
                self._last_used[branch] = clock()

    @contextlib.contextmanager
    def _report_damage(self) -> Iterator[None]:
        try:
            yield
        except RepositoryDamaged as problem:
            self._mirror.suspect_damage(problem)
            raise

    def _worktree(self, branch: str) -> Worktree:
        self._mirror.ensure_ready()
        return Worktree(self._paths.for_branch(branch), self._mirror, self._trash, self._guard, self._ignored)

    def _ensure(self, branch: str, base: str, remote: Remote, merge: str) -> Workspace:
        worktree = self._worktree(branch)
        refs = self._refs(worktree)
        onto = worktree.base_branch or base
        if worktree.ref not in refs or f"{ORIGIN}{onto}" not in refs:
            onto = find_base(self._mirror, base, remote, refs)
        is_taken = False
        if worktree.ref not in refs:
            refs |= begin_branch(worktree, onto, refs)
            is_taken = self.pool.take(branch, onto, refs)
            worktree = self._worktree(branch) if is_taken else worktree
        else:
            refs |= ensure_base(worktree, onto, refs)
            restore(worktree, onto, refs, self._paths)
            refs = forget_deleted(worktree, refs)
            refs |= adopt_pushed(worktree, refs, onto)
        standing = worktree.read_pending(refs[worktree.ref])
        refs, pending, _ = (
            MergeResult(refs, standing) if standing else merge_incoming(worktree, refs, onto=onto, wanted=merge)
        )
        if pending != standing or not worktree.is_complete():
            worktree.create(onto, project_paths=self._paths, refs=refs, pending=pending)
        elif not is_taken:  # only setup has used its git
            worktree.note_base(onto)
            worktree.renew_pointer(refs)
        conflicts = pending.conflicts if pending else ()
        paths, base = worktree.paths, refs[f"{BASES}{branch}"]
        ground, instructions = paths.mounts(self._mirror.path), read_agent_instructions(self._mirror.path, base)
        return Workspace(ground, branch, base, refs[worktree.ref], conflicts, instructions)

    def _capture(self, branch: str, message: str, at: float, allowed: Collection[str], guard: PublishGuard) -> Change:
        refs = self._refs(worktree := self._worktree(branch))
        if worktree.ref not in refs:
            raise NeedsHuman(f"`{branch}` has no worktree to commit from. A retry creates a new one.")
        pending = worktree.read_pending(tip := refs[worktree.ref])
        base = pending.base if pending else refs[f"{BASES}{branch}"]
        known = (*pending.parents, base, pending.tree) if pending else (tip, base)
        judging = guard.with_repository_rules(base).order("", known, allowed)
        try:
            with worktree.scan(tip, judging) as scan:
                left_out, objections = scan.found.left_out, scan.found.objections
                if pending:
                    check_conflicts_resolved(scan.quarantine.path, pending, scan.tree)
                if not objections:
                    before, head = commit_turn(worktree, scan, refs, message=message, at=at, pending=pending)
                    worktree.save_index(scan)
        except OverLimit as problem:
            left_out, objections = (), (Objection(LIMIT, "", str(problem)),)
        if objections:
            return Change(base, tip, tip, self._mirror.changed_files(base, tip), left_out, objections)
        if head != refs[worktree.ref]:
            worktree.renew_shadow(worktree.base_branch, {**refs, worktree.ref: head})
        return Change(base, head, before, self._mirror.changed_files(base, head), left_out)

    def _objections_to(self, ref: str, seconds: float = MAX_SECONDS) -> Sequence[Objection]:
        parents = git(self._mirror.path, "rev-parse", f"{ref}^@").split()
        known = parents or [EMPTY_TREE]  # everything in a first commit is new
        guard = self._guard.with_repository_rules(known[0])
        return in_child(judge, guard.order(f"{ref}^{{tree}}", known), seconds=seconds).objections

    def _push(self, branch: str, remote: Remote, *, holds_ci: bool) -> None:
        worktree = self._worktree(branch)
        with self._created_again(worktree):
            push_branch(worktree, remote, holds_ci=holds_ci)

    def _fit_rewritten(self, branch: str, change: Change, remote: Remote) -> Change:
        worktree = self._worktree(branch)
        with self._created_again(worktree):
            fit_rewritten(worktree, remote)
        refs = self._refs(worktree)
        head, base = refs.get(worktree.ref, ""), refs.get(f"{BASES}{branch}", "")
        if not head or head == change.head:
            return change
        files = self._mirror.changed_files(base, head)
        return replace(change, base=base, head=head, before=refs[f"{PUSHED}{branch}"], files=files)

    @contextlib.contextmanager
    def _created_again(self, worktree: Worktree) -> Iterator[None]:
        """Creates a worktree again that was discarded because its branch has moved."""
        onto, was_whole = worktree.base_branch, worktree.is_complete()
        yield
        if was_whole and not worktree.is_complete():
            worktree.create(onto, project_paths=self._paths, refs=self._refs(worktree))

    def _refs(self, worktree: Worktree) -> dict[str, str]:
        branch = worktree.paths.branch
        return self._mirror.refs(ORIGIN, worktree.ref, *(f"{where}{branch}" for where in (BASES, PUSHED, EVICTED)))

    def _disarm(self, branch: str) -> None:
        worktree, refs = self._worktree(branch), self._refs(self._worktree(branch))
        if worktree.is_complete():
            worktree.renew_shadow(worktree.base_branch, refs)
        elif worktree.ref in refs:  # evicted
            restore(worktree, "", refs, self._paths)
            if not worktree.is_complete():
                worktree.create("", project_paths=self._paths, refs=refs)
        if worktree.is_complete():
            own_layer(worktree.paths.folder, worktree.paths.layer)
            set_nested_git_aside(worktree.paths.folder, self._paths.aside)

    def _take_back(self, branch: str, message: str, at: float, allowed: frozenset[str]) -> HandWork:
        worktree = self._worktree(branch)
        refs, base = self._mirror.refs(worktree.ref, f"{BASES}{branch}"), f"{BASES}{branch}"
        is_there = worktree.ref in refs  # otherwise the mirror was lost in the meantime
        made = (
            find_hand_commit(self._mirror, refs[base], refs[worktree.ref], message=message, at=at) if is_there else ""
        )
        if not made:
            change = self._capture(branch, message, at, allowed, self._guard)
            if change.objections:
                return HandWork(blocked=change)
            made = change.head if change.head != change.before else ""
        return HandWork(self._mirror.diff(f"{made}^", made).decode(errors="replace") if made else "")

    def _put_back(self, branch: str) -> str:
        worktree = self._worktree(branch)
        refs = self._refs(worktree)
        return undo_uncommitted(worktree, refs, self._paths) if worktree.ref in refs else ""

    def _salvage(self, branch: str) -> str:
        return salvage(self._worktree(branch), self._paths.aside)

    def _remove(self, branch: str) -> None:
        with contextlib.suppress(OSError):  # the refs stay, so that the sweep tries again and reports the failure
            remove_workspace(self._worktree(branch))

    def _removable(self, keep: Collection[str], only: Collection[str] | None) -> Sequence[str]:
        known = known_branches(self._mirror) if self._mirror.exists() else frozenset()
        over = {one for one in known if not one.startswith(POOL_BRANCH)} - frozenset(keep) - self.setup_access.temporary
        return sorted(over if only is None else over & frozenset(only))

    def _needed_branches(self, keep: Collection[str]) -> Collection[str]:
        return {*keep, *self._requested, *known_branches(self._mirror)}

    def _is_idle(self, branch: str) -> bool:
        touched = self._last_used.get(branch)
        return touched is None or asyncio.get_running_loop().time() - touched >= self._idle_seconds

    def _drop_ignored(self, branch: str) -> int:
        return drop_ignored(self._worktree(branch))

    def _evict(self, branch: str) -> bool:
        return evict(self._worktree(branch))

    def _pack_mirror(self) -> None:
        borrowed = self._paths.shadows.is_dir() and any(self._paths.shadows.iterdir())
        self._mirror.pack(borrowed=borrowed)

    def _salvage_and_remove(self, branch: str) -> str:
        """Reports a failure instead of raising it, so that the sweep continues."""
        try:
            ref = self._salvage(branch)
            remove_workspace(self._worktree(branch))
        except (BotError, OSError) as exc:
            return f"{branch} could not be removed: {exc}"
        return f"{branch} removed; its unpublished work is kept at {ref}" if ref else f"{branch} removed"

    def _clear_leftovers(self, keep: Collection[str]) -> Sequence[str]:
        """Returns what could not be deleted."""
        self._mirror.ensure_ready()
        found = find_leftovers(self._paths, partial(self._needed_branches, keep))
        clear_leftovers(self._paths, self._trash, found)
        return self._trash.empty()
