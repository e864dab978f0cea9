"""Local tracker. Its users have access to this machine, so all of them are trusted."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bot.domain.reaction import Reaction
from bot.errors import NeedsHuman
from bot.ports import Poll, TrackerView
from bot.services.local.input_rules import parse_local_key
from bot.services.local.server import LocalServer

_T = TypeVar("_T")


class LocalTracker:
    def __init__(self, server: LocalServer, project: str, label: str) -> None:
        self._database = server.database
        self._issues = server.issues(project)
        self._project = project
        self._label = label
        self._seen_version = -1

    async def snapshot(self, keys: Collection[str], *, poll: Poll | None = None) -> TrackerView:  # noqa: ARG002 - everything is local
        # read the version first: a change in between is then read twice, not missed
        self._seen_version = self._database.version()
        ours = [parsed[1] for key in keys if (parsed := parse_local_key(key)) and parsed[0] == self._project]
        issues, comments = self._issues.snapshot(self._label, ours)
        return TrackerView({issue.key: issue for issue in issues}, comments)

    async def judge_again(self, key: str, comments: Collection[str], *, request: bool) -> TrackerView:  # noqa: ARG002
        return await self.snapshot([key])

    async def changed(self) -> bool:
        return self._database.version() != self._seen_version

    async def ensure_comment(
        self,
        key: str,
        *,
        slug: str,
        text: str,
        note: str = "",
        thread: str = "",  # noqa: ARG002 - local issues have no threads
    ) -> None:
        self._issues.ensure_comment(self._number(key), slug=slug, text=text, note=note)

    async def find_orphaned(self, labels: Collection[str]) -> Collection[str]:
        return self._issues.list_orphaned(self._label, labels)

    async def read_run_notes(self, key: str) -> Sequence[str]:
        return self._issues.notes(self._number(key))

    async def ensure_labels(self, key: str, *, add: Collection[str] = (), remove: Collection[str] = ()) -> None:
        self._issues.ensure_labels(self._number(key), add=add, remove=remove)

    async def ensure_reaction(self, key: str, comment: str, reaction: Reaction) -> None:
        self._issues.ensure_reaction(self._number(key), comment=comment, reaction=reaction)

    def _number(self, key: str) -> int:
        parsed = parse_local_key(key)
        if parsed is None or parsed[0] != self._project:
            raise NeedsHuman(f"There is no issue {key} in {self._project}.")
        return parsed[1]


@dataclass(frozen=True, slots=True)
class LocalPersonTracker:
    """Writes for a person, in a thread that opens the database itself."""

    open_server: Callable[[], LocalServer]
    project: str

    async def comment_as(self, key: str, person: str, text: str) -> None:
        await self._in_thread(lambda server: self._comment(server, key, person, text))

    async def open_issue(self, title: str, body: str, labels: Sequence[str], *, by: str) -> str:
        issue = await self._in_thread(
            lambda server: server.issues(self.project).open(title, by=by, body=body, labels=labels)
        )
        return issue.key

    def _comment(self, server: LocalServer, key: str, person: str, text: str) -> None:
        server.issues(self.project).comment(server.parse_key(key)[1], text, by=person)

    async def _in_thread(self, act: Callable[[LocalServer], _T]) -> _T:
        def run() -> _T:
            server = self.open_server()
            try:
                return act(server)
            finally:
                server.close()

        return await asyncio.to_thread(run)
