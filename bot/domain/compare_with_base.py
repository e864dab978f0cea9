"""Compares a command's results on a commit with those on its base, test by test where the runner tells. Pure.

Rule: blame needs proof. A test that failed once and passed once on the same commit is flaky, and nobody is blamed.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from bot.domain.runner_report import CountedTests, RunnerReport
from bot.domain.verification import BaseComparison, CheckResult, ComparedBy, NamedTests, VerifiedCommand

_NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class MeasuredCommand:
    """A command that was run once, and what its test runner reported."""

    command: VerifiedCommand
    report: RunnerReport | None = None

    @property
    def is_red(self) -> bool:
        return self.command.result is CheckResult.RED

    @property
    def counts(self) -> CountedTests | None:
        return self.report.counts if self.report else None

    @property
    def failed(self) -> frozenset[str]:
        return self.report.failed if self.report else _NOBODY

    @property
    def names_failures(self) -> bool:
        return self.report is not None and self.report.names_failures


@dataclass(frozen=True, slots=True)
class _Blame:
    is_broken: bool = False
    names: frozenset[str] = _NOBODY
    """Tests that fail because of the change, as far as they are known by name."""


def compare_with_base(
    now: MeasuredCommand,
    base: MeasuredCommand,
    again: MeasuredCommand | None = None,
    base_again: MeasuredCommand | None = None,
) -> BaseComparison:
    """`again`, `base_again`: the same once more, to find flaky tests."""
    first = _blame(now, base)
    blame, flaky = _try_again(first, now, base, again)
    blame, flaky_on_base = _try_base_again(blame, base_again)
    flaky |= flaky_on_base
    listed_failing = now.failed & base.failed if _basis(now, base) is ComparedBy.NAMES else _NOBODY
    vanished, added = _vanished(now, base), _added(now, base)
    return BaseComparison(
        by=_basis(now, base),
        is_broken=blame.is_broken,
        is_flaky=first.is_broken and not blame.is_broken,
        broken=name_tests(blame.names if blame.is_broken else ()),
        flaky=name_tests(flaky),
        still_failing=name_tests(listed_failing - flaky),
        fixed=name_tests(_fixed(now, base)),
        vanished=vanished,
        added=added,
        was_repeated=again is not None,
    )


def name_tests(names: Iterable[str]) -> NamedTests:
    return NamedTests.of(sorted(names))


def _basis(now: MeasuredCommand, base: MeasuredCommand) -> ComparedBy:
    if now.names_failures and (base.names_failures or not base.is_red):
        return ComparedBy.NAMES
    return ComparedBy.COUNTS if now.counts and base.counts else ComparedBy.EXIT_CODES


def _blame(now: MeasuredCommand, base: MeasuredCommand) -> _Blame:
    """Judges one run of each."""
    if not now.is_red or base.command.result is CheckResult.UNKNOWN:
        return _Blame()
    new = now.failed - base.failed if now.names_failures else _NOBODY
    if not base.is_red:
        return _Blame(is_broken=True, names=new)
    if base.command.timed_out:
        return _Blame()
    if now.command.timed_out or _stopped_running(now, base):
        return _Blame(is_broken=True, names=new)
    match _basis(now, base):
        case ComparedBy.NAMES:
            return _Blame(is_broken=bool(new), names=new)
        case ComparedBy.COUNTS:
            assert now.counts
            assert base.counts
            return _Blame(is_broken=now.counts.failed > base.counts.failed)
        case ComparedBy.EXIT_CODES:
            return _Blame()


def _stopped_running(now: MeasuredCommand, base: MeasuredCommand) -> bool:
    """Tests ran on the base, and none runs any more: the code does not compile, or the runner crashes."""
    if not base.counts or base.counts.none_ran:
        return False
    return now.report is None or bool(now.counts and now.counts.none_ran)


def _try_again(
    first: _Blame, now: MeasuredCommand, base: MeasuredCommand, again: MeasuredCommand | None
) -> tuple[_Blame, frozenset[str]]:
    """Returns what is left of the blame after a second run of the commit, and the tests that are flaky."""
    if again is None or not first.is_broken or again.command.result is CheckResult.UNKNOWN:
        return first, _NOBODY
    second = _blame(again, base)
    if not second.is_broken:
        return second, first.names
    if not (now.names_failures and again.names_failures):
        return first, _NOBODY
    both = first.names & second.names
    # commands that break without a failed test, such as by a crash, have no names in both
    is_broken = bool(both) or not (first.names or second.names)
    return _Blame(is_broken, both), first.names ^ second.names


def _try_base_again(blame: _Blame, base_again: MeasuredCommand | None) -> tuple[_Blame, frozenset[str]]:
    """A second run of the base: what fails there as well is flaky, too."""
    if base_again is None or not blame.is_broken or not base_again.is_red:
        return blame, _NOBODY
    if not (blame.names and base_again.names_failures):
        return blame, _NOBODY
    left = blame.names - base_again.failed
    return _Blame(bool(left), left), blame.names & base_again.failed


def _fixed(now: MeasuredCommand, base: MeasuredCommand) -> frozenset[str]:
    """Only tests that are known to run still: one that was deleted is not fixed."""
    if not (now.report and now.names_failures and base.names_failures):
        return _NOBODY
    gone = base.failed - now.failed
    if now.report.names_all:
        return gone & now.report.ran
    all_run = now.counts and base.counts and now.counts.ran >= base.counts.ran
    return gone if all_run else _NOBODY


def _vanished(now: MeasuredCommand, base: MeasuredCommand) -> NamedTests:
    if now.report and base.report and now.report.names_all and base.report.names_all:
        return name_tests(base.report.ran - now.report.ran)
    if not base.counts or now.command.timed_out or now.command.result is CheckResult.UNKNOWN:
        return NamedTests()
    if now.report is None:
        return NamedTests(base.counts.ran)
    return NamedTests(max(base.counts.ran - now.counts.ran, 0)) if now.counts else NamedTests()


def _added(now: MeasuredCommand, base: MeasuredCommand) -> NamedTests:
    if now.report and base.report and now.report.names_all and base.report.names_all:
        return name_tests(now.report.tests.keys() - base.report.tests.keys())
    return NamedTests()
