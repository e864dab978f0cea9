"""`treehand issue` and `treehand pr`: the embedded tracker and forge, as a person uses them."""

import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from bot.app import desk_of
from bot.cli.output import say
from bot.cli.records import issue_as_json, proposal_as_json, pull_as_json, thread_as_json
from bot.domain.comment import Reaction, Remark
from bot.domain.issue import Issue
from bot.errors import BadSettings, NeedsHuman
from bot.services.local.comments import Said
from bot.services.local.merge_git import Style
from bot.services.local.pull_requests import Proposal, Verdict
from bot.services.local.server import Desk
from bot.settings import load, operator, settings_file

_FACES = {Reaction.SEEN: "👀", Reaction.ENDED: "🚀"}


@contextmanager
def _desk(options: Namespace) -> Iterator[Desk]:
    settings = load(settings_file(options.config))
    if settings.projects and all("local" not in {one.tracker, one.forge} for one in settings.projects):
        issues = " and in Linear" if any(one.tracker == "linear" for one in settings.projects) else ""
        raise NeedsHuman(
            f"Your issues and pull requests are on GitHub{issues}: go there. These commands are for embedded ones."
        )
    desk = desk_of(settings)
    try:
        yield desk
    finally:
        desk.close()


def _author(options: Namespace) -> str:
    return options.author or operator()


def _text(given: str) -> str:
    return sys.stdin.read() if given == "-" else given


def issue_new(options: Namespace) -> None:
    with _desk(options) as desk:
        issues = desk.issues(desk.project(options.project))
        issue = issues.open(
            options.title,
            by=_author(options),
            body=_text(options.body),
            labels=options.label,
            priority=options.priority,
        )
        say(issue.key)


def issue_list(options: Namespace) -> None:
    with _desk(options) as desk:
        projects = desk.projects(options.project)
        issues = [issue for project in projects for issue in desk.issues(project).listed(closed=options.all)]
    if options.json:
        print(json.dumps([issue_as_json(issue) for issue in issues]))
        return
    for issue in issues:
        say(_issue_line(issue))


def _issue_line(issue: Issue) -> str:
    labels = f"  [{', '.join(sorted(issue.labels))}]" if issue.labels else ""
    return f"{issue.key:<12} {'' if issue.open else '(closed) '}{issue.title}{labels}"


def issue_show(options: Namespace) -> None:
    with _desk(options) as desk:
        project, number = desk.parse_key(options.key)
        thread = desk.issues(project).show(number)
    if options.json:
        print(json.dumps(thread_as_json(thread)))
        return
    say(f"{_issue_line(thread.issue)}\nopened by {thread.author}\n")
    say(thread.issue.body or "(no description)")
    _say_all(thread.said)


def _say_all(said: tuple[Said, ...]) -> None:
    for one in said:
        faces = " ".join(_FACES[reaction] for reaction in sorted(one.reactions))
        verdict = f" ({one.verdict})" if one.verdict else ""
        say(f"\n── {one.author}{verdict} {faces}".rstrip())
        if one.text:
            say(one.text)
        for remark in one.remarks:
            say(f"{remark.path}:{remark.line}: {remark.text}")


def issue_label(options: Namespace) -> None:
    author, labels = _author_among(options.labels)
    if not labels:
        raise BadSettings("Say which label: `treehand issue label KEY ai`, or `-ai` to take it off.")
    with _desk(options) as desk:
        project, number = desk.parse_key(options.key)
        issues = desk.issues(project)
        off = [label[1:] for label in labels if label.startswith("-")]
        if on := [label for label in labels if not label.startswith("-")]:
            issues.label(number, *on, by=author)
        if off:
            issues.unlabel(number, *off, by=author)
        say(_issue_line(issues.show(number).issue))


def _author_among(words: list[str]) -> tuple[str, list[str]]:
    """Labels may begin with a dash, so their options are read here: `--as NAME`."""
    if "--as" not in words:
        return operator(), words
    place = words.index("--as")
    return " ".join(words[place + 1 : place + 2]) or operator(), words[:place] + words[place + 2 :]


def issue_comment(options: Namespace) -> None:
    with _desk(options) as desk:
        project, number = desk.parse_key(options.key)
        desk.issues(project).comment(number, _text(options.text), by=_author(options))


def issue_end(options: Namespace) -> None:
    with _desk(options) as desk:
        project, number = desk.parse_key(options.key)
        getattr(desk.issues(project), options.verb)(number, by=_author(options))


def pr_list(options: Namespace) -> None:
    with _desk(options) as desk:
        projects = desk.projects(options.project)
        pulls = [proposal for project in projects for proposal in desk.pulls(project).listed(closed=options.all)]
    if options.json:
        print(json.dumps([pull_as_json(proposal) for proposal in pulls]))
        return
    for proposal in pulls:
        say(_pull_line(proposal))


def _pull_line(proposal: Proposal) -> str:
    pull = proposal.pull
    state = "draft" if pull.draft and pull.state.value == "open" else pull.state.value
    return f"{proposal.key:<12} {state:<7} {pull.title}  ({pull.branch} → {proposal.base})"


def pr_show(options: Namespace) -> None:
    with _desk(options) as desk:
        project, number = desk.parse_key(options.key)
        proposal = desk.pulls(project).show(number)
    if options.json:
        print(json.dumps(proposal_as_json(proposal)))
        return
    say(f"{_pull_line(proposal)}\n\n{proposal.pull.body}")
    _say_all(proposal.said)
    say(f"\n{proposal.diff}")


def pr_comment(options: Namespace) -> None:
    with _desk(options) as desk:
        project, number = desk.parse_key(options.key)
        desk.pulls(project).comment(number, _text(options.text), by=_author(options))


def pr_review(options: Namespace) -> None:
    verdict = Verdict.APPROVE if options.approve else Verdict.CHANGES if options.request_changes else Verdict.COMMENT
    with _desk(options) as desk:
        project, number = desk.parse_key(options.key)
        remarks = [_remark(text) for text in options.on]
        desk.pulls(project).review(number, options.text, by=_author(options), verdict=verdict, remarks=remarks)


def _remark(text: str) -> Remark:
    path, _, rest = text.partition(":")
    line, _, words = rest.partition(":")
    if not (path and line.isdigit() and words.strip()):
        raise BadSettings(
            f"--on wants PATH:LINE:TEXT, for example --on 'app.py:12:use a set'. This is not it: {text!r}."
        )
    return Remark(path, int(line), words.strip())


def pr_merge(options: Namespace) -> None:
    with _desk(options) as desk:
        project, number = desk.parse_key(options.key)
        style = Style.SQUASH if options.squash else Style.MERGE
        say(str(desk.merging(project).merge(number, by=_author(options), style=style)))


def pr_end(options: Namespace) -> None:
    with _desk(options) as desk:
        project, number = desk.parse_key(options.key)
        getattr(desk.pulls(project), options.verb)(number, by=_author(options))
