"""Reads the checks of a pull request; annotations and logs only of failed ones."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from bot.domain.pull_request import MAX_LOG_CHARACTERS, CheckState
from bot.errors import NeedsHuman, Retryable
from bot.services.github.cache import RecordKind, Row
from bot.services.github.repository_api import RepositoryApi

_RED = {"failure", "timed_out", "cancelled", "startup_failure", "error"}
_MAX_FAILED, _MAX_ANNOTATIONS, _MAX_LOG_LINES, _MAX_SUMMARY = 10, 10, 50, 1000


class CheckReader:
    def __init__(self, api: RepositoryApi) -> None:
        self._api = api
        self._cache = api.cache

    async def refresh(self, number: int, details: Row) -> None:
        known = self._cache.find(RecordKind.CHECKS, number)
        signature = [details["head"], details["rollup"]]
        if known and details["rollup"] is not None and known["signature"] == signature and known["final"]:
            return
        found = {**await self._read(details), "commit": details["head"], "signature": signature}
        self._cache.keep(RecordKind.CHECKS, found, record=number, number=number)

    async def _read(self, details: Row) -> Row:
        """The rollup of the details says whether the checks have to be read."""
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

    async def _read_checks(self, commit: str, base: str) -> Row:
        checks = await self._list(commit)
        pending = sum(check["outcome"] == "pending" for check in checks)
        passed = sum(check["outcome"] == "passed" for check in checks)
        red = [check for check in checks if check["outcome"] == "red"]
        if pending or not red:
            state = CheckState.PENDING if pending else CheckState.GREEN if passed else CheckState.NONE
            return _result(state, passed=passed, pending=pending, final=not pending)
        on_base = {check["name"] for check in await self._list(base) if check["outcome"] == "red"}
        failed = [
            {**await self._with_reasons(check), "on_base": check["name"] in on_base} for check in red[:_MAX_FAILED]
        ]
        return _result(CheckState.RED, passed=passed, failed=failed)

    async def _list(self, commit: str) -> list[Row]:
        if not commit:
            return []
        runs = [page async for page in self._pages(f"/commits/{commit}/check-runs")]
        statuses = [page async for page in self._pages(f"/commits/{commit}/status")]
        return [
            *(_parse_run(run) for page in runs for run in page.get("check_runs") or ()),
            *(_parse_status(status) for page in statuses for status in page.get("statuses") or ()),
        ]

    async def _pages(self, path: str) -> AsyncIterator[Any]:
        """Empty if the server or the token lacks this kind of checks."""
        try:
            async for page in self._api.pages(path):
                yield page.data
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
    return {"state": state, "passed": passed, "pending": pending, "failed": list(failed), "final": final}
