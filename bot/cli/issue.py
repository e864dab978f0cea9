"""`treehand issue`: opens, lists, shows, labels and comments on issues of the local tracker."""

import json
from argparse import Namespace

from bot.cli.local_server import (
    JsonObject,
    author_of,
    comments_as_json,
    open_server,
    print_comments,
    read_text,
)
from bot.cli.output import indented, print_text
from bot.domain.issue import Issue
from bot.errors import BadSettings
from bot.services.local.issues import IssueThread
from bot.settings.load import operator
from bot.text.invisible_characters import on_one_line


def new(options: Namespace) -> None:
    with open_server(options) as server:
        issue = server.issues(server.project(options.project)).open(
            options.title,
            by=author_of(options),
            body=read_text(options.body),
            labels=options.label,
            priority=options.priority,
        )
        print_text(issue.key)


def list_issues(options: Namespace) -> None:
    with open_server(options) as server:
        projects = server.projects(options.project)
        issues = [issue for project in projects for issue in server.issues(project).list_issues(closed=options.all)]
    if options.json:
        print(json.dumps([_issue_as_json(issue) for issue in issues]))
        return
    for issue in issues:
        print_text(_format_issue(issue))


def _format_issue(issue: Issue) -> str:
    labels = f"  [{', '.join(map(on_one_line, sorted(issue.labels)))}]" if issue.labels else ""
    return f"{issue.key:<12} {'' if issue.open else '(closed) '}{on_one_line(issue.title)}{labels}"


def show(options: Namespace) -> None:
    with open_server(options) as server:
        project, number = server.parse_key(options.key)
        thread = server.issues(project).show(number)
    if options.json:
        print(json.dumps(_thread_as_json(thread)))
        return
    print_text(f"{_format_issue(thread.issue)}\nopened by {on_one_line(thread.author)}\n")
    print_text(indented(thread.issue.body or "(no description)"))
    print_comments(thread.comments)


def label(options: Namespace) -> None:
    author, labels = _split_author(options.labels)
    if not labels:
        raise BadSettings("Name a label: `treehand issue label KEY ai` adds it, `-ai` removes it.")
    with open_server(options) as server:
        project, number = server.parse_key(options.key)
        issues = server.issues(project)
        removed = [word[1:] for word in labels if word.startswith("-")]
        if added := [word for word in labels if not word.startswith("-")]:
            issues.label(number, *added, by=author)
        if removed:
            issues.unlabel(number, *removed, by=author)
        print_text(_format_issue(issues.show(number).issue))


def _split_author(words: list[str]) -> tuple[str, list[str]]:
    """Reads `--as NAME` here, because argparse cannot: labels may begin with a dash."""
    if "--as" not in words:
        return operator(), words
    place = words.index("--as")
    return " ".join(words[place + 1 : place + 2]) or operator(), words[:place] + words[place + 2 :]


def comment(options: Namespace) -> None:
    with open_server(options) as server:
        project, number = server.parse_key(options.key)
        server.issues(project).comment(number, read_text(options.text), by=author_of(options))


def close_or_reopen(options: Namespace) -> None:
    with open_server(options) as server:
        project, number = server.parse_key(options.key)
        getattr(server.issues(project), options.verb)(number, by=author_of(options))


def _issue_as_json(issue: Issue) -> JsonObject:
    return {
        "key": issue.key,
        "title": issue.title,
        "open": issue.open,
        "labels": sorted(issue.labels),
        "priority": issue.priority,
        "created_at": issue.created_at,
    }


def _thread_as_json(thread: IssueThread) -> JsonObject:
    details = {"author": thread.author, "body": thread.issue.body, "comments": comments_as_json(thread.comments)}
    return {**_issue_as_json(thread.issue), **details}
