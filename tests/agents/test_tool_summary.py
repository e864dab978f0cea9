"""Summaries of tool calls are short, on one line, with paths relative to the worktree."""

from pathlib import Path

import pytest

from bot.agents.claude.tool_summary import read_todos, summarize, truncate
from bot.domain.turn import Todo

FOLDER = Path("/somewhere/worktree")


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("Bash", {"command": "pytest -q\n"}, "runs pytest -q"),
        ("Bash", {"command": f"cd {FOLDER} && ls {FOLDER}/src"}, "runs cd . && ls src"),
        ("Edit", {"file_path": f"{FOLDER}/src/app.py"}, "edits src/app.py"),
        ("Grep", {"pattern": "tax"}, "searches for tax"),
        ("mcp__treehand__ask", {"question": "?"}, "uses ask"),
        ("Bash", {}, "runs"),
    ],
)
def test_a_tool_call_is_summarized_in_few_words(tool, arguments, words):
    assert summarize(tool, arguments, FOLDER) == words


def test_a_long_command_is_one_short_line():
    words = summarize("Bash", {"command": "echo one\necho two\n" * 100}, FOLDER)

    assert len(words) == 120
    assert "\n" not in words


def test_a_malformed_to_do_list_is_read_as_far_as_possible():
    assert read_todos({"todos": [{"content": "a", "status": "completed"}, "nonsense", {}]}) == (
        Todo("a", done=True),
        Todo("", done=False),
    )
    assert read_todos({"todos": "nonsense"}) == ()
    assert read_todos({}) == ()


def test_long_output_is_cut_and_marked():
    assert truncate("short") == "short"
    assert truncate("x" * 3000).endswith("… and 1000 more characters")
