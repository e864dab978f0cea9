"""RSpec: reads what it prints. Pure."""

from collections.abc import Iterator, Sequence

from bot.domain.runner_report import CountedTests, ReportedOutcome, RunnerReport, build_report
from bot.setup.runners.lines import OutputLines, numbers_by_word


def read_rspec(output: OutputLines) -> RunnerReport | None:
    """`4 examples, 2 failures, 1 pending`."""
    totals = [numbers_by_word(line) for line in output.lines if " example" in line and " failure" in line]
    totals = [one for one in totals if {"example", "examples"} & one.keys()]
    if not totals:
        return None
    counts, outside = CountedTests(), 0
    for one in totals:
        examples, failed = _either(one, "example"), _either(one, "failure")
        pending = one.get("pending", 0)
        errors = sum(number for word, number in one.items() if word.endswith("occurred outside of examples"))
        counts += CountedTests(max(examples - failed - pending, 0), failed + errors, pending)
        outside += errors
    tests = [*_failed_in(output.lines), *["(an error outside of examples)"] * min(outside, 100)]
    return build_report([(name, ReportedOutcome.FAILED) for name in tests], counts)


def _either(numbers: dict[str, int], word: str) -> int:
    return numbers.get(word, 0) + numbers.get(f"{word}s", 0)


def _failed_in(lines: Sequence[str]) -> Iterator[str]:
    """`rspec ./spec/a_spec.rb:3 # Shop adds`, without the line, which moves with every change."""
    for line in lines:
        place, sign, description = line.partition(" # ")
        if sign and line.startswith("rspec "):
            file = place.removeprefix("rspec ").strip("'").partition("[")[0]
            path, _, number = file.rpartition(":")
            yield f"{path if number.isdigit() else file}: {description}"
