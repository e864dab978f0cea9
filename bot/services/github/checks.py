"""What the checks of a pull request say; why they are red is read only when they are."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from bot.domain.pull_request import CheckState
from bot.errors import NeedsHuman, Retryable
from bot.services.github.cache import Kind, Row
from bot.services.github.repository_api import Access

_RED = {"failure", "timed_out", "cancelled", "startup_failure", "error"}
_FAILED_SHOWN, _ANNOTATIONS, _LOG_LINES, _LOG_CHARACTERS, _SUMMARY = 10, 10, 50, 4096, 1000


class CheckReader:
    def __init__(self, access: Access) -> None:
        self._access = access
        self._notebook = access.notebook

    async def refresh(self, number: int, glance: Row) -> None:
        known = self._notebook.find(Kind.CHECKS, number)
        signature = [glance["head"], glance["rollup"]]
        if known and glance["rollup"] is not None and known["signature"] == signature and known["final"]:
            return
        found = {**await self._looked_at(glance), "commit": glance["head"], "signature": signature}
        self._notebook.keep(Kind.CHECKS, found, one=number, number=number)

    async def _looked_at(self, glance: Row) -> Row:
        """The glance knows that something is going on, not what."""
        match glance["rollup"]:
            case "":
                return _found(CheckState.NONE)
            case "PENDING" | "EXPECTED":
                return _found(CheckState.PENDING, pending=1)
            case "SUCCESS":
                found = await self._look_closely(glance["head"], glance["onto"])
                return {**found, "state": CheckState.GREEN} if found["state"] == CheckState.NONE else found
            case _:
                return await self._look_closely(glance["head"], glance["onto"])

    async def _look_closely(self, commit: str, base: str) -> Row:
        checks = await self._checks(commit)
        pending = sum(check["outcome"] == "pending" for check in checks)
        passed = sum(check["outcome"] == "passed" for check in checks)
        red = [check for check in checks if check["outcome"] == "red"]
        if pending or not red:
            state = CheckState.PENDING if pending else CheckState.GREEN if passed else CheckState.NONE
            return _found(state, passed=passed, pending=pending, final=not pending)
        on_base = {check["name"] for check in await self._checks(base) if check["outcome"] == "red"}
        failed = [
            {**await self._explained(check), "on_base": check["name"] in on_base} for check in red[:_FAILED_SHOWN]
        ]
        return _found(CheckState.RED, passed=passed, failed=failed)

    async def _checks(self, commit: str) -> list[Row]:
        if not commit:
            return []
        runs = [page async for page in self._pages(f"/commits/{commit}/check-runs")]
        statuses = [page async for page in self._pages(f"/commits/{commit}/status")]
        return [
            *(_of_run(run) for page in runs for run in page.get("check_runs") or ()),
            *(_of_status(status) for page in statuses for status in page.get("statuses") or ()),
        ]

    async def _pages(self, path: str) -> AsyncIterator[Any]:
        """A server or a token that knows only one kind of them is no trouble."""
        try:
            async for page in self._access.pages(path):
                yield page.data
        except NeedsHuman:
            return

    async def _explained(self, check: Row) -> Row:
        return {**check, "annotations": await self._annotations(check), "log": await self._log(check)}

    async def _annotations(self, check: Row) -> list[str]:
        if not check["annotated"]:
            return []
        try:
            answer = await self._access.get(f"/check-runs/{check['id']}/annotations")
        except NeedsHuman:
            return []
        return [f"{item['path']}:{item['start_line']}: {item['message']}"[:500] for item in answer.data][:_ANNOTATIONS]

    async def _log(self, check: Row) -> str:
        """Only those of Actions can be had. A log is a help, and no reason to wait."""
        if not check["job"]:
            return ""
        path = self._access.path(f"/actions/jobs/{check['id']}/logs")
        try:
            text = await self._access.service.tail(path, repository=self._access.name, most=_LOG_CHARACTERS)
        except (NeedsHuman, Retryable):
            return ""
        return "\n".join(text.splitlines()[-_LOG_LINES:])


def _of_run(run: Mapping[str, Any]) -> Row:
    output = run.get("output") or {}
    conclusion = run.get("conclusion") or ""
    outcome = "red" if conclusion in _RED else "passed"
    summary = "\n".join(filter(None, (output.get("title"), output.get("summary"))))
    return {
        "id": run["id"],
        "name": run.get("name") or "",
        "url": run.get("html_url") or run.get("details_url") or "",
        "outcome": outcome if run.get("status") == "completed" else "pending",
        "summary": summary[:_SUMMARY],
        "annotated": bool(output.get("annotations_count")),
        "job": (run.get("app") or {}).get("slug") == "github-actions",
    }


def _of_status(status: Mapping[str, Any]) -> Row:
    outcomes = {"pending": "pending", "success": "passed"}
    return {
        "id": status.get("id") or 0,
        "name": status.get("context") or "",
        "url": status.get("target_url") or "",
        "outcome": outcomes.get(status.get("state") or "", "red"),
        "summary": (status.get("description") or "")[:_SUMMARY],
        "annotated": False,
        "job": False,
    }


def _found(
    state: CheckState, *, passed: int = 0, pending: int = 0, failed: Sequence[Row] = (), final: bool = True
) -> Row:
    """Final: nothing more is to be learned while the glance stays the same."""
    return {"state": state, "passed": passed, "pending": pending, "failed": list(failed), "final": final}
