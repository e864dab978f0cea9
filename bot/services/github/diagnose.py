"""Is a repository ready for us, and if not, what is missing: for people, before anything is started."""

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from bot.errors import BotError, NeedsHuman
from bot.services.github.auth import FINE_GRAINED
from bot.services.github.errors import Forbidden, NoGraphQL, NotFound
from bot.services.github.issues import Issues
from bot.services.github.repository_api import Access
from bot.services.github.repository_info import Facts


class Finding(NamedTuple):
    name: str
    ok: bool
    detail: str


_PEOPLE = "metadata"
_NEEDED = {
    "issues": ("/issues?per_page=1", "to see what is asked for, and to answer"),
    "pull requests": ("/pulls?per_page=1", "to offer work"),
    "contents": ("/git/matching-refs/heads/{prefix}", "to push branches"),
    "checks": ("/commits/{base}/check-runs?per_page=1", "to mend what is red"),
    "commit statuses": ("/commits/{base}/status?per_page=1", "to mend what is red"),
    _PEOPLE: ("/collaborators/{login}/permission", "to see who may steer"),
}
_HELPFUL = {"checks", "commit statuses"}
"""A server may know only one kind of them, or none."""
_OF_APPS_ONLY = "checks"
_NO_CHECKS = "GitHub shows none to fine-grained tokens in private repositories: only what has a commit status is mended"
_OF_AN_APP = {"contents": "write", "issues": "write", "pull_requests": "write", "checks": "read", "statuses": "read"}
_WANTED_OF_AN_APP = {"actions": "read"}
_LEVELS = ("", "read", "write", "admin")
_STOPPING = {
    "creation": "nobody may create such branches",
    "update": "nobody may push to such branches",
    "pull_request": "changes need a pull request",
    "required_signatures": "commits must be signed",
    "branch_name_pattern": "branch names must follow a pattern",
    "commit_message_pattern": "commit messages must follow a pattern",
    "commit_author_email_pattern": "authors' addresses must follow a pattern",
    "committer_email_pattern": "committers' addresses must follow a pattern",
}


class Inspecting:
    def __init__(self, access: Access, facts: Facts, issues: Issues, prefix: str) -> None:
        self._access = access
        self._facts = facts
        self._issues = issues
        self._prefix = prefix

    async def inspect(self, labels: Sequence[str]) -> list[Finding]:
        """Each of them ok, or what is wrong and how to mend it."""
        found = await self._looked("account", self._account())
        try:
            found += [finding async for finding in self._repository()]
        except BotError as problem:  # the rest would only say the same
            hint = " Is its name right, and may our account see it?" if isinstance(problem, NotFound) else ""
            return [*found, Finding("repository", ok=False, detail=f"{str(problem).removesuffix('.')}.{hint}")]
        for look in (self._permissions, self._rules, self._limit):
            found += await self._looked(look.__name__.lstrip("_"), look())
        return found + await self._looked("labels", self._labels(labels))

    async def create_labels(self, labels: Sequence[str]) -> None:
        await self._facts.refresh()
        await self._issues.ensure_known(labels)

    async def _looked(self, name: str, findings: AsyncIterator[Finding]) -> list[Finding]:
        try:
            return [finding async for finding in findings]
        except BotError as problem:
            return [Finding(name, ok=False, detail=str(problem))]

    async def _account(self) -> AsyncIterator[Finding]:
        who = await self._access.service.who()
        if who.kind == "app":
            held = dict(scope.partition(":")[::2] for scope in who.scopes)
            for name, needed in _OF_AN_APP.items():
                if _LEVELS.index(held.get(name, "")) < _LEVELS.index(needed):
                    yield Finding("app", ok=False, detail=f"the App needs the permission {name}: {needed}")
            for name in _WANTED_OF_AN_APP.keys() - held.keys():
                yield Finding("app", ok=True, detail=f"without the permission {name}: read, logs cannot be shown")
        elif who.scopes and not {"repo", "public_repo"} & set(who.scopes):
            yield Finding("token", ok=False, detail=f"the token needs the scope repo; it has {', '.join(who.scopes)}")
        yield Finding("account", ok=True, detail=f"{who.login} ({who.kind})")

    async def _repository(self) -> AsyncIterator[Finding]:
        await self._facts.refresh()
        standing = self._facts.standing
        if standing.archived:
            yield Finding("repository", ok=False, detail="it is archived, so it can only be read")
        elif not standing.may_push and (await self._access.service.who()).kind != "app":
            yield Finding("repository", ok=False, detail="we may not push to it: give our account write access")
        elif standing.name.lower() != self._access.name.lower():
            renamed = f"it is called {standing.name} now; change the settings from {self._access.name}"
            yield Finding("repository", ok=True, detail=renamed)
        else:
            yield Finding("repository", ok=True, detail=f"{standing.name}, default branch {standing.base}")

    async def _permissions(self) -> AsyncIterator[Finding]:
        who = await self._access.service.who()
        readable = list(_NEEDED)
        missing = False
        for name, (path, purpose) in _NEEDED.items():
            try:
                await self._access.get(
                    path.format(base=self._facts.standing.base, login=who.login, prefix=self._prefix)
                )
            except NeedsHuman as refusal:
                if name == _PEOPLE and isinstance(refusal, NotFound):
                    continue  # we may ask, and it is no user: an App is none
                if name in _HELPFUL and not isinstance(refusal, Forbidden):  # not there, or no commit yet
                    readable.remove(name)
                    yield Finding(name, ok=True, detail=f"there are none {purpose}: {refusal}")
                    continue
                if name == _OF_APPS_ONLY and who.kind == FINE_GRAINED:
                    readable.remove(name)
                    yield Finding(name, ok=True, detail=_NO_CHECKS)
                    continue
                missing = True
                yield Finding("permissions", ok=False, detail=f"{name} are needed {purpose}: {refusal}")
        if not missing:
            yield Finding("permissions", ok=True, detail=f"we may read {', '.join(readable)}")

    async def _rules(self) -> AsyncIterator[Finding]:
        """Rules for branches like ours; those that only admins may read do not count here."""
        try:
            answer = await self._access.get(f"/rules/branches/{self._prefix}check")
        except NeedsHuman:  # an older server
            return
        stopping = {_STOPPING[rule["type"]] for rule in answer.data if rule["type"] in _STOPPING}
        detail = f"{self._prefix}... cannot be pushed: {'; '.join(sorted(stopping))}. Except them from the rules."
        yield Finding("rules", ok=not stopping, detail=detail if stopping else f"{self._prefix}... may be pushed")

    async def _limit(self) -> AsyncIterator[Finding]:
        try:
            answer = await self._access.service.get("/rate_limit", repository=self._access.name)
        except (NeedsHuman, NoGraphQL):  # a server without limits
            return
        core = answer.data["resources"]["core"]
        detail = f"{core['remaining']} of {core['limit']} requests left this hour"
        yield Finding("rate limit", ok=core["remaining"] > core["limit"] // 20, detail=detail)

    async def _labels(self, labels: Sequence[str]) -> AsyncIterator[Finding]:
        missing = await self._issues.missing_labels(labels)
        detail = f"missing: {', '.join(missing)}; they are made when they are needed, or by `treehand check --fix`"
        yield Finding("labels", ok=True, detail=detail if missing else f"all {len(labels)} are there")
