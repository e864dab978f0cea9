"""Publish page: shows why work is held back, and asks again before it is published.

Rule: an approval counts only for the objections that its page has shown.
"""

import hashlib
from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response

from bot.domain.run import Run, WaitReason
from bot.web.templating import page

_SECRET = "secret"  # noqa: S105 - the name of a rule


def must_ask_again(run: Run, action: str, form: Mapping[str, Sequence[str]]) -> bool:
    is_held = action == "approve" and run.wait_reason is WaitReason.BLOCKED and bool(run.hold.objections)
    return is_held and form.get("seen", [""])[-1] != _digest(run)


def publish_page(request: Request, run: Run) -> Response:
    has_secret = any(_SECRET in {one.rule, *one.detail.split()} for one in run.hold.objections)
    return page(request, "run/publish.html", run=run, has_secret=has_secret, seen=_digest(run))


def _digest(run: Run) -> str:
    return hashlib.sha256(" ".join(one.id for one in run.hold.objections).encode()).hexdigest()
