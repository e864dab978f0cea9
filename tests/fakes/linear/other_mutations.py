"""Mutations of comments, labels, reactions and attachments."""

from typing import Any

from tests.fakes.linear.errors import Refusal, bad_argument, forbidden, taken
from tests.fakes.linear.field_registry import Ask
from tests.fakes.linear.model import Attachment, Comment, Issue, Label, Webhook
from tests.fakes.linear.mutation_inputs import known, mutation, new_id

_OF_WHAT = (
    "Exactly one of projectUpdateId, initiativeUpdateId, postId, documentContentId, projectId, initiativeId or issueId "
    "must be defined."
)


@mutation("commentCreate", "comments:create")
def _comment(ask: Ask, *, given: dict[str, Any]) -> dict[str, Any]:
    """Creates a comment; replies must name their issue too."""
    known(given, "id body issueId parentId")
    if not given.get("issueId"):
        raise bad_argument(_OF_WHAT)
    issue = ask.issue(given["issueId"])
    parent = ask.comment(given["parentId"]) if given.get("parentId") else None
    _fits_under(parent, issue)
    wanted = new_id(ask, given.get("id"), "Comment")
    return {"comment": ask.world.say(issue, given.get("body") or "", ask.who, parent=parent, wanted=wanted)}


def _fits_under(parent: Comment | None, issue: Issue) -> None:
    """Checks that threads are one level deep."""
    if parent and parent.issue is not issue:
        raise Refusal("Parent comment must be of the same issue")
    if parent and parent.parent:
        raise Refusal("Parent comment must be a top level comment")


def _own(ask: Ask, key: str) -> Comment:
    comment = ask.comment(key)
    if comment.user is not ask.viewer and not ask.viewer.admin:
        raise forbidden("You can only change your own comments.")
    return comment


@mutation("commentUpdate")
def _rewrite(ask: Ask, *, key: str, given: dict[str, Any], skip_edited_at: bool | None = None) -> dict[str, Any]:
    known(given, "body")
    comment = _own(ask, key)
    before = comment.edited_at
    if given.get("body") is not None:
        ask.world.say_otherwise(comment, given["body"])
    if skip_edited_at:
        comment.edited_at = before
    return {"comment": comment}


@mutation("commentDelete")
def _unsay(ask: Ask, *, key: str) -> dict[str, Any]:
    comment = _own(ask, key)
    ask.world.unsay(comment)
    return {"entityId": comment.id}


@mutation("reactionCreate")
def _react(ask: Ask, *, given: dict[str, Any]) -> dict[str, Any]:
    known(given, "id emoji commentId issueId")
    if not given.get("commentId") and not given.get("issueId"):
        raise bad_argument("commentId or issueId must be given.")
    thing = ask.comment(given["commentId"]) if given.get("commentId") else ask.issue(given["issueId"])
    found = ask.world.find_reaction(thing, given["emoji"], ask.viewer)
    if found and ask.world.refuses_second_reaction:
        raise taken("Reaction", found.id)
    wanted = new_id(ask, given.get("id"), "Reaction")
    return {"reaction": found or ask.world.react(thing, given["emoji"], ask.viewer, wanted)}


@mutation("reactionDelete")
def _unreact(ask: Ask, *, key: str) -> dict[str, Any]:
    gone = ask.found(ask.world.all_reactions, key, "Reaction")
    if gone.user is not ask.viewer:
        raise forbidden("You can only remove your own reactions.")
    ask.world.all_reactions.remove(gone)
    return {"entityId": gone.id}


@mutation("issueLabelCreate")
def _label(ask: Ask, *, given: dict[str, Any], replace_team_labels: bool | None = None) -> dict[str, Any]:
    known(given, "id name color description isGroup parentId teamId")
    home = ask.found(ask.world.teams, given["teamId"], "Team") if given.get("teamId") else None
    if ask.world.find_label(given["name"], home):
        raise Refusal("duplicate label name", f'A label with the name "{given["name"]}" already exists.')
    parent = _group(ask, given.get("parentId"))
    made = ask.world.new_label(
        given["name"], home, wanted=new_id(ask, given.get("id"), "IssueLabel"), parent=parent,
        is_group=bool(given.get("isGroup")), color=given.get("color") or "#bec2c8",
        description=given.get("description"), creator=ask.viewer,
    )  # fmt: skip
    return {"issueLabel": made}


def _group(ask: Ask, key: str | None) -> Label | None:
    return ask.found(ask.world.all_labels, key, "IssueLabel") if key else None


# Attachments.


@mutation("attachmentCreate")
def _attach(ask: Ask, *, given: dict[str, Any]) -> dict[str, Any]:
    known(given, "id issueId url title subtitle metadata iconUrl groupBySource")
    issue = ask.issue(given["issueId"])
    more = {name: given[name] for name in ("subtitle", "metadata") if given.get(name) is not None}
    wanted = new_id(ask, given.get("id"), "Attachment")
    return {"attachment": ask.world.attach(issue, given["url"], given["title"], ask.viewer, wanted=wanted, **more)}


@mutation("attachmentUpdate")
def _retitle(ask: Ask, *, key: str, given: dict[str, Any]) -> dict[str, Any]:
    known(given, "title subtitle metadata iconUrl")
    found = _attachment(ask, key)
    more = {name: given[name] for name in ("subtitle", "metadata") if name in given}
    return {"attachment": ask.world.attach(found.issue, found.url, given["title"], ask.viewer, **more)}


def _attachment(ask: Ask, key: str) -> Attachment:
    return ask.found(ask.world.all_attachments, key, "Attachment")


@mutation("attachmentDelete")
def _detach(ask: Ask, *, key: str) -> dict[str, Any]:
    gone = _attachment(ask, key)
    ask.world.all_attachments.remove(gone)
    return {"entityId": gone.id}


@mutation("attachmentLinkURL")
def _link(ask: Ask, *, issue_id: str, url: str, **more: Any) -> dict[str, Any]:
    known(more, "id title")
    wanted = new_id(ask, more.get("id"), "Attachment")
    return {
        "attachment": ask.world.attach(ask.issue(issue_id), url, more.get("title") or url, ask.viewer, wanted=wanted)
    }


@mutation("attachmentLinkGitHubPR")
def _link_pull(ask: Ask, *, issue_id: str, url: str, **more: Any) -> dict[str, Any]:
    """Links a pull request once: unlike the others it refuses an existing link."""
    known(more, "id title linkKind")
    issue = ask.issue(issue_id)
    if ask.world.find_attachment(issue, url):
        raise Refusal("Duplicate attachment for duplicate url", "An attachment with the same URL already exists.")
    wanted = new_id(ask, more.get("id"), "Attachment")
    title = more.get("title") or url
    return {"attachment": ask.world.attach(issue, url, title, ask.viewer, wanted=wanted, source_type="github")}


# Webhooks.


@mutation("webhookCreate")
def _webhook(ask: Ask, *, given: dict[str, Any]) -> dict[str, Any]:
    known(given, "id url resourceTypes teamId allPublicTeams label secret enabled")
    if not ask.viewer.admin:
        raise forbidden("Only admins can make webhooks.")
    if not given.get("teamId") and not given.get("allPublicTeams"):
        raise bad_argument("teamId or allPublicTeams must be given.")
    team = ask.found(ask.world.teams, given["teamId"], "Team") if given.get("teamId") else None
    made = Webhook(
        **ask.world.birth(new_id(ask, given.get("id"), "Webhook")), url=given["url"], team=team, creator=ask.viewer,
        resource_types=given["resourceTypes"], label=given.get("label"), secret=given.get("secret"),
        enabled=given.get("enabled", True),
    )  # fmt: skip
    ask.world.webhooks.append(made)
    return {"webhook": made}
