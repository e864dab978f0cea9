"""Issues and pull requests of the embedded tracker and forge as objects: what `--json` prints."""

from collections.abc import Sequence

from bot.domain.issue import Issue
from bot.services.local.comments import Said
from bot.services.local.issues import Thread
from bot.services.local.pull_requests import Proposal

Json = dict[str, object]


def issue_as_json(issue: Issue) -> Json:
    return {
        "key": issue.key,
        "title": issue.title,
        "open": issue.open,
        "labels": sorted(issue.labels),
        "priority": issue.priority,
        "created_at": issue.created_at,
    }


def thread_as_json(thread: Thread) -> Json:
    said = _said(thread.said)
    return {**issue_as_json(thread.issue), "author": thread.author, "body": thread.issue.body, "comments": said}


def pull_as_json(proposal: Proposal) -> Json:
    pull = proposal.pull
    return {
        "key": proposal.key,
        "number": pull.number,
        "title": pull.title,
        "state": pull.state.value,
        "draft": pull.draft,
        "branch": pull.branch,
        "base": proposal.base,
        "head": pull.head,
    }


def proposal_as_json(proposal: Proposal) -> Json:
    shown = {"body": proposal.pull.body, "comments": _said(proposal.said), "diff": proposal.diff}
    return {**pull_as_json(proposal), **shown}


def _said(said: Sequence[Said]) -> list[Json]:
    return [
        {
            "author": one.author,
            "at": one.at,
            "text": one.text,
            "verdict": one.verdict,
            "remarks": [{"path": remark.path, "line": remark.line, "text": remark.text} for remark in one.remarks],
        }
        for one in said
    ]
