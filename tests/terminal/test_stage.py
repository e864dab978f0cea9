"""What the demo tells fits on a small terminal."""

from rich.console import Console
from rich.text import Text

from bot.cli.demo import invitation
from bot.cli.demo_screen import Stage


def test_where_to_go_on_is_told_whole_at_eighty_columns(capsys):
    Stage(watched=False, quiet=False).tell(invitation("127.0.0.1:65535"))
    line = capsys.readouterr().out.rstrip("\n")
    console = Console(width=80)
    with console.capture() as shown:
        console.print(Text(line, no_wrap=True, overflow="ellipsis"))
    assert shown.get().strip().endswith("(Ctrl-C ends the demo).")
