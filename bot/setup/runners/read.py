"""Reads the output of a verification command: what its test runners reported. Pure.

Rule: an output that is ambiguous gives no report. What the command prints is its own word, unlike its exit code.
"""

from collections.abc import Iterator
from dataclasses import replace

from bot.domain.runner_report import RunnerReport, join_reports
from bot.setup.runners.ava import read_ava
from bot.setup.runners.bun import read_bun
from bot.setup.runners.cargo import read_cargo
from bot.setup.runners.ctest import read_automake, read_ctest, read_meson
from bot.setup.runners.go import read_go
from bot.setup.runners.java import read_surefire
from bot.setup.runners.jest import read_jest, read_vitest
from bot.setup.runners.lines import OutputLines
from bot.setup.runners.minitest import read_minitest, read_test_unit
from bot.setup.runners.mocha import read_mocha
from bot.setup.runners.node import read_node
from bot.setup.runners.php import read_phpunit
from bot.setup.runners.pytest import read_junit_xml, read_pytest
from bot.setup.runners.ruby import read_rspec
from bot.setup.runners.tap import read_tap
from bot.setup.runners.unittest import read_unittest

_READERS = (
    read_unittest,
    read_jest,
    read_vitest,
    read_mocha,
    read_ava,
    read_bun,
    read_cargo,
    read_go,
    read_phpunit,
    read_rspec,
    read_minitest,
    read_test_unit,
    read_surefire,
    read_ctest,
    read_meson,
    read_automake,
)
"""Each knows the summary of its runner, which no other prints."""


def read_report(output: str, *, is_cut: bool = False, junit_xml: bytes = b"") -> RunnerReport | None:
    """`is_cut`: the middle of the output is missing. `junit_xml`: the report file that pytest was asked for."""
    lines = OutputLines.of(output, is_cut=is_cut)
    found = list(_reports_in(lines, read_junit_xml(junit_xml) if junit_xml else None))
    return join_reports(found or list(_reports_by_prefix(lines)))


def _reports_in(lines: OutputLines, of_pytest: RunnerReport | None = None) -> Iterator[RunnerReport]:
    pytest, node = read_pytest(lines, of_pytest), read_node(lines)
    tap = None if node else read_tap(lines)
    found = (pytest, node, tap, *(read(lines) for read in _READERS))
    return (one for one in found if one is not None)


def _reports_by_prefix(lines: OutputLines) -> Iterator[RunnerReport]:
    for prefix, part in lines.by_prefix().items():
        for report in _reports_in(part):
            place = prefix.removeprefix(". ")  # pnpm's name of the top
            yield replace(report, tests={f"{place} {name}": outcome for name, outcome in report.tests.items()})
