"""Ignore rules have the same effect as in git, at a bounded cost."""

import random
import re
import subprocess

import pytest

from bot.git.gitignore import MAX_LINE_BYTES, MAX_RULES, IgnoreLayer, TooManyRules, is_ignored, parse_gitignore

_PARTS = [
    "a", "b", "ab", "*", "**", "?", "/", "!", "\\", "[", "]", "[ab]", "[!a]", "[]a]", "[^b]", "[a-c]", "[a\\-c]", "[/]",
    "[[:alpha:]]", "[[:nope:]]", "[[:alpha]", "[[:", "[a-", "[\\]]", "[--b]", "[z-a]", "[*]", ".", "x.log", "-", "\\*",
    "/**/", "**/", "/**", " ",
]  # fmt: skip
_NAMES = ["a", "b", "ab", "a.b", "[a]", "*", "-", "\\", "x.log", "]", "[", ".", ":", "c", "a:", "é"]

_CORNER = re.compile(r"\*\*\\/|[^/!*]\*\*+/")
"""Two stars that are not a whole name: git's page does not say what they mean, and git compares wrong addresses."""


def git_says(folder, rules: str, paths: list[str]) -> set[str]:
    (folder / ".gitignore").write_text(rules)
    done = subprocess.run(
        ["git", "check-ignore", "-z", "--no-index", "--stdin"],
        cwd=folder, input="\0".join(paths).encode(), capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode in {0, 1}, done.stderr
    return set(done.stdout.decode().split("\0")) - {""}


def we_say(rules: str, paths: list[str]) -> set[str]:
    layers = [IgnoreLayer(0, parse_gitignore(rules.encode()))]
    return {path for path in paths if is_reached(tuple(path.encode().split(b"/")), layers)}


def is_reached(path, layers) -> bool:
    above = (is_ignored(path[:depth], layers, is_folder=True) for depth in range(1, len(path)))
    return any(above) or is_ignored(path, layers, is_folder=False)


@pytest.mark.parametrize("seed", range(6))
def test_thousands_of_ignore_rules_have_the_same_effect_as_in_git(tmp_path, seed):
    chance = random.Random(seed)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    names = [name for name in _NAMES if name != "."]
    paths = ["/".join(chance.choices(names, k=chance.randint(1, 4))) for _ in range(60)]
    paths = [path for path in paths if not path.startswith(":")]  # means something of its own to check-ignore
    for _ in range(60):
        rules = ["".join(chance.choices(_PARTS, k=chance.randint(1, 5))) for _ in range(chance.randint(1, 4))]
        rules = [rule for rule in rules if not _CORNER.search(rule)]
        assert we_say("\n".join(rules), paths) == git_says(tmp_path, "\n".join(rules), paths), rules


def test_the_last_matching_rule_of_ten_thousand_decides():
    rules = [*(f"name-{number}" for number in range(4000)), *(f"*.e{number}" for number in range(4000)), "*", "!*.e7"]
    layers = [IgnoreLayer(0, parse_gitignore("\n".join(rules).encode()))]
    assert is_ignored((b"anything",), layers, is_folder=False)
    assert is_ignored((b"x.e8",), layers, is_folder=False)
    assert not is_ignored((b"x.e7",), layers, is_folder=False)


@pytest.mark.attack("T16", "A line of brackets in .gitignore keeps the host busy")
@pytest.mark.parametrize("piece", ["[", "[a", "[[:", "[!", "[\\", "[]", "[a/"])
def test_a_line_of_opened_brackets_matches_nothing(piece):
    line = (piece * MAX_LINE_BYTES)[: MAX_LINE_BYTES - 2] + "/x"
    assert parse_gitignore(line.encode()).rules == ()


@pytest.mark.attack("T16", "Ignore rules are so many or so long that matching has no end")
@pytest.mark.parametrize("text", ["[" * 250_000, "a\n" * (MAX_RULES + 1), "x" * (MAX_LINE_BYTES + 1)])
def test_rules_over_the_limits_are_refused(text):
    with pytest.raises(TooManyRules):
        parse_gitignore(text.encode())


def test_a_rule_that_needs_a_longer_name_is_not_matched():
    rules = parse_gitignore(b"\n".join(b"[!x]" * 300 + b"*%d" % number for number in range(50)))
    assert rules.last_match((b"y" * 255,), is_folder=False) is None
    assert rules.last_match((b"y" * 300 + b"7",), is_folder=False)
