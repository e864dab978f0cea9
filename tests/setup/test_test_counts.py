"""Test counts in real output of test runners."""

import pytest

from bot.domain.verification import CountedTests
from bot.setup.test_counts import parse_test_counts

NODE = "# tests {}\n# suites 0\n# pass {}\n# fail {}\n# cancelled 0\n# skipped 0\n# todo 0\n# duration_ms 60.2\n"
GO = "ok  \tshop/basket\t0.003s\n?   \tshop/cmd\t[no test files]\n"


@pytest.mark.parametrize(
    ("printed", "counts"),
    [
        ("..\n3 passed in 0.02s\n", CountedTests(3)),
        ("=== 1 failed, 2 passed, 4 skipped, 1 warning in 0.12s ===\n", CountedTests(2, 1, 4)),
        ("\x1b[32m\x1b[1m61 passed\x1b[0m\x1b[32m in 62.50s (0:01:02)\x1b[0m\n", CountedTests(61)),
        ("1 failed, 1 error in 3.00s\n", CountedTests(0, 2)),
        ("no tests ran in 0.01s\n", CountedTests()),
        ("5 deselected in 0.01s\n", CountedTests()),
        ("Ran 3 tests in 0.001s\n\nOK\n", CountedTests(3)),
        ("Ran 5 tests in 0.1s\n\nFAILED (failures=1, errors=1, skipped=1)\n", CountedTests(2, 2, 1)),
        ("Ran 0 tests in 0.000s\n\nOK\n", CountedTests()),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", CountedTests()),
        (NODE.format(3, 2, 1), CountedTests(2, 1)),
        (NODE.replace("#", "ℹ").format(0, 0, 0), CountedTests()),
        ("Tests:       1 failed, 1 skipped, 2 passed, 4 total\nTime: 1 s\n", CountedTests(2, 1, 1)),
        ("Tests:       2 passed, 2 total\n", CountedTests(2)),
        ("No tests found, exiting with code 0\n", CountedTests()),
        ("      Tests  1 failed | 2 passed (3)\n", CountedTests(2, 1)),
        ("No test files found, exiting with code 0\n", CountedTests()),
        ("  2 passing (5ms)\n  1 pending\n  1 failing\n", CountedTests(2, 1, 1)),
        ("  0 passing (1ms)\n", CountedTests()),
        (
            "test result: ok. 3 passed; 0 failed; 1 ignored\n\ntest result: ok. 1 passed; 0 failed; 0 ignored",
            CountedTests(4, 0, 1),
        ),
        ("running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured\n", CountedTests()),
        ("--- PASS: TestA (0.00s)\n    --- FAIL: TestB/x (0.00s)\nok  \tshop\t0.1s\n", CountedTests(1, 1)),
        ("?   \tshop\t[no test files]\nok  \tshop/b\t0.001s [no tests to run]\n", CountedTests()),
        (GO, None),
        ("all good\n", None),
        ("", None),
        ("said: 3 passed in our school\n", None),
    ],
)
def test_test_counts_are_parsed_from_the_output_of_runners(printed, counts):
    assert parse_test_counts(printed) == counts


def test_cut_output_gives_no_sum_of_test_counts():
    assert parse_test_counts("test result: ok. 3 passed; 0 failed; 0 ignored", is_cut=True) is None
    assert parse_test_counts("3 passed in 0.02s", is_cut=True) == CountedTests(3)


@pytest.mark.attack("T16", "A test prints what keeps the reader of its counts busy, or crashes it")
@pytest.mark.parametrize(
    "printed",
    [
        "1 " + "a11 " * 60 + "!",
        "=== " + "9" * 5000 + " passed in 1.0s ===\n",
        "Ran " + "9" * 5000 + " tests in 1s\n\nOK\n",
        "# tests 1\n# pass " + "9" * 200 + "\n# fail 0\n",
        "Tests: 1 a" + " " * 100_000,
        "1 failed, " * 100 + "1 passed in 1.0s\n",
    ],
    ids=["words", "digits", "more digits", "digits of node", "spaces", "a long line"],
)
def test_output_made_to_be_slow_to_parse_gives_no_count(printed):
    assert parse_test_counts(printed) is None
