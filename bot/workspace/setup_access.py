"""What has to be known, and noted, of worktrees made ready or tried. Waits its turn per branch, in a thread."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from bot.domain.turn import Ground, Workspace
from bot.git.command import git
from bot.git.commit_files import Committed, committed
from bot.git.in_thread import in_thread
from bot.workspace.branch import tree_of
from bot.workspace.mirror import Mirror
from bot.workspace.paths import BASES, Places
from bot.workspace.remove import remove
from bot.workspace.setup_record import Provision, Survey, read_provision, state_of
from bot.workspace.worktree import Worktree

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Provisioning:
    """Of one project."""

    places: Places
    mirror: Mirror
    worktree: Callable[[str], Worktree]
    touching: Callable[[str], AbstractAsyncContextManager[None]]
    lent: set[str] = field(default_factory=set)
    """Branches that stand only while something is tried on them."""

    async def read(self, commit: str, ask: Callable[[Committed], T]) -> T:
        """What is asked of the files of a commit."""
        return await in_thread(lambda: ask(committed(self.mirror.path, commit)))

    async def survey(self, branch: str) -> Survey:
        """What lies in the worktree now, setup's own things aside."""
        async with self.touching(branch):
            return await in_thread(self._survey, branch)

    async def get(self, branch: str) -> Provision:
        return await in_thread(lambda: self.worktree(branch).provision)

    async def note(self, branch: str, provision: Provision) -> None:
        async with self.touching(branch):
            await in_thread(lambda: self.worktree(branch).provide(provision))

    async def start_over(self, branch: str) -> None:
        """Let go of a worktree with nothing in it but what setup made; the next turn makes another."""
        async with self.touching(branch):
            await in_thread(lambda: self.worktree(branch).discard())

    async def base_of(self, branch: str) -> str:
        """The commit it started from, while its worktree stands; empty: there is none to do anything in."""
        return await in_thread(self._base_of, branch)

    async def tree_of(self, commit: str) -> str:
        return await in_thread(git, self.mirror.path, "rev-parse", f"{commit}^{{tree}}")

    async def begin_trial(self, branch: str, commit: str) -> None:
        """From now on until it is settled, whatever changes in the worktree is nobody's work."""
        async with self.touching(branch):
            await in_thread(self._begin_trial, branch, commit)

    async def settle(self, branch: str) -> None:
        """Verification is over, or was before we were."""
        if (await self.get(branch)).tried:
            async with self.touching(branch):
                await in_thread(self._settle, branch)

    @asynccontextmanager
    async def stand_in(self, branch: str, commit: str) -> AsyncIterator[Workspace]:
        """Another worktree, with the files of a commit that is published. It goes when it is left."""
        branch = f"{branch}.before"  # no issue's branch has a dot
        self.lent.add(branch)
        try:
            async with self.touching(branch):
                workspace = await in_thread(self._stand_in, branch, commit)
            yield workspace
        finally:
            await in_thread(lambda: remove(self.worktree(branch)))
            self.lent.discard(branch)

    def folder(self, branch: str) -> Path:
        return self.places.of(branch).folder

    def ground(self, branch: str) -> Ground:
        return self.places.of(branch).ground(self.mirror.path)

    def copied(self) -> frozenset[str]:
        """Paths of the operator's files in the worktrees there are."""
        admins = (self.places.mirror / "worktrees").glob("*/")
        return frozenset(path for admin in admins for path in read_provision(admin).copied)

    def _survey(self, branch: str) -> Survey:
        worktree = self.worktree(branch)
        tip = self.mirror.refs(worktree.ref)[worktree.ref]
        with worktree.look(tip) as look:
            holds = {path: state_of(entry) for path, entry in look.found.entries.items()}
            is_clean = look.tree == tree_of(worktree, tip) and not worktree.find_pending(tip)
            return Survey(holds, worktree.index(tip), is_clean=is_clean)

    def _begin_trial(self, branch: str, commit: str) -> None:
        worktree = self.worktree(branch)
        worktree.provide(replace(worktree.provision, tried=commit))

    def _settle(self, branch: str) -> None:
        """Where somebody has committed since, what lies there is no longer known to be nobody's."""
        worktree = self.worktree(branch)
        provision = worktree.provision
        if worktree.is_whole() and self.mirror.refs(worktree.ref).get(worktree.ref) == provision.tried:
            provision = provision.having_tried(self._survey(branch))
        worktree.provide(replace(provision, tried=""))

    def _stand_in(self, branch: str, commit: str) -> Workspace:
        """Never whole, so that nothing of one that died with us is taken for work."""
        worktree = self.worktree(branch)
        remove(worktree)
        self.mirror.update({worktree.ref: (commit, ""), f"{BASES}{branch}": (commit, "")})
        worktree.make("", places=self.places, refs=self.mirror.refs(worktree.ref))
        worktree.provide(Provision(is_half=True))
        return Workspace(self.ground(branch), branch, commit, commit)

    def _base_of(self, branch: str) -> str:
        worktree = self.worktree(branch)
        base = f"{BASES}{branch}"
        return self.mirror.refs(base).get(base, "") if worktree.is_whole() else ""
