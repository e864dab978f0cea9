"""Parses the arguments of `treehand`, calls one function and returns an exit code. Rule: imports nothing heavy."""

import argparse
import gc
import importlib
import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from bot import __version__
from bot.cli.grouped_help import EPILOG, GroupedHelp
from bot.cli.time_span import parse_count, parse_time_span
from bot.errors import BadSettings, BotError, Bug

SUCCESS, FAILURE, USAGE_ERROR, BUG, INTERRUPTED = 0, 1, 2, 3, 130

AddCommand = Callable[..., argparse.ArgumentParser]

_ISSUE_KEY = "key of the issue: 12, shop#12 or ENG-12"
_PULL_REQUEST_KEY = "number of the pull request: 12 or shop#12"


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    os.umask(0o077)  # nobody else reads what Treehand keeps; `private_files.py` has the exceptions
    try:
        return _call(options)
    except BotError as problem:
        return _print_error(problem)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has ended
        return FAILURE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as problem:  # noqa: BLE001 - the one exit point
        return _print_full_disk(problem) or _print_bug()


def _call(options: argparse.Namespace) -> int:
    module, _, function = options.call.partition(":")
    gc.disable()  # imports create no garbage; collecting it, now or at the end, takes a fifth of the time
    call = getattr(importlib.import_module(f"bot.cli.{module}"), function)
    gc.freeze()
    gc.enable()
    return int(call(options) or SUCCESS)


def _print_error(problem: BotError) -> int:
    if isinstance(problem, Bug):
        return _print_bug()
    from bot.text.invisible_characters import strip_invisible

    print(f"treehand: {strip_invisible(str(problem))}", file=sys.stderr)
    return USAGE_ERROR if isinstance(problem, BadSettings) else FAILURE


def _print_full_disk(problem: Exception) -> int:
    """Returns 0 if that is not the problem."""
    from bot.system.disk import full_disk_text, is_full_disk

    if not is_full_disk(problem):
        return 0
    print(f"treehand: {full_disk_text(problem)}; then start again: nothing is lost.", file=sys.stderr)
    return FAILURE


def _print_bug() -> int:
    import traceback

    traceback.print_exc()
    print("treehand: this is a bug. Please report it with the lines above.", file=sys.stderr)
    return BUG


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Names the nearest command instead of listing all of them."""
        if unknown := re.search(r"argument (?:COMMAND|ACTION): invalid choice: '(.*)' \(choose from (.*)\)", message):
            import difflib

            close = difflib.get_close_matches(unknown[1], re.findall(r"[\w-]+", unknown[2]), n=1)
            hint = f" Did you mean `{close[0]}`?" if close else ""
            message = f"there is no `{self.prog} {unknown[1]}`.{hint} `{self.prog} --help` lists all commands."
        elif message.endswith(("required: COMMAND", "required: ACTION")):
            message = f"name a command: `{self.prog} --help` lists all commands."
        super().error(message)


def parser() -> argparse.ArgumentParser:
    top = _Parser(
        prog="treehand",
        description="Label an issue, get a draft pull request; comment to steer it; merge, and Treehand cleans up.",
        epilog=EPILOG,
        formatter_class=GroupedHelp,
    )
    top.add_argument("--version", action="version", version=f"treehand {__version__}")
    _add_config(top, default="")
    commands: Any = top.add_subparsers(required=True, metavar="COMMAND", title="commands")

    def add(name: str, call: str, about: str, into: Any = commands) -> argparse.ArgumentParser:
        command: argparse.ArgumentParser = into.add_parser(name, help=about, description=about)
        _add_config(command, default=argparse.SUPPRESS)  # keeps what was written before the command
        command.set_defaults(call=call)
        return command

    commands.headings = {}
    for heading, adders in (
        ("begin", [partial(_add_start, add), partial(_add_projects, add)]),
        ("look", [partial(_add_status, add)]),
        ("steer", [partial(_add_comment_commands, add)]),
        (
            "issues and pull requests on this machine",
            [partial(_add_issue, commands, add), partial(_add_pr, commands, add)],
        ),
        ("maintain", [partial(_add_maintenance, add), partial(_add_shell, add)]),
    ):
        known = set(commands.choices)
        for add_commands in adders:
            add_commands()
        commands.headings[heading] = [name for name in commands.choices if name not in known]
    return top


def _add_config(command: argparse.ArgumentParser, *, default: str) -> None:
    command.add_argument(
        "--config",
        default=default,
        metavar="PATH",
        help="the settings file (default: treehand.toml here or above, or yours)",
    )


def _add_start(add: AddCommand) -> None:
    demo = add("demo", "demo:demo", "play a complete example with a scripted model; needs no token and no account")
    demo.add_argument("--once", action="store_true", help="exit when the story ends, even on a terminal")
    demo.add_argument("--port", type=int, metavar="N", help="port of the dashboard (default: 8700, or any free port)")
    demo.add_argument("--json", action="store_true", help="print the outcome as one JSON object")
    _add_init(add)
    check = add("check", "check:check", "check that everything is ready; print each problem with its fix")
    check.add_argument("-v", "--verbose", action="store_true", help="print the checks that passed as well")
    check.add_argument("--fix", action="store_true", help="create the labels that are missing")
    check.add_argument("--notify", action="store_true", help="send a test message to every notification address")
    check.add_argument("--learn", action="store_true", help="run setup once and allow the hosts that it reaches")
    check.add_argument("--yes", action="store_true", help="with --learn: ask nothing, run setup and allow the hosts")
    check.add_argument("--json", action="store_true", help="print one JSON object")
    _add_daemon(add)


def _add_init(add: AddCommand) -> None:
    init = add("init", "init:init", "write treehand.toml for the repository in this folder")
    init.add_argument("--name", default="", help="name of the project (default: the folder's name)")
    init.add_argument("--base", default="", help="branch that agents start from (default: the repository's default)")
    place = init.add_mutually_exclusive_group()
    place.add_argument(
        "--repository", default="", metavar="OWNER/NAME", help="use this repository on GitHub for pull requests"
    )
    place.add_argument("--here", action="store_true", help="use the local tracker and the local forge on this machine")
    init.add_argument("--team", default="", metavar="KEY", help="take issues from this team in Linear")
    init.add_argument("--api-url", default="", metavar="URL", help="API address of a GitHub Enterprise server")
    init.add_argument("--app", action="store_true", help="create a GitHub App in your browser and sign in as that App")
    init.add_argument("--yes", action="store_true", help="ask nothing and accept the defaults")
    init.add_argument("--no-check", action="store_true", help="create no labels and skip `treehand check`")


def _add_projects(add: AddCommand) -> None:
    added = add("add", "add:add", "add a repository to your settings, so that the same daemon serves it")
    added.add_argument(
        "where", nargs="?", default="", metavar="WHERE", help="its folder (default: this one), or OWNER/NAME on GitHub"
    )
    added.add_argument("--name", default="", help="name of the project (default: that of the repository)")
    added.add_argument("--base", default="", help="branch that agents start from (default: the repository's default)")
    added.add_argument("--here", action="store_true", help="keep issues and pull requests on this machine")
    added.add_argument("--team", default="", metavar="KEY", help="take issues from this team in Linear")
    added.add_argument(
        "--moved",
        default="",
        metavar="NAME",
        help="instead, give this project's state to the repository in the settings",
    )
    removed = add("remove", "add:remove", "remove a project from your settings; its state is kept")
    removed.add_argument("name", nargs="?", default="", metavar="NAME", help="the project (default: this folder's)")


def _add_daemon(add: AddCommand) -> None:
    run = add("run", "run:run", "run the daemon until SIGTERM or Ctrl-C")
    add("open", "open:open_dashboard", "open the dashboard in your browser, or print its address")
    add("login", "login:login", "print a link that logs you in to the dashboard once, within ten minutes")
    once = add("once", "run:once", "poll once, work until nothing is left to do, and exit")
    for command in (run, once):
        command.add_argument(
            "--log-format", choices=("text", "json"), default="", help="form of the log lines (default: `log.format`)"
        )


def _add_status(add: AddCommand) -> None:
    status = add("status", "status:status", "list all runs, grouped by what they wait for")
    status.add_argument("--json", action="store_true", help="print one JSON object")
    status.add_argument("--watch", action="store_true", help="stay open and update until Ctrl-C")
    show = add("show", "show:show", "show one run: its state, its cost and its journal")
    _add_key(show)
    instead = show.add_mutually_exclusive_group()
    instead.add_argument("--json", action="store_true", help="print one JSON object")
    instead.add_argument("--run", default="", metavar="NAME", help="start this server in the worktree; print its URL")
    logs = add("logs", "logs:logs", "print the transcript of a run's agent")
    _add_key(logs)
    logs.add_argument("-f", "--follow", action="store_true", help="keep printing new lines until the run is done")
    logs.add_argument("-n", "--lines", type=_line_count, metavar="N", help="print only the last N entries")
    logs.add_argument("--since", type=_time_span, metavar="SPAN", help="print only newer entries: 90s, 10m, 2h or 3d")
    logs.add_argument("--json", action="store_true", help="print one JSON object per line")
    why = add("why", "why:why", "explain what a run is doing or waiting for")
    _add_key(why)
    why.add_argument("--json", action="store_true", help="print one JSON object")
    cost = add("cost", "cost:cost", "show the money and tokens spent")
    cost.add_argument("--by", choices=["day", "project", "issue", "person"], default="issue", help="unit to add up by")
    cost.add_argument("--json", action="store_true", help="print one JSON list")


def _time_span(text: str) -> float:
    try:
        return parse_time_span(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time span; write 90s, 10m, 2h or 3d") from None


def _line_count(text: str) -> int:
    try:
        return parse_count(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of entries; write a number such as 20") from None


def _add_comment_commands(add: AddCommand) -> None:
    say = add("say", "say:say", "post a comment for the agent on the issue of a run")
    _add_key(say)
    say.add_argument("text", metavar="TEXT", help="the comment")
    _add_author(say)
    for name, about in (
        ("stop", "end a run; unpublished work is salvaged"),
        ("retry", "try again after a failure"),
        ("pause", "interrupt the agent of a run and wait"),
        ("resume", "continue after a pause or a question"),
        ("take", "take over a run's worktree; prints its path and how to resume the agent's session"),
        ("give", "give back a worktree that you took over; the agent continues with your changes"),
    ):
        command = add(name, "take:take" if name == "take" else "say:post_command", about)
        _add_key(command)
        _add_author(command)
        command.set_defaults(comment_command=name)


def _add_maintenance(add: AddCommand) -> None:
    clean = add("clean", "clean:clean", "remove worktrees and files of finished runs, and list salvaged work")
    clean.add_argument("--dry-run", action="store_true", help="only list what would be removed")
    backup = add("backup", "backup:backup", "archive the state directory, also while the daemon is running")
    backup.add_argument(
        "--to", required=True, metavar="PATH", help="file or folder to write to; '-' writes to standard output"
    )
    restore = add("restore", "restore:restore", "restore salvaged work as a branch of your repository")
    _add_key(restore)
    restore.add_argument("--as-it-is", action="store_true", help="push changes that need approval, too")


def _add_shell(add: AddCommand) -> None:
    completion = add("completion", "completion:completion", "print a completion script for your shell")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")
    schema = add("schema", "schema:schema", "print the JSON Schema of a settings file, for editors")
    schema.add_argument(
        "which",
        nargs="?",
        default="settings",
        choices=("settings", "repository"),
        metavar="FILE",
        help="settings (treehand.toml, the default) or repository (.github/treehand.toml)",
    )
    add("man", "man:man", "print the manual page: treehand man | man -l -")
    docs = add("docs", "docs:docs", "print a page of the documentation, or list all pages")
    docs.add_argument("page", nargs="?", default="", metavar="PAGE", help="name of the page, such as security")


def _add_issue(commands: Any, add: AddCommand) -> None:
    about = "open, label and comment on issues of the local tracker"
    actions = commands.add_parser("issue", help=about, description=about).add_subparsers(
        required=True, metavar="ACTION"
    )
    new = add("new", "issue:new", "open an issue", actions)
    new.add_argument("title", metavar="TITLE")
    new.add_argument("--body", default="", help="description of the work; '-' reads it from standard input")
    new.add_argument("--label", action="append", default=[], metavar="LABEL", help="add a label; may be repeated")
    new.add_argument("--priority", type=int, default=0, choices=range(5), help="1 is urgent, 4 is low")
    new.add_argument("--project", default="", metavar="NAME", help="project to open it in, if you have several")
    listed = add("list", "issue:list_issues", "list the open issues", actions)
    listed.add_argument("--all", action="store_true", help="include closed issues")
    listed.add_argument("--project", default="", metavar="NAME", help="only issues of this project")
    show = add("show", "issue:show", "show an issue and its comments", actions)
    _add_key(show)
    _add_json(listed, show)
    label = add("label", "issue:label", "add labels to an issue; -LABEL removes one", actions)
    _add_key(label)
    label.add_argument("labels", nargs=argparse.REMAINDER, metavar="[-]LABEL")
    _add_comment(add("comment", "issue:comment", "comment on an issue", actions))
    for name in ("close", "reopen"):
        command = add(name, "issue:close_or_reopen", f"{name} an issue", actions)
        _add_key(command)
        command.set_defaults(verb=name)
    _add_author(new, *(actions.choices[name] for name in ("close", "reopen")))


def _add_pr(commands: Any, add: AddCommand) -> None:
    about = "review and merge pull requests of the local forge"
    actions = commands.add_parser("pr", help=about, description=about).add_subparsers(required=True, metavar="ACTION")
    listed = add("list", "pr:list_pulls", "list the open pull requests", actions)
    listed.add_argument("--all", action="store_true", help="include closed and merged pull requests")
    listed.add_argument("--project", default="", metavar="NAME", help="only pull requests of this project")
    show = add("show", "pr:show", "show a pull request, its comments and its diff", actions)
    _add_key(show, _PULL_REQUEST_KEY)
    _add_json(listed, show)
    diff = add("diff", "pr_diff:diff", "print what a pull request changes", actions)
    _add_key(diff, _PULL_REQUEST_KEY)
    diff.add_argument("--stat", action="store_true", help="print only the files and the number of changed lines")
    _add_comment(add("comment", "pr:comment", "comment on a pull request", actions), _PULL_REQUEST_KEY)
    review = _add_review(actions, add)
    merge = add(
        "merge",
        "pr:merge",
        "merge a pull request into the base branch; update the folder that has it checked out",
        actions,
    )
    _add_key(merge, _PULL_REQUEST_KEY)
    merge.add_argument("--squash", action="store_true", help="merge as one commit")
    for name, what in (
        ("close", "close a pull request"),
        ("reopen", "reopen a pull request"),
        ("ready", "mark a pull request as ready for review"),
    ):
        command = add(name, "pr:change_state", what, actions)
        _add_key(command, _PULL_REQUEST_KEY)
        command.set_defaults(verb=name)
    _add_author(review, merge, *(actions.choices[name] for name in ("close", "reopen", "ready")))


def _add_review(actions: Any, add: AddCommand) -> argparse.ArgumentParser:
    review = add("review", "pr:review", "review a pull request, with inline comments", actions)
    _add_key(review, _PULL_REQUEST_KEY)
    review.add_argument("text", nargs="?", default="", metavar="TEXT")
    review.add_argument(
        "--on", action="append", default=[], metavar="PATH:LINE:TEXT", help="inline comment; may be repeated"
    )
    verdict = review.add_mutually_exclusive_group()
    verdict.add_argument("--approve", action="store_true", help="approve the pull request")
    verdict.add_argument("--request-changes", action="store_true", help="request changes before it is merged")
    return review


def _add_key(command: argparse.ArgumentParser, about: str = _ISSUE_KEY) -> None:
    command.add_argument("key", metavar="KEY", help=about)


def _add_comment(command: argparse.ArgumentParser, key: str = _ISSUE_KEY) -> None:
    _add_key(command, key)
    command.add_argument("text", metavar="TEXT", help="the comment; '-' reads it from standard input")
    _add_author(command)


def _add_json(listed: argparse.ArgumentParser, show: argparse.ArgumentParser) -> None:
    listed.add_argument("--json", action="store_true", help="print one JSON list")
    show.add_argument("--json", action="store_true", help="print one JSON object")


def _add_author(*commands: argparse.ArgumentParser) -> None:
    for command in commands:
        command.add_argument(
            "--as", dest="author", default="", metavar="NAME", help="act as this person (default: you)"
        )
