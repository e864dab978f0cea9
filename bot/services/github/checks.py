"""Reads the checks of a pull request; annotations and logs only of failed ones.

Rule: a refusal is not "nothing failed". If check runs may not be read, the jobs of GitHub Actions take their place, and
the result names the checks that cannot be seen.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from bot.domain.pull_request import MAX_LOG_CHARACTERS, CheckState
from bot.errors import NeedsHuman, Retryable
from bot.services.github.auth import FINE_GRAINED
from bot.services.github.cache import RecordKind, Row
from bot.services.github.errors import Forbidden, NoGraphQL
from bot.services.github.repository_api import RepositoryApi

_RED = {"failure", "timed_out", "cancelled", "startup_failure", "error"}
_MAX_FAILED, _MAX_ANNOTATIONS, _MAX_LOG_LINES, _MAX_SUMMARY = 10, 10, 50, 1000
_OTHER_APPS = "check runs of other applications"


class CheckReader:
    def __init__(self, api: RepositoryApi) -> None:
        self._api = api
        self._cache = api.cache
        self._may_read_runs: bool | None = None
        """False if the token may not read check runs; None until the first answer."""

    async def refresh(self, number: int, details: Row) -> None:
        known = self._cache.find(RecordKind.CHECKS, number)
        signature = [details["head"], details["rollup"]]
        if known and details["rollup"] is not None and known["signature"] == signature and known["final"]:
            return
        found = {**await self._read(details), "commit": details["head"], "signature": signature}
        self._cache.keep(RecordKind.CHECKS, found, record=number, number=number)

    async def _read(self, details: Row) -> Row:
        """The rollup of the details says whether the checks have to be read."""
        if not await self._shows_runs(details):  # the rollup leaves out what the token may not see
            checks = await self._read_checks(details["head"], details["onto"])
            return {**checks, "final": False}
        match details["rollup"]:
            case "":
                return _result(CheckState.NONE)
            case "PENDING" | "EXPECTED":
                return _result(CheckState.PENDING, pending=1)
            case "SUCCESS":
                checks = await self._read_checks(details["head"], details["onto"])
                return {**checks, "state": CheckState.GREEN} if checks["state"] == CheckState.NONE else checks
            case _:
                return await self._read_checks(details["head"], details["onto"])

    async def _shows_runs(self, details: Row) -> bool:
        """Asks once per process, and only with a kind of token that may lack the permission."""
        if self._may_read_runs is None and details["rollup"] is not None and await self._has_fine_grained_token():
            try:
                await self._api.get(f"/commits/{details['head']}/check-runs", {"per_page": "1"})
            except NeedsHuman as refusal:
                self._may_read_runs = not isinstance(refusal, Forbidden)
            else:
                self._may_read_runs = True
        return self._may_read_runs is not False

    async def _has_fine_grained_token(self) -> bool:
        try:
            return (await self._api.client.account()).kind == FINE_GRAINED
        except (NeedsHuman, NoGraphQL):
            return False

    async def _read_checks(self, commit: str, base: str) -> Row:
        checks, unseen = await self._list(commit)
        judged = await self._judged(checks, base)
        is_known = not unseen or judged["state"] != CheckState.GREEN
        return {**judged, "state": judged["state"] if is_known else CheckState.NONE, "unseen": unseen}

    async def _judged(self, checks: Sequence[Row], base: str) -> Row:
        pending = sum(check["outcome"] == "pending" for check in checks)
        passed = sum(check["outcome"] == "passed" for check in checks)
        red = [check for check in checks if check["outcome"] == "red"]
        if pending or not red:
            state = CheckState.PENDING if pending else CheckState.GREEN if passed else CheckState.NONE
            return _result(state, passed=passed, pending=pending, final=not pending)
        on_base = {check["name"] for check in (await self._list(base))[0] if check["outcome"] == "red"}
        failed = [
            {**await self._with_reasons(check), "on_base": check["name"] in on_base} for check in red[:_MAX_FAILED]
        ]
        return _result(CheckState.RED, passed=passed, failed=failed)

    async def _list(self, commit: str) -> tuple[list[Row], str]:
        """All checks of a commit that may be read, and the others in words."""
        if not commit:
            return [], ""
        refused: list[str] = []
        checks: list[Row] = []
        try:
            checks += [_parse_run(run) async for run in self._items(f"/commits/{commit}/check-runs", "check_runs")]
        except Forbidden:
            self._may_read_runs = False
            jobs, unseen = await self._jobs(commit)
            checks += jobs
            refused.append(unseen)
        try:
            checks += [_parse_status(one) async for one in self._items(f"/commits/{commit}/status", "statuses")]
        except Forbidden:
            refused.append("commit statuses")
        return checks, " and ".join(refused)

    async def _jobs(self, commit: str) -> tuple[list[Row], str]:
        """The jobs of GitHub Actions on a commit, and the checks that are no such jobs, in words."""
        try:
            runs = [run async for run in self._items("/actions/runs", "workflow_runs", {"head_sha": commit})]
            paths = [f"/actions/runs/{run['id']}/jobs" for run in runs]
            return [_parse_job(job) for path in paths async for job in self._items(path, "jobs")], _OTHER_APPS
        except Forbidden:
            return [], "checks of GitHub Actions and of other applications"

    async def _items(self, path: str, name: str, params: Mapping[str, str] | None = None) -> AsyncIterator[Any]:
        """Empty if the server lacks this kind of checks. Raises Forbidden if they may not be read."""
        try:
            async for page in self._api.pages(path, params):
                for item in page.data.get(name) or ():
                    yield item
        except Forbidden:
            raise
        except NeedsHuman:
            return

    async def _with_reasons(self, check: Row) -> Row:
        return {**check, "annotations": await self._annotations(check), "log": await self._log(check)}

    async def _annotations(self, check: Row) -> list[str]:
        if not check["annotated"]:
            return []
        try:
            answer = await self._api.get(f"/check-runs/{check['id']}/annotations")
        except NeedsHuman:
            return []
        return [f"{item['path']}:{item['start_line']}: {item['message']}"[:500] for item in answer.data][
            :_MAX_ANNOTATIONS
        ]

    async def _log(self, check: Row) -> str:
        """Empty unless it is a job of GitHub Actions with a log that can be read now."""
        if not check["job"]:
            return ""
        path = self._api.path(f"/actions/jobs/{check['id']}/logs")
        try:
            text = await self._api.client.tail(path, repository=self._api.name, most=MAX_LOG_CHARACTERS)
        except (NeedsHuman, Retryable):
            return ""
        return "\n".join(text.splitlines()[-_MAX_LOG_LINES:])


def _parse_run(run: Mapping[str, Any]) -> Row:
    output = run.get("output") or {}
    conclusion = run.get("conclusion") or ""
    outcome = "red" if conclusion in _RED else "passed"
    summary = "\n".join(filter(None, (output.get("title"), output.get("summary"))))
    return {
        "id": run["id"],
        "name": run.get("name") or "",
        "url": run.get("html_url") or run.get("details_url") or "",
        "outcome": outcome if run.get("status") == "completed" else "pending",
        "summary": summary[:_MAX_SUMMARY],
        "annotated": bool(output.get("annotations_count")),
        "job": (run.get("app") or {}).get("slug") == "github-actions",
    }


def _parse_job(job: Mapping[str, Any]) -> Row:
    return {**_parse_run(job), "job": True}


def _parse_status(status: Mapping[str, Any]) -> Row:
    outcomes = {"pending": "pending", "success": "passed"}
    return {
        "id": status.get("id") or 0,
        "name": status.get("context") or "",
        "url": status.get("target_url") or "",
        "outcome": outcomes.get(status.get("state") or "", "red"),
        "summary": (status.get("description") or "")[:_MAX_SUMMARY],
        "annotated": False,
        "job": False,
    }


def _result(
    state: CheckState, *, passed: int = 0, pending: int = 0, failed: Sequence[Row] = (), final: bool = True
) -> Row:
    """`final`: it is not read again while the details stay the same."""
    return {"state": state, "passed": passed, "pending": pending, "failed": list(failed), "final": final, "unseen": ""}
