"""How many tests ran, where a known runner says so in what it prints. Pure.

Rule: what cannot be read for sure is not told. It is a program's own word, unlike its exit code.
"""

import re

from bot.domain.verification import Counts

_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PYTEST = re.compile(r"^=* ?((?:\d+ \w+(?:, )?)+|no tests ran) in [\d.]+s\b.*$", re.MULTILINE)
_UNITTEST = re.compile(r"^Ran (\d+) tests? in [\d.]+s\s+(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?", re.MULTILINE)
_JEST = re.compile(r"^\s*Tests:?\s+(\d+ \w.*?)(?:, \d+ total|\s+\(\d+\))\s*$", re.MULTILINE)
_NO_JEST = re.compile(r"^No tests? (?:files )?found", re.MULTILINE)
_MOCHA = re.compile(r"^\s+(\d+) (passing|failing|pending)\b", re.MULTILINE)
_NODE = re.compile(r"^(?:#|ℹ) (tests|pass|fail|skipped) (\d+)$", re.MULTILINE)
_CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)
_GO = re.compile(r"^(?:ok|FAIL|\?|---)\s+\S.*$", re.MULTILINE)
_GO_TEST = re.compile(r"^\s*--- (PASS|FAIL|SKIP):", re.MULTILINE)
_GO_NOTHING = re.compile(r"\[no test(?: file)?s(?: to run)?\]")
_WORDS = {
    "passed": ("passed", "passing", "pass", "xfailed", "xpassed"),
    "failed": ("failed", "failing", "fail", "error", "errors", "failures"),
    "skipped": ("skipped", "pending", "todo", "ignored"),
}
_PAIR = re.compile(r"(\d+) (\w+)")


def counts_in(printed: str, *, is_cut: bool = False) -> Counts | None:
    """`is_cut`: only its end is there, so that sums of several lines cannot be made."""
    text = _ESCAPES.sub("", printed)
    last = _of_pytest(text) or _of_unittest(text) or _of_jest(text) or _of_node(text) or _of_mocha(text)
    if last or is_cut:
        return last
    return _of_cargo(text) or _of_go(text)


def _of_pytest(text: str) -> Counts | None:
    found = _last(_PYTEST, text)
    return _sum(_PAIR.findall(found[1])) if found else None


def _of_unittest(text: str) -> Counts | None:
    found = _last(_UNITTEST, text)
    if not found:
        return None
    told = {name.strip(): int(number) for name, number in re.findall(r"([a-z ]+)=(\d+)", found[2] or "")}
    failed, skipped = told.get("failures", 0) + told.get("errors", 0), told.get("skipped", 0)
    return Counts(max(int(found[1]) - failed - skipped, 0), failed, skipped)


def _of_jest(text: str) -> Counts | None:
    """And of Vitest, whose line is much the same."""
    if found := _last(_JEST, text):
        return _sum(_PAIR.findall(found[1]))
    return Counts() if _NO_JEST.search(text) else None


def _of_node(text: str) -> Counts | None:
    found = dict(_NODE.findall(text))
    if not {"tests", "pass", "fail"} <= found.keys():
        return None
    return Counts(int(found["pass"]), int(found["fail"]), int(found.get("skipped", 0)))


def _of_mocha(text: str) -> Counts | None:
    found = _MOCHA.findall(text)
    return _sum(found) if any(word == "passing" for _, word in found) else None


def _of_cargo(text: str) -> Counts | None:
    found = _CARGO.findall(text)
    return Counts(*(sum(map(int, column)) for column in zip(*found, strict=True))) if found else None


def _of_go(text: str) -> Counts | None:
    """Without `-v` it names packages only: that none of them has a test is all that can be told."""
    if found := _GO_TEST.findall(text):
        return Counts(found.count("PASS"), found.count("FAIL"), found.count("SKIP"))
    lines = _GO.findall(text)
    return Counts() if lines and all(_GO_NOTHING.search(line) for line in lines) else None


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(iter(reversed(list(pattern.finditer(text)))), None)


def _sum(pairs: list[tuple[str, str]]) -> Counts:
    return Counts(
        **{name: sum(int(number) for number, word in pairs if word in words) for name, words in _WORDS.items()}
    )
