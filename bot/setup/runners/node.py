"""`node --test`: reads its TAP and its `spec` output. Pure."""

from collections.abc import Iterator, Sequence

from bot.domain.runner_report import CountedTests, ReportedOutcome, RunnerReport, build_report
from bot.setup.runners.lines import OutputLines, indent_of, to_number, without_duration
from bot.setup.runners.tap import parse_tap

_KEYS = ("tests", "pass", "fail", "cancelled", "skipped")
_MARKS = {"✔ ": ReportedOutcome.PASSED, "✖ ": ReportedOutcome.FAILED, "﹣ ": ReportedOutcome.SKIPPED}
_DEEPEST = 40


def read_node(output: OutputLines) -> RunnerReport | None:
    numbers: dict[str, int] = {}
    marks = set()
    for line in output.lines:
        mark, _, rest = line.partition(" ")
        key, _, number = rest.partition(" ")
        value = to_number(number)
        if mark in {"#", "ℹ"} and key in _KEYS and value is not None:
            numbers[key] = numbers.get(key, 0) + value
            marks.add(mark)
    if not {"tests", "pass", "fail"} <= numbers.keys():
        return None
    counts = CountedTests(numbers["pass"], numbers["fail"] + numbers.get("cancelled", 0), numbers.get("skipped", 0))
    tests = _tests_in_tap(output.lines) if marks == {"#"} else _tests_in_spec(output.lines)
    return build_report(tests, counts)


def _tests_in_tap(lines: Sequence[str]) -> Iterator[tuple[str, ReportedOutcome]]:
    return ((one.name, one.outcome) for one in parse_tap(lines) if not one.is_suite)


def _tests_in_spec(lines: Sequence[str]) -> Iterator[tuple[str, ReportedOutcome]]:
    """Subtests are indented below `▶ name`, and a line with that name and its outcome closes it."""
    stack: list[str] = []
    for line in lines:
        content, depth = line.lstrip(" "), min(indent_of(line) // 2, _DEEPEST)
        if content == "✖ failing tests:":
            return
        if content.startswith("▶ "):
            stack[depth:] = [*[""] * (depth - len(stack)), without_duration(content.removeprefix("▶ "))]
        elif outcome := _MARKS.get(content[:2]):
            name = without_duration(content[2:].removesuffix(" # SKIP").partition(" # TODO")[0])
            yield " > ".join((*filter(None, stack[:depth]), name)), outcome
