"""The screen of the demo: its lines fit on a small terminal, and its table says how each issue ended."""

from rich.console import Console
from rich.text import Text

from bot.cli.demo import invitation
from bot.cli.demo_screen import DemoScreen


def test_the_first_lines_of_the_demo_fit_into_eighty_columns(capsys):
    DemoScreen(on_terminal=False, quiet=False).log(invitation("127.0.0.1:65535"))
    line = capsys.readouterr().out.rstrip("\n")
    console = Console(width=80)
    with console.capture() as shown:
        console.print(Text(line, no_wrap=True, overflow="ellipsis"))
    assert shown.get().strip().endswith("(Ctrl-C ends the demo).")


def test_the_table_distinguishes_merged_stopped_and_open(capsys):
    reasons = {"done: 1": "the pull request was merged", "done: 2": "stopped by command", "review": ""}
    runs = [
        {
            "key": "shop#1",
            "title": "T",
            "phase": phase.partition(":")[0],
            "turns": 1,
            "comments_heard": 0,
            "reason": reason,
        }
        for phase, reason in reasons.items()
    ]
    outcome = {"runs": runs, "pull_requests": [], "commits": 1, "worktrees_left": 1, "seconds": 1, "model": "m"}
    DemoScreen(on_terminal=False, quiet=False).close(outcome)
    shown = capsys.readouterr().out
    assert all(
        result in shown for result in ("the pull request was merged", "stopped by command", "draft pull request")
    )
