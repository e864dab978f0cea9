"""Output of a program arrives in pieces and is read line by line."""

from bot.control.run_server import LineReader


def test_lines_are_complete_for_any_split_of_the_input():
    lines = LineReader()
    assert lines.feed(b"one\r\ntw") == ["one"]
    assert lines.feed(b"o \xc3") == []
    assert lines.feed(b"\xa4\n\nfo") == ["two ä", ""]
    assert lines.flush() == ["fo"]
    assert lines.flush() == []


def test_very_long_lines_are_returned_in_parts():
    lines = LineReader()
    found = [line for _ in range(10) for line in lines.feed(b"x" * 5000)]
    assert len(found) == 3
    assert "".join([*found, *lines.flush()]) == "x" * 50_000
