"""Checks that every guard's quoted code exists, and that every threat has guards, tests and a line in security.md."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.mutants.guards import GUARDS
from tests.mutants.result import NOTICED, Result, summary

ROOT = Path(__file__).parents[2]
THREATS = [f"T{number}" for number in range(1, 25)]
TESTS = "\n".join(path.read_text() for path in sorted((ROOT / "tests").rglob("test_*.py")))
NAMED = {number for name in re.findall(r"def test_((?:t\d+_)+)", TESTS) for number in re.findall(r"t(\d+)_", name)}
PAGE = (ROOT / "docs" / "security.md").read_text()
TABLE = PAGE.partition("## Where the tests are")[2].partition("\n## ")[0]


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.name)
def test_every_guard_matches_its_file_once_and_its_tests_exist(guard):
    assert (ROOT / guard.file).read_text().count(guard.old) == 1
    for test in guard.tests:
        file, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}(" in (ROOT / file).read_text(), test


def test_names_of_guards_are_unique():
    assert [name for name, times in Counter(guard.name for guard in GUARDS).items() if times > 1] == []


@pytest.mark.parametrize("threat", THREATS)
def test_every_threat_has_a_guard_a_test_and_a_line_in_security_md(threat):
    word = re.compile(rf"\b{threat}\b")
    assert any(word.search(guard.name.partition(":")[0]) for guard in GUARDS)
    assert threat[1:] in NAMED
    assert word.search(TABLE)


def test_the_summary_ends_with_survivors_and_the_end_of_their_output():
    one, other = GUARDS[:2]
    lines = [f"line {number}" for number in range(9)]
    results = [
        Result(one, "SURVIVED", "\n".join([*lines, ""])),
        Result(other, NOTICED, "it was noticed"),
    ]
    first, survivor, *ending = summary(results, left_out=1, later=7).splitlines()
    assert first == "1 guards caught, 1 survived, 1 could not be tried here, 7 left for another commit"
    assert one.name in survivor
    assert ending == [f"    line {number}" for number in range(4, 9)]
