"""Diagnoses a repository for `treehand check`: account, permissions, branch rules, rate limit, labels."""

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from bot.errors import BotError, NeedsHuman
from bot.services.github.auth import FINE_GRAINED
from bot.services.github.errors import Forbidden, NoGraphQL, NotFound
from bot.services.github.labels import RepositoryLabels
from bot.services.github.repository_api import RepositoryApi
from bot.services.github.repository_info import RepositoryInfo


class Finding(NamedTuple):
    name: str
    ok: bool
    detail: str


_METADATA = "metadata"
_PERMISSIONS = {
    "issues": ("/issues?per_page=1", "to read requests and post comments"),
    "pull requests": ("/pulls?per_page=1", "to open pull requests"),
    "contents": ("/git/matching-refs/heads/{prefix}", "to push branches"),
    "checks": ("/commits/{base}/check-runs?per_page=1", "to fix failed checks"),
    "commit statuses": ("/commits/{base}/status?per_page=1", "to fix failed checks"),
    _METADATA: ("/collaborators/{login}/permission", "to read people's permissions"),
}
_OPTIONAL = {"checks", "commit statuses"}
"""A server may lack one of them, or both."""
_APPS_ONLY = "checks"
_NO_CHECKS = (
    "GitHub hides checks in private repositories from fine-grained tokens: checks of other applications "
    "than GitHub Actions cannot be seen with this token"
)
_NO_ACTIONS = "checks of GitHub Actions cannot be seen with this token: give it the permission Actions: read"
_REQUIRED_OF_APP = {
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "checks": "read",
    "statuses": "read",
}
_OPTIONAL_OF_APP = {"actions": "read"}
_LEVELS = ("", "read", "write", "admin")
_BLOCKING_RULES = {
    "creation": "such branches may not be created",
    "update": "such branches may not be pushed to",
    "pull_request": "changes need a pull request",
    "required_signatures": "commits must be signed",
    "branch_name_pattern": "branch names must follow a pattern",
    "commit_message_pattern": "commit messages must follow a pattern",
    "commit_author_email_pattern": "authors' addresses must follow a pattern",
    "committer_email_pattern": "committers' addresses must follow a pattern",
}


class SetupCheck:
    def __init__(self, api: RepositoryApi, info: RepositoryInfo, labels: RepositoryLabels, prefix: str) -> None:
        self._api = api
        self._info = info
        self._repository_labels = labels
        self._prefix = prefix

    async def inspect(self, labels: Sequence[str]) -> list[Finding]:
        """Returns findings: those that are ok, and problems with their fix."""
        findings = await self._collect("account", self._account())
        try:
            findings += [finding async for finding in self._repository()]
        except BotError as problem:  # every other request would fail in the same way
            hint = " Check its name, and that the account may see it." if isinstance(problem, NotFound) else ""
            return [*findings, Finding("repository", ok=False, detail=f"{str(problem).removesuffix('.')}.{hint}")]
        for inspect in (self._permissions, self._rules, self._limit):
            findings += await self._collect(inspect.__name__.lstrip("_"), inspect())
        return findings + await self._collect("labels", self._labels(labels))

    async def create_labels(self, labels: Sequence[str]) -> None:
        await self._info.refresh()
        await self._repository_labels.ensure_exist(labels)

    async def _collect(self, name: str, findings: AsyncIterator[Finding]) -> list[Finding]:
        try:
            return [finding async for finding in findings]
        except BotError as problem:
            return [Finding(name, ok=False, detail=str(problem))]

    async def _account(self) -> AsyncIterator[Finding]:
        account = await self._api.client.account()
        if account.kind == "app":
            granted = dict(scope.partition(":")[::2] for scope in account.scopes)
            for name, needed in _REQUIRED_OF_APP.items():
                if _LEVELS.index(granted.get(name, "")) < _LEVELS.index(needed):
                    yield Finding("app", ok=False, detail=f"the App needs the permission {name}: {needed}")
            for name in _OPTIONAL_OF_APP.keys() - granted.keys():
                yield Finding("app", ok=True, detail=f"without the permission {name}: read, logs cannot be shown")
        elif account.scopes and not {"repo", "public_repo"} & set(account.scopes):
            scopes = ", ".join(account.scopes)
            yield Finding("token", ok=False, detail=f"the token needs the scope repo; it has {scopes}")
        yield Finding("account", ok=True, detail=f"{account.login} ({account.kind})")

    async def _repository(self) -> AsyncIterator[Finding]:
        await self._info.refresh()
        status = self._info.status
        if status.archived:
            yield Finding("repository", ok=False, detail="the repository is archived, so it can only be read")
        elif not status.may_push and (await self._api.client.account()).kind != "app":
            yield Finding("repository", ok=False, detail="the account has no push access: give it write access")
        elif status.name.lower() != self._api.name.lower():
            renamed = f"renamed to {status.name}; change `repository` in the settings, which is {self._api.name}"
            yield Finding("repository", ok=True, detail=renamed)
        else:
            yield Finding("repository", ok=True, detail=f"{status.name}, default branch {status.base}")

    async def _permissions(self) -> AsyncIterator[Finding]:
        account = await self._api.client.account()
        readable = list(_PERMISSIONS)
        missing = False
        for name, (path, purpose) in _PERMISSIONS.items():
            try:
                await self._api.get(path.format(base=self._info.status.base, login=account.login, prefix=self._prefix))
            except NeedsHuman as refusal:
                if name == _METADATA and isinstance(refusal, NotFound):
                    continue  # the request is allowed, but the account is not a user: it is an App
                if name in _OPTIONAL and not isinstance(refusal, Forbidden):  # unknown there, or no commit yet
                    readable.remove(name)
                    yield Finding(name, ok=True, detail=f"unavailable ({purpose}): {refusal}")
                    continue
                if name == _APPS_ONLY and account.kind == FINE_GRAINED:
                    readable.remove(name)
                    yield Finding(name, ok=True, detail=_NO_CHECKS)
                    if not await self._shows_jobs():
                        yield Finding(name, ok=False, detail=_NO_ACTIONS)
                    continue
                missing = True
                yield Finding("permissions", ok=False, detail=f"{name} are needed {purpose}: {refusal}")
        if not missing:
            yield Finding("permissions", ok=True, detail=f"readable: {', '.join(readable)}")

    async def _shows_jobs(self) -> bool:
        try:
            await self._api.get("/actions/runs?per_page=1")
        except NeedsHuman as refusal:
            return not isinstance(refusal, Forbidden)
        return True

    async def _rules(self) -> AsyncIterator[Finding]:
        """Rulesets that apply to our branches. Branch protection, which only admins may read, is not inspected."""
        try:
            answer = await self._api.get(f"/rules/branches/{self._prefix}check")
        except NeedsHuman:  # an older server
            return
        blocking = {_BLOCKING_RULES[rule["type"]] for rule in answer.data if rule["type"] in _BLOCKING_RULES}
        detail = f"{self._prefix}... cannot be pushed: {'; '.join(sorted(blocking))}. Except them from the rules."
        yield Finding("rules", ok=not blocking, detail=detail if blocking else f"{self._prefix}... may be pushed")

    async def _limit(self) -> AsyncIterator[Finding]:
        try:
            answer = await self._api.client.get("/rate_limit", repository=self._api.name)
        except (NeedsHuman, NoGraphQL):  # a server without limits
            return
        core = answer.data["resources"]["core"]
        detail = f"{core['remaining']} of {core['limit']} requests left this hour"
        yield Finding("rate limit", ok=core["remaining"] > core["limit"] // 20, detail=detail)

    async def _labels(self, labels: Sequence[str]) -> AsyncIterator[Finding]:
        missing = await self._repository_labels.missing(labels)
        detail = f"missing: {', '.join(missing)}; they are created when they are needed, or by `treehand check --fix`"
        yield Finding("labels", ok=True, detail=detail if missing else f"all {len(labels)} exist")
