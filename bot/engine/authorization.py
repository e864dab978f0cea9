"""Authorization: requests, comments and approvals by people without permission, and edits by them. Pure.

Rule: no run begins, continues or publishes against an objection; a person who may steer lifts it.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.domain.comment import Comment
from bot.domain.issue import Issue
from bot.domain.policy import Policy
from bot.domain.run import Phase, Run, WaitReason
from bot.engine import comment_ledger, publish_approval
from bot.engine.ask_human import ask_after, requeue
from bot.engine.decision import Decision
from bot.engine.messages import blocked_work, consent_comment
from bot.engine.observation import Observation

_REQUEST, _COMMENTS, _APPROVAL = "request", "comments", "approval"


@dataclass(frozen=True, slots=True)
class EditObjection:
    about: str
    """Kind and exact id, so that an approval covers no later edit."""
    text: str

    def is_like(self, about: str) -> bool:
        return self.about.partition(" ")[0] == about.partition(" ")[0]


def find_objection(run: Run, seen: Observation, policy: Policy) -> EditObjection | None:
    if seen.issue is None:
        return None
    return (
        _object_to_request(run, seen, policy)
        or object_to_comments(run, seen, policy)
        or _object_to_approvals(run, seen, policy)
    )


def _object_to_request(run: Run, seen: Observation, policy: Policy) -> EditObjection | None:
    assert seen.issue
    issue = seen.issue
    if issue.unvouched and not run.turns.number:
        return None  # the comment waits; Treehand asks about it later if necessary
    if _is_unauthorized(run, issue, published=seen.pull_request is not None):
        changed = (
            consent_comment.changed_since(run.consent.requester_approved_by, policy)
            if run.consent.requester_approved_by
            else ""
        )
        return EditObjection(
            _request_id(issue), changed or consent_comment.requested_without_permission(issue.requester, policy)
        )
    if run.consent.requester_approved_by and not issue.requester.trusted:
        return None  # the text was approved; a later edit is ignored
    if (edit := issue.edit) and edit.id not in {run.consent.accepted_edit, run.consent.ignored_edit}:
        return EditObjection(f"edit {edit.id}", consent_comment.edited_without_permission(edit, policy))
    return None


def _object_to_approvals(run: Run, seen: Observation, policy: Policy) -> EditObjection | None:
    lost = [*_lost_consent(run, seen), *(one.by for one in publish_approval.lost_approvals(run, seen))]
    if not lost:
        return None
    return EditObjection(f"{_APPROVAL} {' '.join(lost)}", consent_comment.approver_left(lost, policy))


def _lost_consent(run: Run, seen: Observation) -> Sequence[str]:
    """Returns the person whose approval of a request or an edit no longer counts."""
    approval = run.consent.approved_in
    if not approval or any(comment.id == approval and comment.author.trusted for comment in seen.comments):
        return ()
    return (run.consent.requester_approved_by or "somebody",)


def with_accepted(run: Run, comments: Sequence[Comment]) -> tuple[Comment, ...]:
    """Returns the comments; those that a person accepted count as trusted."""
    accepted = run.consent.accepted_comments
    return tuple(
        replace(comment, author=replace(comment.author, trusted=True), edited_by=None)
        if accepted and _comment_id(comment) in accepted
        else comment
        for comment in comments
    )


def block_on(decision: Decision, seen: Observation, policy: Policy, objection: EditObjection) -> Decision:
    """Asks once per objection."""
    asking = decision.then(replace(decision.run, consent=replace(decision.run.consent, asked_for=objection.about)))
    return ask_after(asking, seen, policy, WaitReason.CONSENT, objection.text, about=objection.about)


def reconsider(run: Run, seen: Observation, policy: Policy) -> Decision | None:
    """Checks an objection again while the run waits: it may be gone, or have become another kind of objection.

    A later objection of the same kind is posted only after an approval, so that others cannot cause comments.
    """
    objection = find_objection(run, seen, policy)
    if objection is None:
        asked_about_comments = run.consent.asked_for.startswith(_COMMENTS)
        return Decision(_without_comments(run, seen) if asked_about_comments else requeue(run, seen.now))
    return None if objection.is_like(run.consent.asked_for) else block_on(Decision(run), seen, policy, objection)


def approve(run: Run, seen: Observation, policy: Policy, *, by: Comment) -> tuple[Decision, str]:
    """Approves only the text that was asked about: it may have changed again since. `by` says so."""
    assert seen.issue
    objection = find_objection(run, seen, policy)
    if objection and objection.about != run.consent.asked_for:
        return block_on(Decision(run), seen, policy, objection), consent_comment.changed_again()
    if objection and objection.is_like(_APPROVAL) and run.hold.allowed and not by.author.may_push:
        return Decision(run), blocked_work.may_not_publish(by.author.name, policy)
    if objection:
        run = _with_approval(run, seen, objection, by)
    return Decision(_continue(run, seen)), consent_comment.approved(by.author.name)


def _with_approval(run: Run, seen: Observation, objection: EditObjection, by: Comment) -> Run:
    assert seen.issue
    consent = replace(run.consent, approved_in=by.id)
    if objection.is_like(_COMMENTS):
        accepted = (_comment_id(comment) for comment in comment_ledger.held_comments(run, seen))
        return replace(run, consent=replace(consent, accepted_comments=(*consent.accepted_comments, *accepted)))
    if objection.is_like(_APPROVAL):
        approver = by.author.name if consent.requester_approved_by else ""
        run = replace(run, consent=replace(consent, requester_approved_by=approver))
        return publish_approval.allow_again(run, seen, by)
    if objection.is_like(_REQUEST):
        approver, text = by.author.name, objection.about
        return replace(run, consent=replace(consent, requester_approved_by=approver, accepted_edit=text))
    if seen.issue.edit:
        return replace(run, consent=replace(consent, accepted_edit=seen.issue.edit.id))
    return run


def ignore_edit(run: Run, seen: Observation, policy: Policy) -> tuple[Decision, str]:
    """Continues with the original request if it is known."""
    assert seen.issue
    objection = find_objection(run, seen, policy)
    if objection is None:
        return Decision(_continue(run, seen)), "The run continues as soon as a slot is free."
    if objection.about != run.consent.asked_for:
        return block_on(Decision(run), seen, policy, objection), consent_comment.changed_again()
    if objection.is_like(_COMMENTS):
        left = _without_comments(comment_ledger.set_aside(run, seen), seen)
        return Decision(left), consent_comment.comments_left_aside()
    edit = seen.issue.edit
    if edit is None or not edit.original_known or objection.is_like(_REQUEST):
        return Decision(run), objection.text
    return Decision(
        _continue(replace(run, consent=replace(run.consent, ignored_edit=edit.id)), seen)
    ), consent_comment.left_aside()


def effective_issue(run: Run, issue: Issue) -> Issue:
    """Returns the issue with the text that counts for this run."""
    if issue.edit and issue.edit.id == run.consent.accepted_edit:
        return replace(issue, title=issue.edit.title, body=issue.edit.body)
    return issue


def effective_text(run: Run | None, issue: Issue) -> str:
    """Returns the text; empty until a person who may steer has requested it."""
    if run is None:
        return issue.body if issue.requester.trusted else ""
    return "" if _is_unauthorized(run, issue) else effective_issue(run, issue).body


def has_new_text(run: Run, issue: Issue) -> bool:
    """Returns True if a text was approved that the agent's session may not contain."""
    accepted = issue.edit is not None and issue.edit.id == run.consent.accepted_edit
    return accepted and bool(run.wait_reason is WaitReason.CONSENT or run.turns.failures or run.turns.losses)


def with_request(run: Run, seen: Observation) -> Run:
    """Records a repeated request by a trusted person as a request for this run."""
    if seen.issue and seen.issue.request not in {"", run.request} and not _is_unauthorized(run, seen.issue):
        return replace(run, request=seen.issue.request, reopened=False)
    return run


def object_to_comments(run: Run, seen: Observation, policy: Policy) -> EditObjection | None:
    held = comment_ledger.held_comments(run, seen)
    if not held:
        return None
    return EditObjection(f"{_COMMENTS} {' '.join(map(_comment_id, held))}", consent_comment.held_comments(held, policy))


def _without_comments(run: Run, seen: Observation) -> Run:
    """An offered work with nothing left to do waits for people again, without another turn."""
    if seen.pull_request and run.turns.number and not comment_ledger.pending_comments(run, seen):
        return run.to(Phase.REVIEW, now=seen.now)
    return _continue(run, seen)


def _continue(run: Run, seen: Observation) -> Run:
    """Keeps the wait reason until the next turn, whose prompt mentions it."""
    return replace(requeue(run, seen.now), wait_reason=WaitReason.CONSENT)


def _is_unauthorized(run: Run, issue: Issue, *, published: bool = True) -> bool:
    """An approval covers the request's text at that time. Without one, nothing begins, and nothing is published first.

    Work that is published already continues unless there is a new request.
    """
    if issue.requester.trusted:
        return False
    if run.consent.requester_approved_by:
        return run.consent.accepted_edit != _request_id(issue)
    return run.turns.number == 0 or not published or issue.request not in {"", run.request}


def _request_id(issue: Issue) -> str:
    """Digest of request and text: no service keeps the text of an untrusted request for us."""
    return f"{_REQUEST} {issue.request} {_digest(issue.title, issue.body)}"


def _comment_id(comment: Comment) -> str:
    """The comment as it reads now."""
    return f"{comment.id}:{_digest(comment.text, *(f'{remark.id} {remark.text}' for remark in comment.remarks))}"


def _digest(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode(errors="surrogatepass")).hexdigest()[:16]
