"""Messages about verification: what ran, and what the change did to the tests. Pure text in, text out.

Rule: commands, names of tests and output come from outside: they are quoted, and cut. All places say the same.
"""

from collections.abc import Iterator

from bot.domain.run import Run
from bot.domain.runner_report import CountedTests
from bot.domain.verification import (
    BaseComparison,
    CheckResult,
    ComparedBy,
    NamedTests,
    Verification,
    VerifiedCommand,
)
from bot.text.quote_untrusted import code_span, neutralize_line

VERIFICATION = "**Verification:**"
"""Opening of the verification paragraph in a pull request's text."""
_LISTED = 20
_DETAILED = 5
"""Commands whose tests are listed by name: a pull request's text has an end."""
_OTHERS_LISTED = 8
_LONGEST_NAME = 120


def of_verification(run: Run) -> str:
    """Verification paragraph; empty if nothing was run."""
    found = run.checks.verification
    if found is None:
        return ""
    lines = [
        line
        for place, one in enumerate(found.commands[:_LISTED])
        for line in _command(one, found, detailed=place < _DETAILED)
    ]
    more = len(found.commands) - _LISTED
    attempts = run.checks.verify_attempts
    cost = f"- {attempts} turn{'s' if attempts != 1 else ''} spent on fixing regressions" if attempts else ""
    trouble = f"- incomplete: {neutralize_line(found.problem)}" if found.problem else ""
    setup = f"- set up by {neutralize_line(found.setup)}" if found.setup else ""
    notes = filter(None, (_test_files(found), setup, trouble, cost))
    return "\n".join([_heading(found), *lines, *([f"- and {more} more"] if more > 0 else []), *notes])


def _heading(found: Verification) -> str:
    done = "run by Treehand in a fresh worktree" if found.is_done else "not finished"
    network = ", without network" if found.without_network else ""
    return f"{VERIFICATION} {done}{network}, on `{found.commit[:10]}`."


def _test_files(found: Verification) -> str:
    named = ", ".join(map(code_span, found.test_files[:_LISTED]))
    more = f" and {len(found.test_files) - _LISTED} more" if len(found.test_files) > _LISTED else ""
    return f"- the agent changed files that decide the result; review these first: {named}{more}" if named else ""


def in_short(found: Verification | None) -> str:
    """One sentence about regressions and flaky tests; empty if there are none."""
    sentences = [_in_short(one) for one in found.commands if _is_worth_telling(one, found)] if found else []
    more = f"; and {len(sentences) - _DETAILED} more" if len(sentences) > _DETAILED else ""
    return f"Verification: {'; '.join(sentences[:_DETAILED])}{more}." if sentences else ""


def _is_worth_telling(command: VerifiedCommand, found: Verification) -> bool:
    return command in found.regressions or bool(command.against_base and command.against_base.is_flaky)


def _in_short(command: VerifiedCommand) -> str:
    compared = command.against_base or BaseComparison(is_broken=True)
    if compared.is_flaky:
        return f"{code_span(str(command))} is flaky{_after_colon(compared.flaky)}"
    if not compared.broken.count:
        return f"{code_span(str(command))} is broken by this change"
    broken = compared.broken
    tests = f"{broken.count} test{'s' if broken.count != 1 else ''}"
    return f"{code_span(str(command))} has {tests} broken by this change{_after_colon(broken)}"


def _after_colon(tests: NamedTests) -> str:
    return f": {list_tests(tests, 3)}" if tests.names else ""


def next_fix(found: Verification) -> str:
    """Reason of a run whose agent is to fix regressions."""
    names = ", ".join(_regression(one) for one in found.regressions[:_LISTED])
    return f"regressions: {names}; the agent fixes them next"


def _regression(command: VerifiedCommand) -> str:
    broken = command.against_base.broken if command.against_base else NamedTests()
    tests = f" ({broken.count} broken by this change{_after_colon(broken)})" if broken.count else ""
    return f"{code_span(str(command))}{tests}"


def list_tests(tests: NamedTests, most: int = _LISTED) -> str:
    shown = tests.names[:most]
    more = tests.count - len(shown)
    return f"{', '.join(code_span(name[:_LONGEST_NAME]) for name in shown)}{f' and {more} more' if more else ''}"


def _command(command: VerifiedCommand, found: Verification, *, detailed: bool) -> Iterator[str]:
    compared, vanished = command.against_base, found.vanished(command)
    lost = f"; **fewer tests than on the base**: {vanished.count} did not run" if vanished.count else ""
    match command.result:
        case CheckResult.GREEN:
            failed = command.counts is not None and command.counts.failed
            yield f"- {'⚠️' if lost or failed else '✅'} {_result(command)}{lost}"
        case CheckResult.UNCOUNTED:
            yield f"- {'⚠️' if lost or command.counts else '⚪'} {_result(command)}{lost}"
        case CheckResult.RED:
            yield f"- ❌ {_result(command)}{lost}; {_as_before(command, found)}"
        case CheckResult.UNKNOWN:
            yield f"- ❔ {code_span(str(command))}: {neutralize_line(command.problem) or 'unknown'}"
    if compared and detailed:
        yield from _lists(compared)


def _lists(compared: BaseComparison) -> Iterator[str]:
    kinds = (
        ("**broken by this change**", compared.broken, _LISTED),
        ("flaky, failed once and passed once on the same commit", compared.flaky, _OTHERS_LISTED),
        ("failed on the base as well", compared.still_failing, _OTHERS_LISTED),
        ("fixed by this change", compared.fixed, _OTHERS_LISTED),
        ("**no longer run**", compared.vanished, _OTHERS_LISTED),
        ("new", compared.added, _OTHERS_LISTED),
    )
    for words, tests, most in kinds:
        if tests.names:
            yield f"  - {words} ({tests.count}): {list_tests(tests, most)}"


def _result(command: VerifiedCommand) -> str:
    ended = "timed out" if command.timed_out else f"exit code {command.exit_code}"
    parts = (ended, _counted(command.counts, command.exit_code), f"{command.seconds:g} s")
    return f"{code_span(str(command))}: {', '.join(part for part in parts if part)}"


def _counted(counts: CountedTests | None, exit_code: int | None) -> str:
    if counts is None:
        return "no test count could be read" if exit_code == 0 else ""
    if counts.none_ran:
        return f"**0 tests ran**{f' ({counts.skipped} skipped)' if counts.skipped else ''}"
    results = ((counts.failed, "failed"), (counts.passed, "passed"), (counts.skipped, "skipped"))
    return ", ".join(f"{number} {word}" for number, word in results if number)


def _as_before(command: VerifiedCommand, found: Verification) -> str:
    """Compares a failed command with its result on the base."""
    compared, before = command.against_base, found.find_on_base(command)
    on_base = f"{before_in_words(before)} on the base `{found.base[:10]}`"
    if command in found.regressions:
        twice = " (run twice)" if compared and compared.was_repeated else ""
        return f"**a regression**{twice}: {on_base}"
    if before is None or before.result is CheckResult.UNKNOWN:
        return f"result on the base `{found.base[:10]}` unknown"
    if compared and compared.is_flaky:
        return f"**flaky**: it failed differently, or not at all, when it was run again; {on_base}"
    by = "; compared by exit code only" if compared is None or compared.by is ComparedBy.EXIT_CODES else ""
    return f"{on_base} as well{by}" if not compared or before.result is CheckResult.RED else on_base


def before_in_words(before: VerifiedCommand | None) -> str:
    """`1 of 51 failed`; without numbers `failed` or `passed`."""
    if before is None:
        return "not run"
    if before.result is not CheckResult.RED:
        return "passed"
    if before.timed_out:
        return "timed out"
    counts = before.counts
    return f"{counts.failed} of {counts.ran} failed" if counts and counts.ran else "failed"
