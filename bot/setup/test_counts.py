"""Test counts: reads how many tests passed, failed and were skipped from the output of known test runners. Pure.

Rule: an ambiguous output gives no counts. Counts are the program's own word, unlike its exit code. An agent's tests may
print anything: long lines are left out, and no pattern goes from one line to many others.
"""

import re

from bot.domain.verification import CountedTests

_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_LONGEST_LINE = 300
_PYTEST = re.compile(r"^=* ?(\d{1,9} \w+(?:, \d{1,9} \w+)*|no tests ran) in [\d.]+s\b.*$", re.MULTILINE)
_UNITTEST = re.compile(r"^Ran (\d{1,9}) tests? in [\d.]+s\s{1,8}(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?", re.MULTILINE)
_JEST = re.compile(r"^[ \t]*Tests:?[ \t]+(\d{1,9} \w.*?)(?:, \d+ total|[ \t]+\(\d+\))[ \t]*$", re.MULTILINE)
_NO_JEST = re.compile(r"^No tests? (?:files )?found", re.MULTILINE)
_MOCHA = re.compile(r"^[ \t]+(\d{1,9}) (passing|failing|pending)\b", re.MULTILINE)
_NODE = re.compile(r"^(?:#|ℹ) (tests|pass|fail|skipped) (\d{1,9})$", re.MULTILINE)
_CARGO = re.compile(r"^test result: \w+\. (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored", re.MULTILINE)
_GO = re.compile(r"^(?:ok|FAIL|\?|---)[ \t]+\S.*$", re.MULTILINE)
_GO_TEST = re.compile(r"^[ \t]*--- (PASS|FAIL|SKIP):", re.MULTILINE)
_GO_NOTHING = re.compile(r"\[no test(?: file)?s(?: to run)?\]")
_WORDS = {
    "passed": ("passed", "passing", "pass", "xfailed", "xpassed"),
    "failed": ("failed", "failing", "fail", "error", "errors", "failures"),
    "skipped": ("skipped", "pending", "todo", "ignored"),
}
_PAIR = re.compile(r"(\d{1,9}) (\w+)")


def parse_test_counts(output: str, *, is_cut: bool = False) -> CountedTests | None:
    """`is_cut`: only the end of the output is there, so counts of several lines cannot be added."""
    lines = _ESCAPES.sub("", output).split("\n")
    text = "\n".join(line for line in lines if len(line) <= _LONGEST_LINE)
    counts = (
        _parse_pytest(text) or _parse_unittest(text) or _parse_jest(text) or _parse_node(text) or _parse_mocha(text)
    )
    if counts or is_cut:
        return counts
    return _parse_cargo(text) or _parse_go(text)


def _parse_pytest(text: str) -> CountedTests | None:
    found = _last_match(_PYTEST, text)
    return _sum(_PAIR.findall(found[1])) if found else None


def _parse_unittest(text: str) -> CountedTests | None:
    found = _last_match(_UNITTEST, text)
    if not found:
        return None
    extra = {name.strip(): int(number) for name, number in re.findall(r"([a-z ]+)=(\d{1,9})", found[2] or "")}
    failed, skipped = extra.get("failures", 0) + extra.get("errors", 0), extra.get("skipped", 0)
    return CountedTests(max(int(found[1]) - failed - skipped, 0), failed, skipped)


def _parse_jest(text: str) -> CountedTests | None:
    """Reads Vitest too: its line is similar."""
    if found := _last_match(_JEST, text):
        return _sum(_PAIR.findall(found[1]))
    return CountedTests() if _NO_JEST.search(text) else None


def _parse_node(text: str) -> CountedTests | None:
    found = dict(_NODE.findall(text))
    if not {"tests", "pass", "fail"} <= found.keys():
        return None
    return CountedTests(int(found["pass"]), int(found["fail"]), int(found.get("skipped", 0)))


def _parse_mocha(text: str) -> CountedTests | None:
    found = _MOCHA.findall(text)
    return _sum(found) if any(word == "passing" for _, word in found) else None


def _parse_cargo(text: str) -> CountedTests | None:
    found = _CARGO.findall(text)
    return CountedTests(*(sum(map(int, column)) for column in zip(*found, strict=True))) if found else None


def _parse_go(text: str) -> CountedTests | None:
    """Without `-v` Go prints packages only; then it is known only if none of them has a test."""
    if found := _GO_TEST.findall(text):
        return CountedTests(found.count("PASS"), found.count("FAIL"), found.count("SKIP"))
    lines = _GO.findall(text)
    return CountedTests() if lines and all(_GO_NOTHING.search(line) for line in lines) else None


def _last_match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(iter(reversed(list(pattern.finditer(text)))), None)


def _sum(pairs: list[tuple[str, str]]) -> CountedTests:
    return CountedTests(
        **{name: sum(int(number) for number, word in pairs if word in words) for name, words in _WORDS.items()}
    )
