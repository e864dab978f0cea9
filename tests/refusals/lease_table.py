"""What a remote may answer when a daemon writes the lease, and whether it acts then.

The answers are those to any push, with the lease's ref in them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bot.workspace.lease_ref import LEASE_REF
from tests.refusals.push_table import http, report


class Becomes(StrEnum):
    HELD = "it acts"
    LATER = "it waits and tries again; nobody is asked"
    UNLEASED = "it acts without a lease, and the log says so"


@dataclass(frozen=True)
class LeaseAnswer:
    becomes: Becomes
    fault: Mapping[str, Any] = field(default_factory=dict)
    says: str = ""


ANSWERS: dict[str, LeaseAnswer] = {
    # The remote takes no such ref: nobody else can hold it either
    "hidden ref": LeaseAnswer(Becomes.UNLEASED, report("deny updating a hidden ref", ref=LEASE_REF)),
    "GH013": LeaseAnswer(
        Becomes.UNLEASED,
        report("push declined due to repository rule violations", "error: GH013: Violations found.", ref=LEASE_REF),
    ),
    "hook": LeaseAnswer(Becomes.UNLEASED, report("pre-receive hook declined", ref=LEASE_REF)),
    # Another daemon was faster
    "ref is locked": LeaseAnswer(
        Becomes.LATER,
        report(f"cannot lock ref '{LEASE_REF}': is at {'a' * 40} but expected {'b' * 40}", ref=LEASE_REF),
        "at the same moment",
    ),
    # Passing
    "internal error": LeaseAnswer(
        Becomes.LATER, report("Internal Server Error", ref=LEASE_REF), "The remote did not take the lease"
    ),
    "commit_refs": LeaseAnswer(
        Becomes.LATER, report("failure", "fatal error in commit_refs", ref=LEASE_REF), "fatal error in"
    ),
    "401": LeaseAnswer(Becomes.LATER, http(401, "Invalid username or token."), "refused the request"),
    "429": LeaseAnswer(Becomes.LATER, http(429, "Too many requests."), "refused the request"),
    "500": LeaseAnswer(Becomes.LATER, http(500, "Internal Server Error"), "could not be reached"),
    "503": LeaseAnswer(Becomes.LATER, http(503, "Service Unavailable"), "could not be reached"),
    # Lying
    "dropped after the effect": LeaseAnswer(Becomes.HELD, {"cut": True, "done": True}),
    "500 after the effect": LeaseAnswer(Becomes.HELD, {"done": True, **http(500, "Oops")}),
    "broken off": LeaseAnswer(Becomes.HELD, {"half": True}),
    "200 in HTML": LeaseAnswer(
        Becomes.LATER,
        {"status": 200, "body": b"<html>Sign in</html>", "headers": {"Content-Type": "text/html"}},
    ),
    # Permanent: the project waits, and `treehand status` gives the reason
    "403": LeaseAnswer(Becomes.LATER, http(403, "Permission to acme/shop.git denied."), "returned error: 403"),
    "404": LeaseAnswer(Becomes.LATER, http(404, "Repository not found."), "returned error: 404"),
}
