"""Questions: at most five of a command reach a person; the others are answered by their defaults."""

import io

import pytest

from bot.cli.questions import Questions
from bot.errors import BadSettings


@pytest.fixture
def typed(monkeypatch):
    """A terminal with lines that somebody types."""

    def types(text: str) -> None:
        monkeypatch.setattr("sys.stdin", lines := io.StringIO(text))
        monkeypatch.setattr(lines, "isatty", lambda: True)

    return types


def test_after_five_questions_the_defaults_are_taken(typed, capsys):
    typed("a\n" * 9)
    ask = Questions(use_defaults=False)
    assert [ask(f"{number}?", "default", str) for number in range(7)] == ["a"] * 5 + ["default"] * 2
    assert (ask.secret("key?", str), ask.left) == ("", 0)
    assert "5?" not in capsys.readouterr().out


def test_a_wrong_answer_is_asked_again_and_counts_once(typed, capsys):
    typed("maybe\nn\n")
    ask = Questions(use_defaults=False)
    assert not ask.agrees("Run it?")
    assert (ask.left, "Answer y or n." in capsys.readouterr().out) == (4, True)


@pytest.mark.parametrize("use_defaults", [True, False])
def test_nobody_is_asked_with_yes_or_without_a_terminal(typed, monkeypatch, use_defaults):
    typed("n\n")
    monkeypatch.setattr("sys.stdin.isatty", lambda: use_defaults)
    ask = Questions(use_defaults=use_defaults)
    assert (ask.left, ask("Where?", "here", str)) == (0, "here")


def test_the_end_of_input_is_no_answer(typed):
    typed("")
    with pytest.raises(BadSettings, match="No answer was given"):
        Questions(use_defaults=False)("Where?", "here", str)
