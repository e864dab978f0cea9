"""The log lines of the demo fit on a small terminal."""

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
