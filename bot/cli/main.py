"""Arguments in, one call, an exit code out. Nothing heavy is imported before it is known to be needed."""

import argparse
import gc
import importlib
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from bot import __version__
from bot.errors import BadSettings, BotError, Bug

FINE, FAILED, MISUSED, BROKEN, INTERRUPTED = 0, 1, 2, 3, 130

Add = Callable[..., argparse.ArgumentParser]


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    try:
        return _called(options)
    except BotError as problem:
        return _complain(problem)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has seen enough
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception:  # noqa: BLE001 - the one exit point
        return _break()


def _called(options: argparse.Namespace) -> int:
    module, _, function = options.call.partition(":")
    gc.disable()  # nothing an import makes is garbage: looking for some, now or at the end, takes a fifth of it
    call = getattr(importlib.import_module(f"bot.cli.{module}"), function)
    gc.freeze()
    gc.enable()
    return int(call(options) or FINE)


def _complain(problem: BotError) -> int:
    if isinstance(problem, Bug):
        return _break()
    from bot.text.visible import visible

    print(f"treehand: {visible(str(problem))}", file=sys.stderr)
    return MISUSED if isinstance(problem, BadSettings) else FAILED


def _break() -> int:
    import traceback

    traceback.print_exc()
    print("treehand: this is a bug. Please report it with the lines above.", file=sys.stderr)
    return BROKEN


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Its own list of all the choices there are says less than the nearest one."""
        if unknown := re.search(r"argument (?:COMMAND|ACTION): invalid choice: '(.*)' \(choose from (.*)\)", message):
            import difflib

            close = difflib.get_close_matches(unknown[1], re.findall(r"[\w-]+", unknown[2]), n=1)
            meant = f" Did you mean `{close[0]}`?" if close else ""
            message = f"there is no `{self.prog} {unknown[1]}`.{meant} `{self.prog} --help` lists what there is."
        elif message.endswith(("required: COMMAND", "required: ACTION")):
            message = f"say what to do: `{self.prog} --help` lists what there is."
        super().error(message)


def parser() -> argparse.ArgumentParser:
    top = _Parser(
        prog="treehand",
        description="Label an issue, get a draft pull request; comment to steer it; merge, and all is tidied away.",
    )
    top.add_argument("--version", action="version", version=f"treehand {__version__}")
    top.add_argument("--config", default="", metavar="PATH", help="the settings file (default: ./treehand.toml)")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, call: str, about: str, into: Any = commands) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = into.add_parser(name, help=about, description=about)
        made.set_defaults(call=call)
        return made

    _add_running(add)
    _add_looking(add)
    _add_steering(add)
    _add_keeping(add)
    _add_papers(add)
    _add_issues(commands, add)
    _add_pulls(commands, add)
    return top


def _add_running(add: Add) -> None:
    demo = add("demo", "demo:demo", "watch the whole story: no token, no account; the model is a scripted stand-in")
    demo.add_argument("--once", action="store_true", help="end when the story ends, even on a terminal")
    demo.add_argument("--port", type=int, metavar="N", help="of the dashboard (default: 8700, or one that is free)")
    demo.add_argument("--json", action="store_true", help="print one object about what happened")
    init = add("init", "init:init", "write treehand.toml for the repository you are in")
    init.add_argument("--name", default="", help="what the project is called (default: the folder's name)")
    init.add_argument("--base", default="", help="the branch to start from (default: the repository's own)")
    where = init.add_mutually_exclusive_group()
    where.add_argument(
        "--repository", default="", metavar="OWNER/NAME", help="pull requests, and issues, are on GitHub"
    )
    where.add_argument("--here", action="store_true", help="they stay on this machine: the embedded tracker and forge")
    init.add_argument("--team", default="", metavar="KEY", help="issues are in this team in Linear")
    init.add_argument("--api-url", default="", metavar="URL", help="the API of a GitHub Enterprise server")
    init.add_argument("--app", action="store_true", help="make a GitHub App to sign in as, in your browser")
    init.add_argument("--yes", action="store_true", help="ask nothing, take what was found")
    init.add_argument("--no-check", action="store_true", help="make no labels, and leave out `treehand check`")
    check = add("check", "check:check", "is everything ready? One line each: ok, or what is wrong and how to mend it")
    check.add_argument("--fix", action="store_true", help="make the labels that are missing")
    check.add_argument("--notify", action="store_true", help="send a message to everybody who is to be notified")
    check.add_argument("--json", action="store_true", help="as one object")
    add("run", "run:run", "the daemon, until SIGTERM or Ctrl-C")
    add("once", "run:once", "look once, work until nothing is left to do now, and end")


def _add_looking(add: Add) -> None:
    status = add("status", "status:status", "what is going on, in lanes")
    status.add_argument("--json", action="store_true", help="as one object")
    status.add_argument("--watch", action="store_true", help="stay, and keep it up to date, until Ctrl-C")
    show = add("show", "show:show", "one run: where it stands and how it came there")
    show.add_argument("key", metavar="KEY")
    instead = show.add_mutually_exclusive_group()
    instead.add_argument("--json", action="store_true", help="as one object")
    instead.add_argument(
        "--run", default="", metavar="NAME", help="start one of its servers, and show where it listens"
    )
    logs = add("logs", "logs:logs", "what a run's agent said and did")
    logs.add_argument("key", metavar="KEY")
    logs.add_argument("-f", "--follow", action="store_true", help="stay, and show what comes, until the run is done")
    logs.add_argument("-n", "--lines", type=_count, metavar="N", help="only the last so many things it said or did")
    logs.add_argument("--since", type=_span, metavar="SPAN", help="only what is not older: 90s, 10m, 2h or 3d")
    logs.add_argument("--json", action="store_true", help="as one object per line")
    why = add("why", "show:why", "why a run is not going on")
    why.add_argument("key", metavar="KEY")
    why.add_argument("--json", action="store_true", help="as one object")
    cost = add("cost", "show:cost", "what was spent")
    cost.add_argument("--by", choices=["day", "project", "issue", "person"], default="issue", help="how to add it up")
    cost.add_argument("--json", action="store_true", help="as one list of objects")


def _span(text: str) -> float:
    """In seconds."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    number, unit = (text[:-1], text[-1]) if text[-1:] in units else (text, "s")
    if not _is_count(number):
        raise argparse.ArgumentTypeError(f"{text!r} is no span of time; use one like 90s, 10m, 2h or 3d")
    return float(int(number) * units[unit])


def _count(text: str) -> int:
    if not _is_count(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of lines; use one like 20")
    return int(text)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10  # noqa: PLR2004 - nobody means more


def _add_steering(add: Add) -> None:
    say = add("say", "steer:say", "tell a run's agent something, as a comment on its issue")
    say.add_argument("key", metavar="KEY")
    say.add_argument("text", metavar="TEXT")
    say.add_argument("--as", dest="author", default="", metavar="NAME", help="who says so (default: you)")
    for name, about in (
        ("stop", "end a run; what is published nowhere is kept safe"),
        ("retry", "try again after a failure"),
        ("pause", "interrupt a run's agent and wait"),
        ("resume", "go on after a pause or a question"),
    ):
        made = add(name, "steer:order", about)
        made.add_argument("key", metavar="KEY")
        made.add_argument("--as", dest="author", default="", metavar="NAME", help="who orders it (default: you)")
        made.set_defaults(order=name)
    take = add("take", "taking:take", "take a run's worktree over; prints where it is, and how to resume its agent")
    give = add("give", "steer:order", "hand the worktree back; what you changed is kept, and the agent goes on")
    for name, made in (("take", take), ("give", give)):
        made.add_argument("key", metavar="KEY")
        made.add_argument("--as", dest="author", default="", metavar="NAME", help="who does it (default: you)")
        made.set_defaults(order=name)


def _add_keeping(add: Add) -> None:
    clean = add("clean", "maintenance:clean", "remove what is over, and list what was salvaged")
    clean.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    backup = add("backup", "maintenance:backup", "an archive of the state directory, also while the daemon works")
    backup.add_argument(
        "--to",
        required=True,
        metavar="PATH",
        help="the file to write, or the folder to put it in; '-' writes it to standard output",
    )
    restore = add("restore", "maintenance:restore", "bring salvaged work back, as a branch of your repository")
    restore.add_argument("key", metavar="KEY")
    restore.add_argument("--as-it-is", action="store_true", help="push also what is held back for a person to look at")


def _add_papers(add: Add) -> None:
    completion = add("completion", "papers:completion", "print what makes a shell complete these commands")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")
    add("man", "papers:man", "print the manual page: treehand man | man -l -")


def _add_issues(commands: Any, add: Add) -> None:
    group = commands.add_parser("issue", help="the embedded tracker: what a person does with issues")
    into = group.add_subparsers(required=True, metavar="ACTION")
    new = add("new", "issue_and_pr:issue_new", "open an issue", into)
    new.add_argument("title", metavar="TITLE")
    new.add_argument("--body", default="", help="what is wanted; '-' reads it from standard input")
    new.add_argument("--label", action="append", default=[], metavar="LABEL", help="may be given again")
    new.add_argument("--priority", type=int, default=0, choices=range(5), help="1 is urgent, 4 is low")
    new.add_argument("--project", default="", metavar="NAME", help="where there are several")
    listed = add("list", "issue_and_pr:issue_list", "the open issues", into)
    listed.add_argument("--all", action="store_true", help="the closed ones too")
    listed.add_argument("--project", default="", metavar="NAME", help="only those of this one")
    show = add("show", "issue_and_pr:issue_show", "one issue and what was said", into)
    show.add_argument("key", metavar="KEY")
    _add_json(listed, show)
    label = add("label", "issue_and_pr:issue_label", "put labels on an issue; -LABEL takes one off", into)
    label.add_argument("key", metavar="KEY")
    label.add_argument("labels", nargs=argparse.REMAINDER, metavar="[-]LABEL")
    _add_comment(add("comment", "issue_and_pr:issue_comment", "say something on an issue", into))
    for name in ("close", "reopen"):
        made = add(name, "issue_and_pr:issue_end", f"{name} an issue", into)
        made.add_argument("key", metavar="KEY")
        made.set_defaults(verb=name)
    _add_author(new, *(into.choices[name] for name in ("close", "reopen")))


def _add_pulls(commands: Any, add: Add) -> None:
    group = commands.add_parser("pr", help="the embedded forge: what a person does with pull requests")
    into = group.add_subparsers(required=True, metavar="ACTION")
    listed = add("list", "issue_and_pr:pr_list", "the open pull requests", into)
    listed.add_argument("--all", action="store_true", help="the ended ones too")
    listed.add_argument("--project", default="", metavar="NAME", help="only those of this one")
    show = add("show", "issue_and_pr:pr_show", "one pull request, what was said and what it changes", into)
    show.add_argument("key", metavar="KEY")
    _add_json(listed, show)
    _add_comment(add("comment", "issue_and_pr:pr_comment", "say something on a pull request", into))
    review = add("review", "issue_and_pr:pr_review", "review a pull request, with inline remarks", into)
    review.add_argument("key", metavar="KEY")
    review.add_argument("text", nargs="?", default="", metavar="TEXT")
    review.add_argument("--on", action="append", default=[], metavar="PATH:LINE:TEXT", help="may be given again")
    verdict = review.add_mutually_exclusive_group()
    verdict.add_argument("--approve", action="store_true", help="it may be merged as it is")
    verdict.add_argument("--request-changes", action="store_true", help="it may not, yet")
    merge = add(
        "merge", "issue_and_pr:pr_merge", "merge a pull request into your branch; your folder stays as it is", into
    )
    merge.add_argument("key", metavar="KEY")
    merge.add_argument("--squash", action="store_true", help="as one commit")
    for name in ("close", "reopen", "ready"):
        made = add(name, "issue_and_pr:pr_end", f"{name} a pull request", into)
        made.add_argument("key", metavar="KEY")
        made.set_defaults(verb=name)
    _add_author(review, merge, *(into.choices[name] for name in ("close", "reopen", "ready")))


def _add_comment(made: argparse.ArgumentParser) -> None:
    made.add_argument("key", metavar="KEY")
    made.add_argument("text", metavar="TEXT", help="'-' reads it from standard input")
    _add_author(made)


def _add_json(listed: argparse.ArgumentParser, show: argparse.ArgumentParser) -> None:
    listed.add_argument("--json", action="store_true", help="as one list of objects")
    show.add_argument("--json", action="store_true", help="as one object")


def _add_author(*parsers: argparse.ArgumentParser) -> None:
    for made in parsers:
        made.add_argument("--as", dest="author", default="", metavar="NAME", help="who does it (default: you)")
