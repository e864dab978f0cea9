"""The parts of links, read as CommonMark says."""

import pytest

from bot.text.link_definitions import read_definitions, read_label, read_title


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("[foo]: /url", "foo"),
        (r"[a\]b]", r"a\]b"),
        (r"[a\\]", r"a\\"),
        ("[a\nb]", "a\nb"),
        ("[a[b]", None),
        ("[" + "a" * 999 + "]", "a" * 999),
        ("[" + "a" * 1000 + "]", None),
    ],
)
def test_a_label_ends_at_its_bracket_and_has_at_most_999_letters(text, label):
    assert read_label(text, 0) == label


def test_a_bracket_behind_a_backslash_ends_a_label_if_no_other_does():
    assert read_label(r"[a\]: b", 0) == "a\\"


@pytest.mark.attack("T16", "A label of backslashes holds the reader")
@pytest.mark.parametrize("count", [29, 30, 997, 100_000])
def test_a_label_of_backslashes_is_read(count):
    """With two ways to read each of them, this would not end."""
    text = "[" + "\\" * count
    assert read_label(text, 0) is None
    assert read_definitions(f"{text}x]y", 0) == ([], 0)
    assert read_title(f'"{text}', 0) == -1


def test_a_definition_with_a_title_is_read_whole():
    (found,), rest = read_definitions('[foo]: /url "a \\" b"\nwords', 0)
    assert (found.label, found.address, rest) == ("foo", "/url", len('[foo]: /url "a \\" b"\n'))
