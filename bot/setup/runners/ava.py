"""AVA: reads what it prints. Pure."""

from collections.abc import Collection, Iterator, Sequence

from bot.domain.runner_report import CountedTests, ReportedOutcome, RunnerReport, build_report
from bot.setup.runners.lines import OutputLines, indent_of, numbers_by_word, without_duration

_RULE = "  ─"
_FAILED = "✘ [fail]: "
_EXITED = " exited with "
_MARKS = {
    "✔ [expected fail] ": ReportedOutcome.PASSED, "✔ ": ReportedOutcome.PASSED, "- [skip] ": ReportedOutcome.SKIPPED,
    "- [todo] ": ReportedOutcome.SKIPPED,
}  # fmt: skip
_SUMMARIES = ("test passed", "tests passed", "test failed", "tests failed", "uncaught exception")


def read_ava(output: OutputLines) -> RunnerReport | None:
    """It counts those that passed only if none failed, so they are counted in its list."""
    if _RULE not in output.lines or output.is_cut:
        return None
    details = output.lines[output.lines.index(_RULE) :]
    numbers = numbers_by_word("\n".join(details), "\n")
    if not any(word in numbers for word in _SUMMARIES):
        return None
    titles = {line.strip() for line in details if indent_of(line) == 2}  # noqa: PLR2004 - deeper lines explain
    tests = list(_tests(output.lines, titles))
    outcomes = [outcome for _, outcome in tests]
    return build_report(tests, CountedTests(*(outcomes.count(one) for one in ReportedOutcome)))


def _tests(lines: Sequence[str], titles: Collection[str]) -> Iterator[tuple[str, ReportedOutcome]]:
    for line in lines:
        content = line.strip()
        if content.startswith(_FAILED):
            yield _title(content.removeprefix(_FAILED), titles), ReportedOutcome.FAILED
        elif content.startswith("✘ ") and _EXITED in content:
            yield content.removeprefix("✘ ").partition(_EXITED)[0], ReportedOutcome.FAILED
        elif mark := next((mark for mark in _MARKS if content.startswith(mark)), ""):
            yield without_duration(content.removeprefix(mark)), _MARKS[mark]


def _title(text: str, titles: Collection[str]) -> str:
    """A failed test is listed with its message; its title stands alone above the details."""
    words = text.split(" ")
    heads = (" ".join(words[:count]) for count in range(len(words), 0, -1))
    return next((head for head in heads if head in titles), without_duration(text))
