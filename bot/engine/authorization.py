"""Whose wish it is: work that somebody asked for who may not steer, and words changed by such a person. Pure.

Nothing begins, goes on or is published against an objection; it goes away when somebody who may steer says so.
"""

import hashlib
from dataclasses import dataclass, replace

from bot.domain.issue import Issue
from bot.domain.policy import Policy
from bot.domain.run import Cause, Run
from bot.engine.ask_human import ask_after, go_again
from bot.engine.decision import Decision
from bot.engine.messages import issue as messages
from bot.engine.observation import Observation


@dataclass(frozen=True, slots=True)
class Objection:
    about: str
    """What kind it is, and the act of asking or the edit exactly: consent to one is no consent to a later one."""
    text: str

    def is_like(self, about: str) -> bool:
        return self.about.partition(" ")[0] == about.partition(" ")[0]


def find_objection(run: Run, seen: Observation, policy: Policy) -> Objection | None:
    issue = seen.issue
    if issue is None:
        return None
    if _is_strange(run, issue):
        asked = messages.changed_since(run.vouched, policy) if run.vouched else ""
        return Objection(_request_of(issue), asked or messages.asked_by_stranger(issue.asked_by, policy))
    if run.vouched and not issue.asked_by.trusted:
        return None  # its words were approved as they are; an edit beside them is not used
    if (edit := issue.edit) and edit.id not in {run.accepted, run.ignored}:
        return Objection(f"edit {edit.id}", messages.edited_by_stranger(edit, policy))
    return None


def object_to(decision: Decision, seen: Observation, policy: Policy, objection: Objection) -> Decision:
    """Say so, once for each objection."""
    asking = decision.then(replace(decision.run, asked_about=objection.about))
    return ask_after(asking, seen, policy, Cause.CONSENT, objection.text, about=objection.about)


def reconsider(run: Run, seen: Observation, policy: Policy) -> Decision | None:
    """While it is asking: the objection may have gone away by itself, or have become one of another kind.

    A later one of the same kind is asked about when somebody consents to the one before: strangers make me say nothing.
    """
    objection = find_objection(run, seen, policy)
    if objection is None:
        return Decision(go_again(run, seen.now))
    return None if objection.is_like(run.asked_about) else object_to(Decision(run), seen, policy, objection)


def approve(run: Run, seen: Observation, policy: Policy, *, by: str) -> tuple[Decision, str]:
    """Only what was asked about: the words may have changed again while somebody read them."""
    assert seen.issue
    objection = find_objection(run, seen, policy)
    if objection and objection.about != run.asked_about:
        return object_to(Decision(run), seen, policy, objection), messages.changed_again()
    if objection and _is_strange(run, seen.issue):
        run = replace(run, vouched=by, accepted=objection.about)
    elif objection and seen.issue.edit:
        run = replace(run, accepted=seen.issue.edit.id)
    return Decision(_again(run, seen)), messages.approved(by)


def leave_aside(run: Run, seen: Observation, policy: Policy) -> tuple[Decision, str]:
    """Go on with what was asked for, where that is known."""
    assert seen.issue
    objection = find_objection(run, seen, policy)
    if objection is None:
        return Decision(_again(run, seen)), "Going on as soon as there is a free slot."
    if objection.about != run.asked_about:
        return object_to(Decision(run), seen, policy, objection), messages.changed_again()
    edit = seen.issue.edit
    if edit is None or not edit.original_known or _is_strange(run, seen.issue):
        return Decision(run), objection.text
    return Decision(_again(replace(run, ignored=edit.id), seen)), messages.left_aside()


def words_of(run: Run, issue: Issue) -> Issue:
    """The issue in the words that count for this run."""
    if issue.edit and issue.edit.id == run.accepted:
        return replace(issue, title=issue.edit.title, body=issue.edit.body)
    return issue


def words_that_count(run: Run | None, issue: Issue) -> str:
    """Its text; empty while nobody who may steer has asked for it."""
    if run is None:
        return issue.body if issue.asked_by.trusted else ""
    return "" if _is_strange(run, issue) else words_of(run, issue).body


def has_new_words(run: Run, issue: Issue) -> bool:
    """Words were accepted that an agent in the middle of its conversation may not know."""
    accepted = issue.edit is not None and issue.edit.id == run.accepted
    return accepted and bool(run.cause is Cause.CONSENT or run.failures or run.losses)


def with_request(run: Run, seen: Observation) -> Run:
    """Asked again by somebody who may: it is still this run."""
    if seen.issue and seen.issue.request not in {"", run.request} and not _is_strange(run, seen.issue):
        return replace(run, request=seen.issue.request)
    return run


def _again(run: Run, seen: Observation) -> Run:
    """The cause is kept until the next turn begins, which is told about it."""
    return replace(go_again(run, seen.now), cause=Cause.CONSENT)


def _is_strange(run: Run, issue: Issue) -> bool:
    """A person vouches for a request as it reads then. Without that, one that has begun is asked about only if anew."""
    if issue.asked_by.trusted:
        return False
    if run.vouched:
        return run.accepted != _request_of(issue)
    return run.turn == 0 or issue.request not in {"", run.request}


def _request_of(issue: Issue) -> str:
    """Nobody keeps the words of a stranger's request for us: they are a part of it."""
    words = hashlib.sha256(f"{issue.title}\0{issue.body}".encode(errors="surrogatepass")).hexdigest()[:16]
    return f"request {issue.request} {words}"
