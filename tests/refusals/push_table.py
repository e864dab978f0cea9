"""What a remote may answer to a push of ours, and what then becomes of it.

Messages are those of git, and of threads of other clients, which are named beside them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.refusals.outcome import Outcome
from tests.refusals.outcome import Outcome as Is

REF = "refs/heads/treehand/acme-shop-1"


@dataclass(frozen=True)
class PushAnswer:
    becomes: Outcome
    fault: Mapping[str, Any] = field(default_factory=dict)
    says: str = ""
    """Words that people, or the log, read about it."""
    at_once: bool = False
    """The remote answers so before it is sent anything."""


def _packet(data: bytes) -> bytes:
    return b"%04x" % (len(data) + 4) + data


def report(reason: str, *remote: str, ref: str = REF) -> dict[str, Any]:
    """The remote takes the objects and refuses the ref: messages go on band 2, the report on band 1."""
    told = b"".join(_packet(b"\2" + f"{line}\n".encode()) for line in remote)
    report = _packet(b"unpack ok\n") + _packet(f"ng {ref} {reason}\n".encode()) + b"0000"
    body = told + _packet(b"\1" + report) + b"0000"
    return {"status": 200, "body": body, "headers": {"Content-Type": "application/x-git-receive-pack-result"}}


def http(status: int, message: str) -> dict[str, Any]:
    return {"status": status, "body": message.encode(), "headers": {"Content-Type": "text/plain"}}


ANSWERS: dict[str, PushAnswer] = {
    # Permanent
    # renovatebot/renovate#44819, henne49/dbus-opendtu#235
    "GH013": PushAnswer(
        Is.ASKED,
        report(
            "push declined due to repository rule violations",
            f"error: GH013: Repository rule violations found for {REF}.",
            "- Commits must have verified signatures.",
        ),
        "Commits must have verified signatures",
    ),
    "GH006": PushAnswer(
        Is.ASKED,
        report("protected branch hook declined", f"error: GH006: Protected branch update failed for {REF}."),
        "GH006",
    ),
    "GH001": PushAnswer(
        Is.ASKED,
        report("pre-receive hook declined", "error: GH001: Large files detected.", "error: File a.bin is 123.00 MB"),
        "Large files detected",
    ),
    # repo-sync/github-sync#23
    "workflow without permission": PushAnswer(
        Is.ASKED,
        report("refusing to allow a GitHub App to create or update workflow `ci.yml` without `workflows` permission"),
        "without `workflows` permission",
    ),
    # metamath/set.mm#1531
    "shallow": PushAnswer(Is.ASKED, report("shallow update not allowed"), "shallow update not allowed"),
    # trilbymedia/grav-plugin-git-sync#195
    "403": PushAnswer(
        Is.ASKED,
        http(403, "Permission to acme/shop.git denied to treehand-bot."),
        "denied to treehand-bot",
        at_once=True,
    ),
    "404": PushAnswer(
        Is.ASKED, http(404, "Repository not found."), "Correct `repository`, or the access to it", at_once=True
    ),
    "403 later": PushAnswer(Is.ASKED, http(403, "Blocked."), "returned error: 403"),
    # Passing
    # desktop/desktop#21250, ship-studio/ship-studio#678
    "internal error": PushAnswer(
        Is.LATER, report("Internal Server Error", "Internal Server Error"), "The remote failed during the push"
    ),
    # desktop/desktop#16398, microsoft/vscode#182679
    "commit_refs": PushAnswer(
        Is.LATER, report("failure", "fatal error in commit_refs"), "The remote failed during the push"
    ),
    # EndBug/add-and-commit#513
    "ref is locked": PushAnswer(
        Is.LATER,
        report(f"cannot lock ref '{REF}': is at {'a' * 40} but expected {'b' * 40}"),
        "changed during the push",
    ),
    "401": PushAnswer(Is.LATER, http(401, "Invalid username or token."), "refused the request"),
    "401 at once": PushAnswer(Is.LATER, http(401, "Invalid username or token."), "refused the request", at_once=True),
    "429 at once": PushAnswer(Is.LATER, http(429, "Too many requests."), "refused the request", at_once=True),
    "429": PushAnswer(Is.LATER, http(429, "Too many requests."), "refused the request"),
    "500": PushAnswer(Is.LATER, http(500, "Internal Server Error"), "could not be reached"),
    "503": PushAnswer(Is.LATER, http(503, "Service Unavailable"), "could not be reached"),
    # git repeats the request by itself on another connection
    "dropped before the effect": PushAnswer(Is.DONE, {"cut": True}),
    # Lying
    "dropped after the effect": PushAnswer(Is.LATER, {"cut": True, "done": True}, "changed during the push"),
    "500 after the effect": PushAnswer(Is.LATER, {"done": True, **http(500, "Oops")}, "could not be reached"),
    "broken off": PushAnswer(Is.LATER, {"half": True}, "could not be reached"),
    "200 in HTML": PushAnswer(
        Is.LATER,
        {"status": 200, "body": b"<html>Sign in to the proxy</html>", "headers": {"Content-Type": "text/html"}},
    ),
}
