"""Diff view: shows exactly what git reports, line by line and character by character."""

import signal
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.text.invisible_characters import is_invisible
from bot.web.highlight import LARGEST, Highlighter
from bot.web.run.diff_rows import LONGEST_LINE, DiffLine, DiffRow, pieces_of, side_by_side, unified

LINES = st.lists(
    st.one_of(
        st.sampled_from(["", "a", "b", "-", "+", "@@ -1 +1 @@", "\\ No newline at end of file", "diff --git a/x b/x"]),
        st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]), max_size=8),
    ),
    max_size=12,
)
ENDS = st.sampled_from(["\n", ""])


def patch_of(tmp_path, old: str, new: str) -> bytes:
    (tmp_path / "old").write_bytes(old.encode())
    (tmp_path / "new").write_bytes(new.encode())
    done = subprocess.run(
        ["git", "diff", "--no-index", "--text", "--no-color", "-U100", "old", "new"], cwd=tmp_path, capture_output=True,
        check=False, timeout=60,
    )  # fmt: skip
    return done.stdout


def told(lines: list[DiffLine]) -> str:
    return "".join(line.text + ("\n" if line.has_line_end else "") for line in lines)


@settings(max_examples=60, deadline=None)
@given(LINES, LINES, ENDS, ENDS)
def test_both_views_show_every_line_of_both_files(tmp_path_factory, old, new, old_end, new_end):
    before, after = "\n".join(old) + old_end, "\n".join(new) + new_end
    if before == after:
        return
    patch = patch_of(tmp_path_factory.mktemp("diff"), before, after)

    lines = [row.left for row in unified(patch) if row.left]
    assert told([line for line in lines if line.sign in " -"]) == before
    assert told([line for line in lines if line.sign in " +"]) == after
    pairs = [row for row in side_by_side(patch) if row.heading is None]
    assert [row.left.text for row in pairs if row.left] == [line.text for line in lines if line.sign in " -"]
    assert [row.right.text for row in pairs if row.right] == [line.text for line in lines if line.sign in " +"]
    numbers = [line.new for line in lines if line.new is not None]
    assert numbers == list(range(1, len(numbers) + 1))


TEXTS = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=60)
RUNS = st.lists(st.tuples(st.integers(-1, 9), st.sampled_from(["", "k", "s"])), max_size=12)


@given(TEXTS, RUNS, st.integers(0, 60), st.integers(0, 60))
def test_the_pieces_of_a_line_add_up_to_the_line(text, runs, one, other):
    found = pieces_of(DiffLine("+", None, 1, text, marked=(min(one, other), max(one, other))), runs)
    rest = text
    for piece in found:
        if piece.named:
            assert piece.text == ("\\r" if rest[0] == "\r" else f"U+{ord(rest[0]):04X}")
            rest = rest[1:]
        else:
            assert rest.startswith(piece.text)
            assert not any(map(is_invisible, piece.text))
            rest = rest.removeprefix(piece.text)
    assert not rest


def test_bidirectional_control_characters_are_named():
    found = pieces_of(DiffLine("+", None, 1, "if admin\u202e:\r"))
    assert [(piece.text, piece.named) for piece in found] == [
        ("if admin", False), ("U+202E", True), (":", False), ("\\r", True)
    ]  # fmt: skip


def test_a_very_long_line_is_cut_and_the_rest_counted():
    found = pieces_of(DiffLine("+", None, 1, "x" * (LONGEST_LINE + 5)))
    assert [len(piece.text) for piece in found if not piece.named] == [LONGEST_LINE]
    assert found[-1].text == "… 5 more characters"


def marked(rows: list[DiffRow]) -> list[str]:
    lines = [row.left for row in rows if row.left]
    return ["".join(piece.text for piece in pieces_of(line) if piece.marked) for line in lines]


def test_differences_within_a_line_are_marked(tmp_path):
    patch = patch_of(tmp_path, "total = price\nsame\n", "total = price * count\nsame\n")
    assert marked(list(unified(patch))) == ["", " * count", ""]


def test_lines_that_have_little_in_common_are_not_marked(tmp_path):
    patch = patch_of(tmp_path, "abcdefghij\n", "axyzuvwrst\n")
    assert marked(list(unified(patch))) == ["", ""]


def test_a_long_diff_is_rendered_completely_and_row_by_row(tmp_path):
    patch = patch_of(tmp_path, "".join(f"{n}\n" for n in range(3000)), "".join(f"new {n}\n" for n in range(3000)))
    for view, most in ((unified, 6001), (side_by_side, 6001)):
        rows = list(view(patch))
        assert 3001 <= len(rows) <= most
        lines = {(line.sign, line.text) for row in rows for line in (row.left, row.right) if line}
        assert len(lines) == 6000
        assert next(iter(view(patch))).heading == ""


@pytest.fixture
async def highlighter():
    made = Highlighter()
    yield made
    await made.close()


async def test_highlighting_covers_every_character_of_a_line(highlighter):
    coloured = await highlighter.highlight("a/shop.py", "def total(x):\r\n    return 'é'\n", sha="1")
    assert [sum(size for size, _ in runs) for runs in coloured] == [14, 14, 0]
    assert (3, "k") in [tuple(run) for run in coloured[0]]


async def test_unknown_and_very_long_files_are_not_highlighted(highlighter):
    assert await highlighter.highlight("strange.zzz", "x", sha="1") == ()
    assert await highlighter.highlight("a.py", "x" * (LARGEST + 1), sha="2") == ()


async def test_a_killed_highlighter_process_is_replaced(highlighter):
    await highlighter.highlight("a.py", "x = 1\n", sha="1")
    highlighter._process.kill()
    await highlighter._process.wait()
    assert await highlighter.highlight("a.py", "x = 2\n", sha="2") == ()
    assert await highlighter.highlight("a.py", "x = 3\n", sha="3") != ()


async def test_a_hanging_highlighter_process_is_not_waited_for():
    highlighter = Highlighter(seconds=0.5)
    await highlighter._request("a.py", "x = 1\n")
    highlighter._process = highlighter._process or await highlighter._start()
    stuck = highlighter._process
    stuck.send_signal(signal.SIGSTOP)
    assert await highlighter.highlight("a.py", "x = 2\n", sha="2") == ()
    assert stuck.returncode is not None
    await highlighter.close()
