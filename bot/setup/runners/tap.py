"""TAP, the Test Anything Protocol: reads what `node --test`, `prove` and others print. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bot.domain.runner_report import CountedTests, ReportedOutcome, RunnerReport, build_report
from bot.setup.runners.lines import OutputLines, indent_of, numbers_by_word, to_number

_DEEPEST = 40


@dataclass(slots=True)
class TapTest:
    path: tuple[str, ...]
    """Its own name last."""
    outcome: ReportedOutcome
    is_suite: bool = False
    depth: int = 0

    @property
    def name(self) -> str:
        return " > ".join(self.path)


def parse_tap(lines: Sequence[str]) -> Iterator[TapTest]:
    """Yields every result, those of subtests before that of their parent."""
    stack: list[str] = []
    last: TapTest | None = None
    for line in lines:
        content = line.lstrip(" ")
        if content == "type: 'suite'" and last:
            last.is_suite = True
        depth = min(indent_of(line) // 4, _DEEPEST)
        if content.startswith("# Subtest: "):
            stack[depth:] = [*[""] * (depth - len(stack)), _plain(content.removeprefix("# Subtest: "))]
        elif result := _result_of(content):
            if last:
                yield last
            last = TapTest((*filter(None, stack[:depth]), result[0]), result[1], depth=depth)
    if last:
        yield last


def _result_of(content: str) -> tuple[str, ReportedOutcome] | None:
    """`not ok 2 - name # SKIP reason`."""
    failed, rest = content.startswith("not ok"), content.removeprefix("not ").removeprefix("ok")
    if not content.startswith(("ok", "not ok")) or (rest and not rest.startswith(" ")):
        return None
    number, _, name = rest.strip().partition(" ")
    if to_number(number) is None:
        number, name = "", rest.strip()
    name, directive = _split_directive(name.removeprefix("- "))
    if directive.startswith("skip"):
        return name or number, ReportedOutcome.SKIPPED
    is_failure = failed and not directive.startswith("todo")
    return name or number, ReportedOutcome.FAILED if is_failure else ReportedOutcome.PASSED


def _split_directive(text: str) -> tuple[str, str]:
    """A number sign of the name itself is escaped."""
    place = text.rfind("# ")
    directive = text[place + 2 :].lower() if place >= 0 and text[place - 1 : place] != "\\" else ""
    if not directive.startswith(("skip", "todo")):
        return _plain(text), ""
    return _plain(text[:place].strip()), directive


def _plain(text: str) -> str:
    return text.replace("\\#", "#").replace("\\\\", "\\")


def read_tap(output: OutputLines) -> RunnerReport | None:
    """Reads `prove`, with `-v` or without, and programs that print TAP themselves."""
    total = next((one for line in reversed(output.lines) if (one := _files_and_tests(line)) is not None), None)
    if total is not None:
        return _read_prove(output, total)
    if output.is_cut or not any(map(_is_plan, output.lines)):
        return None
    tests = [(one.name, one.outcome) for one in parse_tap(output.lines) if not (one.is_suite or one.depth)]
    outcomes = [outcome for _, outcome in tests]
    return build_report(tests, CountedTests(*(outcomes.count(one) for one in ReportedOutcome)))


def _is_plan(line: str) -> bool:
    return line.startswith("1..") and to_number(line.removeprefix("1..").partition(" ")[0]) is not None


def _files_and_tests(line: str) -> int | None:
    """`Files=3, Tests=6,  1 wallclock secs`."""
    if not line.startswith("Files="):
        return None
    return to_number(line.partition(", Tests=")[2].partition(",")[0])


def _read_prove(output: OutputLines, total: int) -> RunnerReport:
    failed = list(_failed_files(output.lines))
    count = sum(max(number, 1) for _, number in failed)
    spoken = list(_spoken_tests(output.lines))
    named = spoken or [(name, ReportedOutcome.FAILED) for name in _told_failures(output.lines)]
    broken_files = [(file, ReportedOutcome.FAILED) for file, number in failed if not number]
    skipped = sum(outcome is ReportedOutcome.SKIPPED for _, outcome in spoken)
    broken = len(broken_files)
    counts = CountedTests(max(total - (count - broken) - skipped, 0), count, skipped)
    return build_report([*named, *broken_files], counts)


def _failed_files(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """`t/a.t (Wstat: 256 (exited 1) Tests: 3 Failed: 1)`: no failed test means that the file itself is broken."""
    for line in lines:
        file, found, rest = line.partition(" (Wstat: ")
        if found:
            yield file.rstrip(), numbers_by_word(_turned(rest.rstrip(")"))).get("Failed:", 0)


def _turned(text: str) -> str:
    """`256 Tests: 3 Failed: 1` as pairs of a number and its word."""
    words = text.split()
    return ", ".join(f"{number} {word}" for word, number in pairwise(words))


def _spoken_tests(lines: Sequence[str]) -> Iterator[tuple[str, ReportedOutcome]]:
    """With `-v`: a line of dots names the file, its results follow."""
    file = ""
    for line in lines:
        if line.endswith(" ..") and " " not in line.removesuffix(" ..").rstrip(" ."):
            file = line.rstrip(" .")
        elif file and (result := _result_of(line)):
            yield f"{file}: {result[0]}", result[1]


def _told_failures(lines: Sequence[str]) -> Iterator[str]:
    """`#   Failed test 'adds'`, then `#   at t/a.t line 3.`; a test without a name is named by its line."""
    for line, after in zip(lines, (*lines[1:], ""), strict=False):
        if not line.startswith("#   Failed test"):
            continue
        rest = line.removeprefix("#   Failed test").strip()
        where = rest.removeprefix("at ") if rest.startswith("at ") else after.removeprefix("#   at ")
        file, _, number = where.rstrip(".").partition(" line ")
        yield f"{file}: line {number}" if rest.startswith("at ") else f"{file}: {rest.strip(chr(39))}"
