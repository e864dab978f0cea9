"""What a program prints comes in pieces, and is read line by line."""

from bot.control.run_server import LineReader


def test_a_line_is_whole_at_its_end_wherever_it_was_torn():
    lines = LineReader()
    assert lines.feed(b"one\r\ntw") == ["one"]
    assert lines.feed(b"o \xc3") == []
    assert lines.feed(b"\xa4\n\nfo") == ["two ä", ""]
    assert lines.flush() == ["fo"]
    assert lines.flush() == []


def test_what_has_no_line_ends_is_not_waited_for():
    lines = LineReader()
    found = [line for _ in range(10) for line in lines.feed(b"x" * 5000)]
    assert len(found) == 3
    assert "".join([*found, *lines.flush()]) == "x" * 50_000
