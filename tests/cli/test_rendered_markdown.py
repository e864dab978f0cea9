"""Markdown and diffs: rendered on a terminal, plain elsewhere, and harmless in both."""

import pytest
from rich.console import Console

from bot.cli.rendered_markdown import render_line, render_markdown
from bot.services.local.connect import open_local_server
from bot.web.markdown import LONGEST_MARKED
from tests.cli.conftest import CONTROL_CHARACTERS, plain
from tests.services.local.conftest import Shop
from tests.services.local.user_repository import make_repository


def shown(text: str, width: int = 80) -> str:
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    with console.capture() as capture:
        console.print(render_markdown(text, width))
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def test_markup_becomes_style_and_every_line_is_indented():
    text = "# Cart\n\n**bold** and `code`\n\n- one\n- two\n\n> quoted\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    lines = [line for line in shown(text).splitlines() if line]
    assert lines[:2] == ["  Cart", "  bold and code"]
    assert {"   • one", "   • two", "  ▌ quoted"} <= set(lines)
    assert [line.split() for line in lines[-2:]][1] == ["1", "2"]
    assert all(line.startswith("  ") for line in lines)


@pytest.mark.parametrize(
    "text",
    [
        "[text](https://example.com/path)",
        "![alt](https://example.com/x.png)",
        "<b>bold</b> <!-- hidden -->",
        "<https://example.com>",
        "```sh extra words\nls\n```",
        ":smile: [red]no markup[/red]",
    ],
)
def test_no_word_of_a_text_is_lost(text):
    letters = [word for word in text.replace("```sh", "").replace("```", "").split() if word]
    assert [word for word in letters if word not in shown(text)] == []


def test_a_text_that_is_too_long_for_the_parser_is_shown_as_it_is():
    text = "**a** " * (LONGEST_MARKED // 6 + 1)
    assert "**a**" in shown(text)


def test_a_line_of_prose_has_bold_and_code_and_keeps_its_words():
    assert render_line("set `a_b` to **2** & keep <x> *now*").plain == "set a_b to 2 & keep <x> now"


@pytest.fixture
def shop(folder):
    made = Shop(folder.path, make_repository(folder.path / "theirs"))
    made.offer()
    (folder.path / "treehand.toml").write_text(
        'state_dir = "state"\n[[projects]]\nname = "shop"\nrepository = "theirs"\n'
    )
    made.server.close()
    return folder


def edit(folder, body: str) -> None:
    server = open_local_server(folder.settings)
    server.pull_requests("shop").edit(2, body, by="ana")
    server.close()


def test_nobody_sees_the_hidden_markers_of_a_pull_request(shop):
    piped = shop.does("pr", "show", "2")
    with shop.terminal("pr", "show", "2") as terminal:
        assert terminal.ends() == 0
    assert "treehand:begin" not in piped + terminal.written


def test_t18_rendered_text_has_no_control_characters(shop):
    edit(shop, f"**says**{CONTROL_CHARACTERS} `x{CONTROL_CHARACTERS}`")
    with shop.terminal("pr", "show", "2") as terminal:
        assert terminal.ends() == 0
    assert "says" in terminal.written
    assert [one for one in ("\x1b[2J", "\x1b]", "\x07", "\x9b", "\u202e") if one in terminal.written] == []


def test_a_diff_is_plain_in_a_pipe_and_coloured_on_a_terminal(shop):
    piped = shop.does("pr", "diff", "2")
    assert piped.startswith("diff --git ")
    with shop.terminal("pr", "diff", "2") as terminal:
        assert terminal.ends() == 0
    assert plain(terminal.written).split() == piped.split()
    assert "\x1b[32m+" in terminal.written


def test_a_diff_can_be_asked_for_by_the_number_of_the_issue(shop):
    assert shop.does("pr", "diff", "1") == shop.does("pr", "diff", "2")


def test_the_statistic_of_a_diff_lists_the_files(shop):
    assert " 1 file changed" in shop.does("pr", "diff", "2", "--stat")
