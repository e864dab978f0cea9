"""pytest: reads its report file, and what it prints. Pure."""

import re
from collections.abc import Iterator
from xml.parsers import expat

from bot.domain.runner_report import MOST_TESTS, CountedTests, ReportedOutcome, RunnerReport, build_report
from bot.setup.runners.lines import OutputLines, numbers_by_word

_SUMMARY = re.compile(r"(\d{1,9} \w+(?:, \d{1,9} \w+)*|no tests ran) in [\d.]+s\b")
_PASSED = ("passed", "xfailed", "xpassed")
_FAILED = ("failed", "error", "errors")


def read_pytest(output: OutputLines, report: RunnerReport | None = None) -> RunnerReport | None:
    """`report`: its report file. It has all names, but only those of the last pytest that the command ran."""
    summaries = [found[1] for line in output.lines if (found := _SUMMARY.match(line.strip("= ")))]
    if not summaries:
        return report
    counts = CountedTests()
    for summary in summaries:
        numbers = numbers_by_word(summary)
        passed, failed = (sum(numbers.get(word, 0) for word in words) for words in (_PASSED, _FAILED))
        counts += CountedTests(passed, failed, numbers.get("skipped", 0))
    if report and report.counts and len(summaries) == 1 and len(report.failed) == counts.failed:
        return report
    failed_tests = [(name, ReportedOutcome.FAILED) for name in _failed_in(output)]
    return build_report(failed_tests, counts)


def _failed_in(output: OutputLines) -> Iterator[str]:
    """Yields the names in each `short test summary info`."""
    is_listed = False
    for line in output.lines:
        if line.startswith("=") or _SUMMARY.match(line):
            is_listed = line.strip("= ") == "short test summary info"
        elif is_listed and line.startswith(("FAILED ", "ERROR ")):
            yield _as_in_report(_test_of(line.partition(" ")[2]))


def _test_of(listed: str) -> str:
    """`a.py::test[x - y] - AssertionError`: the reason begins at the first dash outside of brackets."""
    depth = 0
    for place, letter in enumerate(listed):
        depth += (letter == "[") - (letter == "]")
        if depth <= 0 and listed.startswith(" - ", place):
            return listed[:place]
    return listed


def _as_in_report(test: str) -> str:
    """`tests/test_a.py::TestShop::test[x]` as its report file has it: `tests.test_a.TestShop::test[x]`."""
    address, bracket, parameters = test.partition("[")
    file, *names = address.split("::")
    module = file.removesuffix(".py").replace("/", ".")
    return f"{'::'.join(filter(None, ('.'.join((module, *names[:-1])), *names[-1:])))}{bracket}{parameters}"


def read_junit_xml(content: bytes) -> RunnerReport | None:
    """Returns None if it is no such report. Entities of its own are refused."""
    reader = _JUnitReader()
    try:
        reader.parser.Parse(content, True)  # noqa: FBT003 - the library defines it: this is the last part
    except (expat.ExpatError, ValueError):
        return None
    return reader.build()


class _JUnitReader:
    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = _refuse
        self.parser.EntityDeclHandler = _refuse
        self._tests: list[tuple[str, ReportedOutcome]] = []
        self._name = ""
        self._outcome = ReportedOutcome.PASSED
        self._is_report = False

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._is_report |= tag in {"testsuite", "testsuites"}
        if tag == "testcase":
            parts = (attributes.get("classname", ""), attributes.get("name", ""))
            self._name, self._outcome = "::".join(filter(None, parts)), ReportedOutcome.PASSED
        elif tag in {"failure", "error"}:
            self._outcome = ReportedOutcome.FAILED
        elif tag == "skipped" and attributes.get("type") != "pytest.xfail":
            self._outcome = ReportedOutcome.SKIPPED

    def _end(self, tag: str) -> None:
        if tag == "testcase":
            self._tests.append((self._name, self._outcome))
            if len(self._tests) > MOST_TESTS:
                raise ValueError("too many tests")

    def build(self) -> RunnerReport | None:
        outcomes = [outcome for _, outcome in self._tests]
        counts = CountedTests(*(outcomes.count(one) for one in ReportedOutcome))
        return build_report(self._tests, counts) if self._is_report else None


def _refuse(*_: object) -> None:
    raise ValueError("declarations are not allowed")
