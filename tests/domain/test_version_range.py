"""Version ranges in the notations that repositories use."""

import pytest

from bot.domain.version_range import parse_range, parse_version


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        (">=3.9,<4", "3.11.2", "4.0"),
        (">=3.10,<3.13", "3.12.9", "3.13.0"),
        ("~=3.11", "3.12.0", "4.0"),
        ("~=3.11.2", "3.11.9", "3.12"),
        ("==3.11.*", "3.11.9", "3.12.0"),
        ("!=3.9.*,>=3.8", "3.10", "3.9.1"),
        (">3.9", "3.10", "3.9.5"),
        ("<=3.12", "3.12.9", "3.13"),
        ("^18 || >=20.1", "20.20.2", "19.0"),
        ("^14.18.0 || ^16.14.0 || >=18.0.0", "20.1.0", "17.0.0"),
        ("18 - 20", "20.20", "21.0"),
        ("18.x", "18.2.1", "19.0.0"),
        ("^0.2.3", "0.2.9", "0.3.0"),
        ("~1.2", "1.2.9", "1.3"),
        ("~> 3.2", "3.9", "4.0"),
        ("~> 3.2.1", "3.2.9", "3.3.0"),
        (">= 14.0.0 < 20", "18", "20.0"),
        ("3.12", "3.12.4", "3.13.0"),
        ("3.12.3", "3.12.3", "3.12.4"),
        ("v20.10.0", "20.10.0", "20.10.1"),
    ],
)
def test_a_range_contains_what_its_notation_says(text, inside, outside):
    wanted = parse_range(text)
    assert wanted.contains(parse_version(inside))
    assert not wanted.contains(parse_version(outside))


@pytest.mark.parametrize("text", ["", "*", "x", "lts/*", "latest", "stable", "dev-main@abc", ">=1." + "1" * 600])
def test_what_is_not_understood_asks_for_nothing(text):
    assert parse_range(text).contains((0, 1))
    assert parse_range(text).contains((99,))


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ("Python 3.11.2", (3, 11, 2)),
        ("v20.20.2", (20, 20, 2)),
        ("go version go1.22.1 linux/amd64", (1, 22, 1)),
        ("openjdk 17.0.15 2025-04-15", (17, 0, 15)),
        ("nothing", ()),
    ],
)
def test_the_version_that_a_program_prints(printed, version):
    assert parse_version(printed) == version
