"""`bun test`: reads what it prints. Pure."""

from collections.abc import Iterator, Sequence

from bot.domain.runner_report import CountedTests, ReportedOutcome, RunnerReport, build_report
from bot.setup.runners.lines import OutputLines, to_number

_MARKS = {
    "(pass) ": ReportedOutcome.PASSED, "(fail) ": ReportedOutcome.FAILED, "(skip) ": ReportedOutcome.SKIPPED,
    "(todo) ": ReportedOutcome.SKIPPED,
}  # fmt: skip
_MARK_LENGTH = 7
_NUMBERS = {"pass": "passed", "fail": "failed", "skip": "skipped", "todo": "skipped"}


def read_bun(output: OutputLines) -> RunnerReport | None:
    """` 3 pass`, ` 2 fail`, then `Ran 7 tests across 2 files. [138.00ms]`."""
    ends = [place for place, line in enumerate(output.lines) if line.startswith("Ran ") and " across " in line]
    counts, begun = CountedTests(), 0
    for end in ends:
        for line in output.lines[begun:end]:
            counts += _number_in(line)
        begun = end
    return build_report(_tests(output.lines), counts) if ends else None


def _number_in(line: str) -> CountedTests:
    number, _, word = line.strip().partition(" ")
    value, name = to_number(number), _NUMBERS.get(word, "")
    return CountedTests(**{name: value}) if line.startswith(" ") and name and value is not None else CountedTests()


def _tests(lines: Sequence[str]) -> Iterator[tuple[str, ReportedOutcome]]:
    file = ""
    for line in lines:
        if line.endswith(":") and " " not in line and "." in line:
            file = line
        elif outcome := _MARKS.get(line[:_MARK_LENGTH]):
            yield f"{file} {_without_duration(line[_MARK_LENGTH:])}".strip(), outcome


def _without_duration(name: str) -> str:
    """`shop > adds [0.03ms]`."""
    head, _, last = name.rpartition(" [")
    return head if head and last.endswith("s]") and last[0].isdigit() else name
