"""Action forms: reads a form of the run page as the fields of its action.

Rule: a wrong field raises NeedsHuman with the correction; the page shows it and keeps the typed text.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from bot.errors import NeedsHuman
from bot.web.api_models import Body, RequestBody, first_problem
from bot.web.run.actions import RunAction
from bot.web.run.request_params import is_number

FormFields = Mapping[str, Sequence[str]]

_LARGEST_LINE = 10**9
_LONGEST_AMOUNT = 10
_VERDICTS = frozenset({"comment", "approve", "request changes"})


def read_form(action: RunAction, form: FormFields) -> RequestBody:
    read = _READERS.get(action.name)
    return _fields(action.fields, read(form) if read else {})


def _fields(model: type[Body], values: Mapping[str, Any]) -> Body:
    try:
        return model.model_validate(values)
    except ValidationError as exc:
        raise NeedsHuman(first_problem(exc)) from exc


def _last(form: FormFields, name: str) -> str:
    """The value of a field, with line feeds instead of the browser's line ends."""
    return form.get(name, [""])[-1].replace("\r\n", "\n")


def _read_comment(form: FormFields) -> Mapping[str, Any]:
    text = _last(form, "text")
    if not text.strip():
        raise NeedsHuman("Type a message first.")
    return {"text": text}


def _read_budget(form: FormFields) -> Mapping[str, Any]:
    amount = _last(form, "usd").strip().removeprefix("$").replace(",", ".")
    if not _is_amount(amount):
        raise NeedsHuman("Type the budget for the issue in dollars, such as 10 or 2.50.")
    return {"words": amount}


def _is_amount(text: str) -> bool:
    dollars, _, cents = text.partition(".")
    is_short = text.isascii() and len(text) < _LONGEST_AMOUNT
    return is_short and dollars.isdecimal() and (not cents or cents.isdecimal())


def _read_merge(form: FormFields) -> Mapping[str, Any]:
    return {"squash": bool(_last(form, "squash"))}


def _read_review(form: FormFields) -> Mapping[str, Any]:
    verdict = _last(form, "verdict") or "comment"
    if verdict not in _VERDICTS:
        raise NeedsHuman("Choose a verdict: comment, approve or request changes.")
    return {"text": _last(form, "text"), "verdict": verdict, "remarks": read_remarks(form)}


def read_remarks(form: FormFields) -> list[dict[str, Any]]:
    """Skips rows without a line and a text."""
    columns = (form.get(name, []) for name in ("path", "line", "remark"))
    rows = [(path.strip(), line.strip(), text.replace("\r\n", "\n").strip()) for path, line, text in zip(*columns)]  # noqa: B905
    remarks = []
    for path, line, text in rows:
        if not (line or text):
            continue
        if not (path and text and is_number(line) and 0 < int(line) < _LARGEST_LINE):
            raise NeedsHuman("An inline comment needs a file, a line number and a text.")
        remarks.append({"path": path, "line": int(line), "text": text})
    return remarks


def _read_approval(form: FormFields) -> Mapping[str, Any]:
    return {"words": _last(form, "question")}


_READERS: Mapping[str, Callable[[FormFields], Mapping[str, Any]]] = {
    "say": _read_comment, "approve": _read_approval, "budget": _read_budget, "merge": _read_merge,
    "review": _read_review,
}  # fmt: skip
