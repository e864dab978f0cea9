"""Text given to the agent stays readable: lines with a secret are withheld."""

from bot.domain.turn import Event, EventKind, TurnReport, TurnState
from bot.engine.withhold_secrets import SecretScreen


def screened(text: str, gives_away) -> tuple[str, TurnReport]:
    screening, seen = SecretScreen(gives_away), []
    screening.wrap(seen.append)(Event(EventKind.PROMPT, 1.0, text))
    return seen[0].text, screening.report(TurnReport(TurnState.SUCCEEDED))


def test_a_line_with_a_secret_is_withheld_and_the_rest_stays():
    text, report = screened("Fix it.\nkey: s3cret\nThanks.", lambda text: ("A key",) if "s3cret" in text else ())
    assert text == "Fix it.\n(withheld)\nThanks."
    assert report.refusals == (), "it is not the agent who said it"


def test_a_secret_over_several_lines_withholds_all_of_it():
    text, _ = screened("BEGIN\nabc\nEND", lambda text: ("A key",) if "BEGIN" in text and "END" in text else ())
    assert text == "(withheld)"


def test_text_without_a_secret_stays_unchanged():
    assert screened("a\r\nb\n", lambda _: ())[0] == "a\r\nb\n"
