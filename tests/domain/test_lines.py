"""What a program prints comes in pieces, and is read line by line."""

from bot.control.lines import Lines


def test_a_line_is_whole_at_its_end_wherever_it_was_torn():
    lines = Lines()
    assert lines.more(b"one\r\ntw") == ["one"]
    assert lines.more(b"o \xc3") == []
    assert lines.more(b"\xa4\n\nfo") == ["two ä", ""]
    assert lines.last() == ["fo"]
    assert lines.last() == []


def test_what_has_no_line_ends_is_not_waited_for():
    lines = Lines()
    found = [line for _ in range(10) for line in lines.more(b"x" * 5000)]
    assert len(found) == 3
    assert "".join([*found, *lines.last()]) == "x" * 50_000
