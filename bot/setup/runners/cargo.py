"""`cargo test`: reads what it prints, with `--quiet` or without. Pure."""

import re
from collections.abc import Iterator, Sequence

from bot.domain.runner_report import CountedTests, ReportedOutcome, RunnerReport, build_report
from bot.setup.runners.lines import OutputLines, to_number

_RESULT = re.compile(r"test result: \w+\. (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored")
_OUTCOMES = {"ok": ReportedOutcome.PASSED, "FAILED": ReportedOutcome.FAILED, "ignored": ReportedOutcome.SKIPPED}


def read_cargo(output: OutputLines) -> RunnerReport | None:
    found = [one for line in output.lines if (one := _RESULT.match(line))]
    if not found or output.is_cut:
        return None
    counts = CountedTests(*(sum(map(int, column)) for column in zip(*(one.groups() for one in found), strict=True)))
    return build_report(_tests(output.lines), counts)


def _tests(lines: Sequence[str]) -> Iterator[tuple[str, ReportedOutcome]]:
    """Each program with tests has a list of them; those that failed are in a list below it as well."""
    program, left, seen = "", 0, set[str]()
    is_failed_list = False
    for line in lines:
        if named := _program_of(line):
            program, seen = named, set()
        elif line.startswith("running "):
            left = to_number(line.removeprefix("running ").partition(" ")[0]) or 0
            seen = set()
        elif left and (found := _test_of(line)):
            left -= 1
            seen.add(found[0])
            yield f"{program}{found[0]}", found[1]
        elif line == "failures:":
            left, is_failed_list = 0, True
        elif is_failed_list and line.startswith("    ") and line.strip() not in seen:
            seen.add(line.strip())
            yield f"{program}{line.strip()}", ReportedOutcome.FAILED
        elif not line.startswith("    "):
            is_failed_list = False


def _program_of(line: str) -> str:
    """`Running tests/whole.rs (target/debug/deps/whole-caf4c2aed8f93934)`, without the hash; or the documentation."""
    content = line.strip()
    if content.startswith("Running ") and content.endswith(")"):
        return f"{content.rpartition('/')[2].rpartition('-')[0]}: "
    return f"{content.removeprefix('Doc-tests ')} (documentation): " if content.startswith("Doc-tests ") else ""


def _test_of(line: str) -> tuple[str, ReportedOutcome] | None:
    """`test tests::adds - should panic ... ok`."""
    name, dots, outcome = line.removeprefix("test ").partition(" ... ")
    found = _OUTCOMES.get(outcome.partition(",")[0]) if dots and line.startswith("test ") else None
    return (name.removesuffix(" - should panic"), found) if found else None
