"""`treehand issue`: opens, lists, shows, labels and comments on issues of the local tracker."""

import json
import sys
from argparse import Namespace

from bot.cli.local_server import (
    JsonObject,
    author_of,
    comments_as_json,
    open_server,
    print_comments,
    read_text,
)
from bot.cli.output import print_markdown, print_text
from bot.cli.settings import load_settings
from bot.domain.issue import Issue
from bot.errors import BadSettings
from bot.services.local.issues import IssueThread
from bot.settings.load import operator
from bot.settings.schema import Settings
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
    print(_what_starts(load_settings(options), issue), file=sys.stderr)


def _what_starts(settings: Settings, issue: Issue) -> str:
    from bot.cli.order_outcome import without_daemon

    if settings.label not in issue.labels:
        return f"No agent starts until it has the label: `treehand issue label {issue.key} {settings.label}`."
    return f"An agent starts as soon as a slot is free.{without_daemon(settings)}"


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
    print_markdown(thread.issue.body or "(no description)")
    print_comments(thread.comments)


def label(options: Namespace) -> None:
    author, labels = _take_option("--as", options.labels)
    config, labels = _take_option("--config", labels)
    options.config = config or options.config
    if not labels:
        raise BadSettings("Name a label: `treehand issue label KEY ai` adds it, `-ai` removes it.")
    with open_server(options) as server:
        project, number = server.parse_key(options.key)
        issues = server.issues(project)
        removed = [word[1:] for word in labels if word.startswith("-")]
        if added := [word for word in labels if not word.startswith("-")]:
            issues.label(number, *added, by=author or operator())
        if removed:
            issues.unlabel(number, *removed, by=author or operator())
        print_text(_format_issue(issues.show(number).issue))


def _take_option(name: str, words: list[str]) -> tuple[str, list[str]]:
    """Reads an option behind the key here, because argparse cannot: labels may begin with a dash."""
    if name not in words:
        return "", words
    place = words.index(name)
    return " ".join(words[place + 1 : place + 2]), words[:place] + words[place + 2 :]


def comment(options: Namespace) -> None:
    from bot.cli.order_outcome import foresee_outcome

    text, by = read_text(options.text), author_of(options)
    outcome = foresee_outcome(load_settings(options), options.key, text, by=by)
    with open_server(options) as server:
        project, number = server.parse_key(options.key)
        server.issues(project).comment(number, text, by=by)
    print_text(outcome.line)


def close_or_reopen(options: Namespace) -> None:
    with open_server(options) as server:
        project, number = server.parse_key(options.key)
        issues = server.issues(project)
        change = {"close": issues.close, "reopen": issues.reopen}[options.verb]
        change(number, by=author_of(options))
        issue = issues.show(number).issue
    print_text(_what_follows(load_settings(options), issue))


def _what_follows(settings: Settings, issue: Issue) -> str:
    from bot.cli.order_outcome import has_run, without_daemon

    if issue.open:
        return f"{issue.key} is open. {_what_starts(settings, issue)}"
    if not has_run(settings, issue.key):
        return f"{issue.key} is closed."
    return f"{issue.key} is closed. Its run ends, and unpublished work is salvaged.{without_daemon(settings)}"


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
