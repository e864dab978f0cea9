"""Mocha: reads what its `spec` reporter prints; of other reporters the failed tests. Pure."""

from collections.abc import Iterator, Sequence

from bot.domain.runner_report import CountedTests, ReportedOutcome, RunnerReport, build_report
from bot.setup.runners.lines import OutputLines, indent_of, to_number, without_duration

_WORDS = ("passing", "failing", "pending")
_MARKS = {"✔ ": ReportedOutcome.PASSED, "✓ ": ReportedOutcome.PASSED, "- ": ReportedOutcome.SKIPPED}
_DEEPEST = 40


def read_mocha(output: OutputLines) -> RunnerReport | None:
    numbers: dict[str, int] = {}
    tests: list[tuple[str, ReportedOutcome]] = []
    begun = 0
    for place, line in enumerate(output.lines):
        word, value = _counted(line)
        if value is None:
            continue
        if word == "passing":
            tests += _passed_in(output.lines[begun:place])
            begun = place
        numbers[word] = numbers.get(word, 0) + value
    if "passing" not in numbers:
        return None
    tests += ((name, ReportedOutcome.FAILED) for name in _failed_in(output.lines))
    return build_report(tests, CountedTests(*(numbers.get(word, 0) for word in _WORDS)))


def _counted(line: str) -> tuple[str, int | None]:
    """`  2 passing (5ms)`."""
    number, _, rest = line.strip().partition(" ")
    word = rest.partition(" ")[0]
    return word, to_number(number) if line.startswith(" ") and word in _WORDS else None


def _passed_in(lines: Sequence[str]) -> Iterator[tuple[str, ReportedOutcome]]:
    """Suites are lines without a mark, each deeper than the one around it."""
    stack: list[str] = []
    for line in lines:
        content, depth = line.strip(), min(indent_of(line) // 2, _DEEPEST)
        if not content or not depth or _number_of(content) is not None:
            continue
        if outcome := _MARKS.get(content[:2]):
            yield " > ".join((*filter(None, stack[: depth - 1]), without_duration(content[2:]))), outcome
        else:
            stack[depth - 1 :] = [*[""] * (depth - 1 - len(stack)), content]


def _failed_in(lines: Sequence[str]) -> Iterator[str]:
    """`  1) suite`, then the names below it, each deeper; the last one ends in a colon."""
    path: list[str] = []
    depth, is_over = 0, False
    for line in lines:
        content = line.strip()
        is_over |= _counted(line)[1] is not None
        if not is_over:
            continue
        if _number_of(content) is not None and indent_of(line) == 2:  # noqa: PLR2004 - this reporter indents by two
            path, depth = [content.partition(") ")[2]], 2
        elif path and content and indent_of(line) > depth:
            path, depth = [*path, content], indent_of(line)
        else:
            path = []
        if path and content.endswith(":"):
            yield " > ".join(path).removesuffix(":")
            path = []


def _number_of(content: str) -> int | None:
    number, bracket, _ = content.partition(") ")
    return to_number(number) if bracket else None
