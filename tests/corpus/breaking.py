"""Breaks tests of a repository on purpose: a statement that fails becomes the first one of a test. Pure.

Only tests that can be told by one line are broken, in a few files that lie apart, so that at least one of them runs.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_MOST_FILES = 4
"""Three times as many programs: some of them are examples, or belong to an option that is off."""
_PYTHON_TEST = re.compile(
    r"^(?P<indent>[ \t]*)(?:async )?def (?P<name>test\w*)\([^)\n]*\)(?: *->[^:\n]*)?:\n", re.MULTILINE
)
_NODE_TEST = re.compile(
    r"""^[ \t]*(?:it|test)\((?P<quote>['"])(?P<name>[^'"\n]{3,80})(?P=quote),[ ](?:async[ ])?"""
    r"""(?:\([\w, ]*\)[ ]*=>|\w+[ ]=>|function[ ]*\w*[ ]?\([\w, ]*\))[ ]*\{\n""",
    re.MULTILINE,
)
_MAIN = re.compile(r"^int\s+main\s*\([^)]*\)\s*\{[ \t]*\n", re.MULTILINE)
_PARTS = frozenset(("test", "tests", "__tests__", "spec", "t"))


@dataclass(frozen=True, slots=True)
class BrokenTest:
    path: str
    name: str
    content: str
    """The whole file, with the test broken."""


def break_tests(names: Sequence[str], read: Callable[[str], str]) -> Sequence[BrokenTest]:
    """`read` returns the text of a tracked file."""
    for looks_right, break_one in _KINDS:
        chosen = [name for name in sorted(names) if looks_right(name)]
        found: list[BrokenTest] = []
        for place in _apart(len(chosen)):
            if broken := break_one(chosen[place], read(chosen[place])):
                found.append(broken)
            if len(found) == _MOST_FILES * (3 if break_one is _break_program else 1):
                break
        if found:
            return found
    return ()


def contents_of(broken: Sequence[BrokenTest]) -> Mapping[str, str]:
    return {one.path: one.content for one in broken}


def _apart(count: int) -> Sequence[int]:
    """All places, the middle first, then ones between."""
    order, step = list[int](), count
    while step >= 1 and len(order) < count:
        order += [place for place in range(step // 2, count, step) if place not in order]
        step //= 2
    return [*order, *(place for place in range(count) if place not in order)]


def _is_test_folder(name: str) -> bool:
    return not _PARTS.isdisjoint(name.split("/")[:-1])


def _is_python_test(name: str) -> bool:
    file = name.rpartition("/")[2]
    return file.endswith(".py") and (file.startswith("test") or file.endswith("_test.py"))


def _is_node_test(name: str) -> bool:
    is_code = name.endswith((".js", ".ts", ".mjs", ".cjs", ".tsx", ".jsx")) and not name.endswith(".d.ts")
    return is_code and (_is_test_folder(name) or ".test." in name or ".spec." in name)


def _is_program(name: str) -> bool:
    return name.endswith((".c", ".cc", ".cpp")) and "test" in name.lower() and "fixture" not in name


def _break_python(path: str, text: str) -> BrokenTest | None:
    for found in _PYTHON_TEST.finditer(text):
        before = text[: found.start()].rstrip("\n").rpartition("\n")[2].strip()
        if before.startswith("@") or "yield" in text[found.end() : found.end() + 200]:
            continue
        statement = f'{found["indent"]}    raise AssertionError("broken on purpose")\n'
        if found["indent"].endswith("\t"):
            statement = f'{found["indent"]}\traise AssertionError("broken on purpose")\n'
        return BrokenTest(path, found["name"], f"{text[: found.end()]}{statement}{text[found.end() :]}")
    return None


def _break_node(path: str, text: str) -> BrokenTest | None:
    found = _NODE_TEST.search(text)
    if not found:
        return None
    statement = "if (true) throw new Error('broken on purpose')\n"
    return BrokenTest(path, found["name"], f"{text[: found.end()]}{statement}{text[found.end() :]}")


def _break_program(path: str, text: str) -> BrokenTest | None:
    found = _MAIN.search(text)
    if not found:
        return None
    name = path.rpartition("/")[2].partition(".")[0]
    return BrokenTest(path, name, f"{text[: found.end()]}    return 1;\n{text[found.end() :]}")


_KINDS = ((_is_python_test, _break_python), (_is_node_test, _break_node), (_is_program, _break_program))
