"""Reports in real output of test runners; what a hostile output can do to their readers."""

from pathlib import Path

import pytest

from bot.domain.runner_report import MOST_TESTS, CountedTests, RunnerReport
from bot.setup.runners import read
from bot.setup.runners.pytest import read_junit_xml
from bot.setup.runners.read import read_report

TRANSCRIPTS = Path(__file__).parent / "transcripts"
"""Output of small projects, as each runner printed it: passed, failed, skipped, nested and parametrised tests, modules
that cannot be loaded."""


def transcript(name: str) -> str:
    return (TRANSCRIPTS / f"{name}.txt").read_text()


def report_of(output: str, **more) -> RunnerReport:
    report = read_report(output, **more)
    assert report
    return report


PYTEST_FAILED = {
    "test_app::test_breaks", "test_app::test_words[x::y]", "test_app.TestShop::test_in", "test_app::test_setup",
    "test_app::test_teardown",
}  # fmt: skip
UNITTEST_FAILED = {
    "test_app.Shop.test_breaks", "test_app.Shop.test_raises", "test_app.Shop.test_sub (i=1, word='a b')",
}  # fmt: skip
NODE_FAILED = {
    "breaks", "shop > fails (1ms)", "with subtests > two", "with subtests", "/home/ada/shop/b.test.js",
}  # fmt: skip
JEST_FAILED = {"a.test.js › shop › fails", "a.test.js › top", "c.test.js › Test suite failed to run"}
VITEST_FAILED = {"a.test.js > shop > fails", "a.test.js > top", "c.test.js > Test suite failed to run"}
GO_FAILED = {
    "shop/bad [build failed]", "shop/basket.TestBreaks", "shop/basket.TestSub", "shop/basket.TestSub/x/y",
}  # fmt: skip
PHP_FAILED = {"ATest::testRaises", "ATest::testBreaks", "ATest::testWords with data set \"one\" ('a b')"}
RSPEC_FAILED = {"./spec/a_spec.rb: Shop breaks # this", "./spec/a_spec.rb: Shop inner raises"}
MINITEST_FAILED = {"ShopTest#test_breaks", "ShopTest#test_raises", "Shop::inner#test_0001_breaks, too"}
PROVE_FAILED = {"t/a.t: breaks # x", "t/b.t"}
SUREFIRE = """\
[INFO] Running shop.BasketTest
[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1, Time elapsed: 0.05 s <<< FAILURE! -- in shop.BasketTest
[ERROR] shop.BasketTest.breaks -- Time elapsed: 0.004 s <<< FAILURE!
[ERROR] raises(shop.BasketTest)  Time elapsed: 0.001 s  <<< ERROR!
[INFO] Results:
[ERROR] Failures:
[ERROR]   BasketTest.breaks:6 expected: <1> but was: <2>
[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1
[INFO] BUILD FAILURE
"""
"""Written by hand, of two versions: Maven's plugins are on no machine that has no network."""


@pytest.mark.parametrize(
    ("name", "counts", "failed"),
    [
        ("pytest-q", CountedTests(7, 5, 1), PYTEST_FAILED),
        ("pytest-coll", CountedTests(0, 1), {"test_b"}),
        ("unittest", CountedTests(2, 3, 1), UNITTEST_FAILED),
        ("unittest-v", CountedTests(2, 3, 1), UNITTEST_FAILED),
        ("unittest-coll", CountedTests(0, 1), {"unittest.loader._FailedTest.test_b"}),
        ("node-tap", CountedTests(4, 5, 1), NODE_FAILED),
        ("node-spec", CountedTests(4, 5, 1), {*NODE_FAILED, "shop"}),
        ("jest", CountedTests(3, 2, 1), JEST_FAILED),
        ("jest-v", CountedTests(3, 2, 1), JEST_FAILED),
        ("vitest", CountedTests(3, 2, 1), VITEST_FAILED),
        ("vitest-v", CountedTests(3, 2, 1), VITEST_FAILED),
        ("mocha", CountedTests(3, 2, 1), {"top", "shop > fails"}),
        ("mocha-dot", CountedTests(3, 2, 1), {"top", "shop > fails"}),
        ("cargo", CountedTests(5, 1, 1), {"shop: tests::breaks"}),
        ("cargo-q", CountedTests(5, 1, 1), {"tests::breaks"}),
        ("go", None, GO_FAILED),
        ("go-v", CountedTests(5, 4, 1), GO_FAILED),
        ("go-json", CountedTests(5, 4, 1), GO_FAILED),
        ("phpunit", CountedTests(2, 3, 1), PHP_FAILED),
        ("phpunit-ok", CountedTests(1), set()),
        ("rspec", CountedTests(1, 2, 1), RSPEC_FAILED),
        ("prove", CountedTests(4, 3), {*PROVE_FAILED, "t/c.t: line 2"}),
        ("prove-v", CountedTests(3, 3, 1), {*PROVE_FAILED, "t/c.t: 2"}),
        ("tap", CountedTests(1, 1, 1), {"breaks # x"}),
        ("ava", CountedTests(3, 3, 2), {"test › breaks", "test › raises", "broken.test.js"}),
        ("ava-ok", CountedTests(1), set()),
        ("bun", CountedTests(3, 2, 2), {"a.test.ts: shop > breaks", "a.test.ts: raises"}),
        ("bun-ok", CountedTests(1), set()),
        ("minitest", CountedTests(2, 3, 1), MINITEST_FAILED),
        ("minitest-v", CountedTests(2, 3, 1), MINITEST_FAILED),
        ("test-unit", CountedTests(1, 2, 1), {"test_breaks(TestShop)", "test_raises(TestShop)"}),
        ("pnpm-r", CountedTests(1, 1), {"packages/a test: in a"}),
        ("pnpm-multi", CountedTests(0, 1), {"test:spec: in a"}),
        ("ctest", CountedTests(1, 4, 1), {"prints", "shop", "missing", "slow"}),
        ("ctest-ok", CountedTests(2), set()),
        ("meson", CountedTests(2, 3, 1), {"prints", "crash", "slow"}),
        ("automake", CountedTests(1, 1, 1), {"prints"}),
    ],
)
def test_each_runner_names_the_tests_that_failed(name, counts, failed):
    report = report_of(transcript(name))
    assert (report.counts, set(report.failed), report.names_failures) == (counts, failed, True)


@pytest.mark.parametrize(
    ("name", "passed"),
    [
        ("unittest-v", "test_app.Shop.test_adds"),
        ("node-tap", "shop > inner > adds"),
        ("node-spec", "shop > inner > adds"),
        ("jest-v", "a.test.js › shop › inner › adds"),
        ("vitest-v", "a.test.js > shop > inner > adds"),
        ("mocha", "shop > sells › a"),
        ("cargo", "whole: adds"),
        ("go-v", "shop/basket.TestPar/p"),
        ("go-json", "shop/basket.TestPar/p"),
        ("prove-v", "t/a.t: adds"),
        ("tap", "adds"),
        ("ava", "test › known"),
        ("bun", "a.test.ts: shop > inner > adds"),
        ("minitest-v", "Shop#test_0001_sells"),
        ("pnpm-r", "packages/b test: in b"),
        ("ctest", "adds"),
        ("meson", "known"),
        ("automake", "adds"),
    ],
)
def test_a_runner_that_lists_all_tests_names_those_that_passed(name, passed):
    report = report_of(transcript(name))
    assert report.names_all
    assert report.tests[passed] == "passed"


def test_surefire_names_the_tests_that_failed():
    report = report_of(SUREFIRE)
    assert (report.counts, report.failed) == (
        CountedTests(2, 2, 1),
        {"shop.BasketTest.breaks", "raises(shop.BasketTest)"},
    )


def test_the_report_file_of_pytest_names_every_test():
    report = report_of(transcript("pytest"), junit_xml=(TRANSCRIPTS / "pytest.xml").read_bytes())
    assert (report.counts, set(report.failed), report.names_all) == (CountedTests(6, 5, 1), PYTEST_FAILED, True)
    assert report.tests["test_app::test_words[`tick` - @ana]"] == "passed"


def test_a_test_has_the_same_name_in_the_report_file_and_in_what_pytest_prints():
    printed = report_of(transcript("pytest-q"))
    assert printed.failed == report_of(transcript("pytest"), junit_xml=(TRANSCRIPTS / "pytest.xml").read_bytes()).failed


def test_the_report_file_of_one_pytest_of_two_is_not_taken_for_both():
    twice = f"{transcript('pytest')}\n=== 3 passed in 0.02s ===\n"
    report = report_of(twice, junit_xml=(TRANSCRIPTS / "pytest.xml").read_bytes())
    assert (report.counts, report.names_all) == (CountedTests(10, 5, 1), False)


def test_coloured_output_is_read_like_any_other():
    assert "\x1b[" in transcript("pytest-q")
    assert "\x1b[" in transcript("vitest")


def test_several_runners_in_one_command_are_added_up():
    report = report_of(transcript("unittest") + transcript("jest"))
    assert report.counts == CountedTests(5, 5, 2)
    assert report.failed == UNITTEST_FAILED | JEST_FAILED


def test_tests_of_the_same_name_hide_none_of_them():
    one = "======================================================================\nFAIL: test_a (m.T.test_a)\n"
    report = report_of(f"{one}\n{one}\nRan 3 tests in 0.1s\n\nFAILED (failures=2)\n")
    assert report.failed == {"m.T.test_a", "m.T.test_a (2)"}


def test_an_output_cut_in_the_middle_gives_only_what_its_end_proves():
    assert read_report(transcript("cargo"), is_cut=True) is None
    assert read_report(transcript("go-v"), is_cut=True) is None
    assert report_of("3 passed in 0.02s", is_cut=True).counts == CountedTests(3)


NODE = "# tests {}\n# suites 0\n# pass {}\n# fail {}\n# cancelled 0\n# skipped 0\n# todo 0\n# duration_ms 60.2\n"


@pytest.mark.parametrize(
    ("printed", "counts"),
    [
        ("..\n3 passed in 0.02s\n", CountedTests(3)),
        ("=== 1 failed, 2 passed, 4 skipped, 1 warning in 0.12s ===\n", CountedTests(2, 1, 4)),
        ("\x1b[32m\x1b[1m61 passed\x1b[0m\x1b[32m in 62.50s (0:01:02)\x1b[0m\n", CountedTests(61)),
        ("1 failed, 1 error in 3.00s\n", CountedTests(0, 2)),
        ("no tests ran in 0.01s\n", CountedTests()),
        ("5 deselected in 0.01s\n", CountedTests()),
        ("4 skipped in 0.01s\n", CountedTests(skipped=4)),
        ("Ran 3 tests in 0.001s\n\nOK\n", CountedTests(3)),
        ("Ran 5 tests in 0.1s\n\nFAILED (failures=1, errors=1, skipped=1)\n", CountedTests(2, 2, 1)),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", CountedTests()),
        (NODE.format(3, 2, 1), CountedTests(2, 1)),
        (NODE.replace("#", "ℹ").format(0, 0, 0), CountedTests()),
        ("Tests:       1 failed, 1 skipped, 2 passed, 4 total\nTime: 1 s\n", CountedTests(2, 1, 1)),
        ("No tests found, exiting with code 0\n", CountedTests()),
        ("      Tests  1 failed | 2 passed (3)\n", CountedTests(2, 1)),
        ("No test files found, exiting with code 0\n", CountedTests()),
        ("  2 passing (5ms)\n  1 pending\n  1 failing\n", CountedTests(2, 1, 1)),
        ("  0 passing (1ms)\n", CountedTests()),
        ("running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured\n", CountedTests()),
        ("?   \tshop\t[no test files]\nok  \tshop/b\t0.001s [no tests to run]\n", CountedTests()),
        ("ok  \tshop/basket\t0.003s\n?   \tshop/cmd\t[no test files]\n", None),
        ("No tests executed!\n", CountedTests()),
        ("0 examples, 0 failures\n", CountedTests()),
        ("1..0 # skipped\n", CountedTests()),
    ],
)
def test_counts_are_read_and_none_is_no_zero(printed, counts):
    assert report_of(printed).counts == counts


@pytest.mark.parametrize("printed", ["all good\n", "", "said: 3 passed in our school\n", "ok\n", "ok 1 - no plan\n"])
def test_an_output_without_a_known_summary_gives_no_report(printed):
    assert read_report(printed) is None


STALLS = "A test prints what keeps the readers of its output busy, or crashes them"
LONG = 3_000_000


@pytest.mark.attack("T16", STALLS)
@pytest.mark.parametrize(
    "printed",
    [
        "1 " + "a11 " * LONG + "!",
        "=== " + "9" * LONG + " passed in 1.0s ===\n",
        "Ran " + "9" * 500 + " tests in 1s\n\nOK\n",
        "# tests 1\n# pass " + "9" * 200 + "\n# fail 0\n",
        "Tests: 1 a" + " " * LONG,
        "\x1b[" * LONG,
        "\x1b[" + "1;" * LONG,
        "\r" * LONG,
        "Files=1, Tests=" + "9" * 400,
        "1 failed, " * 100 + "1 passed in 1.0s\n",
    ],
    ids=[
        "words",
        "digits",
        "more digits",
        "of node",
        "spaces",
        "escapes",
        "colours",
        "returns",
        "prove",
        "a long line",
    ],
)
def test_t16_output_made_to_be_slow_gives_no_report(printed):
    assert read_report(printed) is None


@pytest.mark.attack("T16", STALLS)
@pytest.mark.parametrize(
    "line",
    ["    ", "# Subtest: a", "test a ... ok", "  1) a", "--- PASS: T (0.0s)", "  ● a › b", "FAIL a", "(", '{"Action":'],
)
def test_t16_millions_of_lines_are_read_once_and_names_have_a_limit(line):
    deep = "".join(f"{' ' * (place % 400)}{line}\n" for place in range(30_000))
    report = report_of(f"{deep}\n=== 1 failed in 0.1s ===\n")
    assert report.counts
    assert len(report.tests) <= MOST_TESTS
    assert all(len(name) <= 400 for name in report.tests)


@pytest.mark.attack("T16", STALLS + ": a report file with entities that grow")
@pytest.mark.parametrize(
    "content",
    [
        b'<!DOCTYPE a [<!ENTITY b "bbb"><!ENTITY c "&b;&b;">]><testsuites><testcase name="&c;"/></testsuites>',
        b'<!DOCTYPE a SYSTEM "file:///etc/hostname"><testsuites/>',
        b"<testsuites><testcase",
        b"\xff\xfe",
        b"<other/>",
        b"<testsuites>" + b'<testcase name="a"/>' * (MOST_TESTS + 2) + b"</testsuites>",
    ],
    ids=["entities", "a file", "half", "bytes", "another file", "too many"],
)
def test_t16_a_report_file_that_is_none_is_refused(content):
    assert read_junit_xml(content) is None


@pytest.mark.parametrize("prefix", ["[1]", "shop:test:", "@shop/web:test:", "api:"])
def test_output_of_several_scripts_at_once_is_read_by_their_prefixes(prefix):
    told = ["TAP version 13", "ok 1 - adds", "not ok 2 - breaks", "1..2"]
    mixed = "".join(f"{prefix} {line}\nother: {line}\n" for line in told) + "done\n"
    report = report_of(mixed)
    assert (report.counts, report.failed) == (CountedTests(2, 2), {f"{prefix} breaks", "other: breaks"})


def test_t16_a_flood_of_prefixes_is_read_up_to_a_limit():
    output = "".join(f"p{number}: 1..1\np{number}: ok 1 - adds\n" for number in range(5000))
    assert report_of(output).counts == CountedTests(50)


def test_every_reader_is_asked():
    """A reader that is not in the list would be tested by nothing."""
    readers = {path.stem for path in Path(read.__file__).parent.glob("*.py")} - {"__init__", "lines", "read"}
    asked = {reader.__module__.rpartition(".")[2] for reader in read._READERS}
    assert readers == asked | {"pytest", "node", "tap"}
