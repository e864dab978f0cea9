"""`treehand pr`: lists, shows, reviews and merges pull requests of the local forge."""

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
from bot.cli.output import print_diff, print_markdown, print_text
from bot.cli.settings import load_settings
from bot.domain.comment import Remark
from bot.domain.pull_request import PullRequestState
from bot.errors import BadSettings
from bot.services.local.merge_git import MergeStyle
from bot.services.local.pull_requests import PullRequestPage, ReviewVerdict
from bot.text.invisible_characters import on_one_line

_STATES = {
    "close": "{key} is closed. If its run has not ended, it ends now, and unpublished work is salvaged.",
    "reopen": "{key} is open. If its run ended with it, the run continues within a minute; comment to steer.",
    "ready": "{key} is ready for review.",
}


def list_pulls(options: Namespace) -> None:
    with open_server(options) as server:
        projects = server.projects(options.project)
        pages = [
            page
            for project in projects
            for page in server.pull_requests(project).list_pull_requests(closed=options.all)
        ]
    if options.json:
        print(json.dumps([_pull_as_json(page) for page in pages]))
        return
    for page in pages:
        print_text(_format_pull(page))


def _format_pull(page: PullRequestPage) -> str:
    pull = page.pull
    state = "draft" if pull.draft and pull.state.value == "open" else pull.state.value
    branches = f"({on_one_line(pull.branch)} → {on_one_line(page.base)})"
    return f"{page.key:<12} {state:<7} {on_one_line(pull.title)}  {branches}"


def show(options: Namespace) -> None:
    with open_server(options) as server:
        project, number = server.parse_key(options.key)
        page = server.pull_requests(project).show(number)
    if options.json:
        print(json.dumps(_page_as_json(page)))
    else:
        print_page(page)


def print_page(page: PullRequestPage) -> None:
    print_text(f"{_format_pull(page)}\n")
    print_markdown(page.pull.body)
    print_comments(page.comments)
    print_text("")
    print_diff(page.diff)


def comment(options: Namespace) -> None:
    with open_server(options) as server:
        project, number = server.parse_key(options.key)
        pulls = server.pull_requests(project)
        pulls.comment(number, read_text(options.text), by=author_of(options))
        _print_what_follows(options, pulls.thread(number))


def _print_what_follows(options: Namespace, page: PullRequestPage) -> None:
    from bot.cli.order_outcome import foresee_on_pull_request

    is_open = page.pull.state is PullRequestState.OPEN
    text = foresee_on_pull_request(load_settings(options), page.pull.branch, is_open=is_open)
    print_text(f"{page.key}: {text}")


def review(options: Namespace) -> None:
    verdict = (
        ReviewVerdict.APPROVE
        if options.approve
        else ReviewVerdict.CHANGES
        if options.request_changes
        else ReviewVerdict.COMMENT
    )
    with open_server(options) as server:
        project, number = server.parse_key(options.key)
        remarks = [_parse_remark(text) for text in options.on]
        pulls = server.pull_requests(project)
        pulls.review(number, options.text, by=author_of(options), verdict=verdict, remarks=remarks)
        if verdict is ReviewVerdict.APPROVE and not remarks:
            print_text(f"{pulls.key(number)} is approved. `treehand pr merge {number}` merges it.")
        else:
            _print_what_follows(options, pulls.thread(number))


def _parse_remark(text: str) -> Remark:
    path, _, rest = text.partition(":")
    line, _, words = rest.partition(":")
    if not (path and line.isdigit() and words.strip()):
        raise BadSettings(f"--on takes PATH:LINE:TEXT, such as --on 'app.py:12:use a set'. It cannot read {text!r}.")
    return Remark(path, int(line), words.strip())


def merge(options: Namespace) -> None:
    with open_server(options) as server:
        project, number = server.parse_key(options.key)
        style = MergeStyle.SQUASH if options.squash else MergeStyle.MERGE
        merger, own = server.merger(project), not options.author
        print_text(str(merger.merge(number, by=author_of(options), is_operator=own, style=style)))


def change_state(options: Namespace) -> None:
    """Closes or reopens a pull request, or marks it as ready for review."""
    with open_server(options) as server:
        project, number = server.parse_key(options.key)
        pulls, by = server.pull_requests(project), author_of(options)
        change = {"close": pulls.close, "reopen": pulls.reopen, "ready": pulls.mark_ready}[options.verb]
        change(number, by=by)
        label = load_settings(options).label
        print_text(_STATES[options.verb].format(key=pulls.thread(number).key, label=label))


def _pull_as_json(page: PullRequestPage) -> JsonObject:
    pull = page.pull
    return {
        "key": page.key,
        "number": pull.number,
        "title": pull.title,
        "state": pull.state.value,
        "draft": pull.draft,
        "branch": pull.branch,
        "base": page.base,
        "head": pull.head,
    }


def _page_as_json(page: PullRequestPage) -> JsonObject:
    details = {"body": page.pull.body, "comments": comments_as_json(page.comments), "diff": page.diff}
    return {**_pull_as_json(page), **details}
