"""Layers of one project: keeps the dependencies that setup installed, and shows them beneath other worktrees.

Rule: a layer is made of a worktree in which only setup has run, on files that people have merged. Nothing ever writes
to it: sandboxes show it read-only, and a layer that has a name is complete.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.domain.serialize import as_record, from_record
from bot.domain.turn import WorktreeMounts
from bot.errors import OverLimit
from bot.git.commit_files import CommitFiles
from bot.git.in_thread import in_thread
from bot.setup.layer_names import LayerNames, SetupInputs, layer_names
from bot.setup.repository_files import RepositoryFiles
from bot.setup.resources import SetupResources
from bot.setup.run_steps import SetupJob, fingerprint
from bot.workspace.layer_files import LayerContents
from bot.workspace.setup_access import SetupAccess
from bot.workspace.setup_record import SetupRecord

log = logging.getLogger(__name__)

_ABOUT = "about.json"
_MAX_UNUSED = 2
"""Layers that no worktree uses: the next one may."""


@dataclass(frozen=True, slots=True)
class SharedLayers:
    access: SetupAccess
    resources: SetupResources
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def folder(self) -> Path:
        return self.resources.cache_folder / "layers"

    async def is_there(self, mounts: WorktreeMounts) -> bool:
        """The dependencies beneath the worktree still show; also if it has its own."""
        link = mounts.layer
        if not link or not link.is_symlink():
            return True
        return link.is_dir() and not await self.resources.sandbox.why_no_layers()

    async def find_names(self, job: SetupJob, record: SetupRecord) -> LayerNames | None:
        """Names of the layers that setup of the worktree's base can use and make; None: it has to run."""
        steps = job.plan.steps
        if await self.resources.sandbox.why_no_layers() or any("submodule" in step.command for step in steps):
            return None
        stamp = await in_thread(fingerprint, steps, job.workspace.path)
        use = SetupInputs(stamp, tuple(map(str, job.mounts.toolchains)), record.copied)
        base = job.workspace.base
        tree, ids = await self.access.tree_of(base), await self.access.object_ids(base)

        def name(committed: CommitFiles) -> LayerNames:
            return layer_names(job.plan, RepositoryFiles(committed.names, committed.read), tree, ids, use)

        return await self.access.read_commit(base, name)

    async def put_beneath(self, job: SetupJob, names: LayerNames) -> bool:
        """Returns False if there is no such layer."""
        async with self._lock:
            for name in filter(None, (names.of_tree, names.of_locks)):
                layer = self.folder / name
                contents = await in_thread(_read, layer)
                if contents and await self.access.put_layer_beneath(job.branch, layer, contents):
                    (layer / _ABOUT).touch()
                    return True
        return False

    async def make(self, job: SetupJob, names: LayerNames, record: SetupRecord) -> None:
        """Shares what setup has just made in a worktree that holds nothing but the base."""
        is_named = any((self.folder / name).exists() for name in (names.of_tree, names.of_locks) if name)
        if is_named or not (await self.access.survey(job.branch)).is_clean:
            return
        async with self._lock:
            fresh = self.folder / "~new"
            await in_thread(self.resources.discard, fresh)
            fresh.mkdir(parents=True, mode=0o700)
            # commands that somebody named may write what holds for this worktree only, such as its ports
            takes_all = all(step.tools for step in job.plan.steps)
            try:
                contents = await self.access.make_layer(
                    job.branch, fresh, record.folders, tuple(record.copied), takes_all=takes_all
                )
            except OverLimit as problem:
                contents = LayerContents(why_none=str(problem))
            if contents.why_none:
                log.info("dependencies not shared branch=%s reason=%s", job.branch, contents.why_none)
                await in_thread(self.resources.discard, fresh)
                return
            await in_thread(self._name, fresh, contents, names)
            layer = self.folder / _name_of(contents, names)
            await self.access.put_layer_beneath(job.branch, layer, contents)
            await in_thread(self._prune)

    def _name(self, fresh: Path, contents: LayerContents, names: LayerNames) -> None:
        (fresh / _ABOUT).write_text(json.dumps(as_record(contents)))
        fresh.rename(self.folder / _name_of(contents, names))

    def _prune(self) -> None:
        used = self.access.used_layers()
        unused = [layer for layer in self._oldest_first() if layer.name not in used]
        for layer in unused[:-_MAX_UNUSED]:
            self.resources.discard(layer)

    def _oldest_first(self) -> Sequence[Path]:
        found = [about.parent for about in self.folder.glob(f"*/{_ABOUT}")]
        return sorted(found, key=lambda layer: (layer / _ABOUT).stat().st_mtime_ns)


def _name_of(contents: LayerContents, names: LayerNames) -> str:
    return names.of_tree if contents.has_copied else names.of_locks or names.of_tree


def _read(layer: Path) -> LayerContents | None:
    with contextlib.suppress(OSError, ValueError):
        return from_record(LayerContents, json.loads((layer / _ABOUT).read_text()))
    return None
