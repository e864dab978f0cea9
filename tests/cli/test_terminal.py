"""Commands with and without a real terminal."""

import json
import os
import signal
from dataclasses import replace
from io import StringIO
from itertools import pairwise

import pytest
from rich.console import Console

from bot.cli import output
from bot.domain.run import Phase
from bot.domain.turn import Event, EventKind
from bot.system.clock import now
from bot.system.locks import daemon_lock
from tests.cli.conftest import CONTROL_CHARACTERS, plain

LOOKS = [("status",), ("show", "2"), ("logs", "2"), ("why", "2"), ("cost",), ("cost", "--by", "person")]


def in_terminal(folder, *words: str, **more) -> str:
    with folder.terminal(*words, **more) as terminal:
        assert terminal.ends() == 0
        return terminal.written


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_without_a_terminal_lines_are_plain_and_independent_of_the_window(busy, words):
    piped = busy.does(*words)
    assert "\x1b" not in piped
    assert busy.does(*words, COLUMNS="30", TERM="xterm-256color", FORCE_COLOR="1").split() == piped.split()


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
@pytest.mark.parametrize("words", [("show", "2"), ("logs", "2"), ("cost",)], ids=" ".join)
def test_a_terminal_without_colours_gets_plain_lines(busy, words, env):
    assert in_terminal(busy, *words, columns=30, **env).replace("\r\n", "\n") == busy.does(*words)


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_t18_a_terminal_gets_colours_and_no_control_characters(busy, words):
    run = busy.has(Phase.WORKING, "Other", reason=f"slow{CONTROL_CHARACTERS}", person=f"eve{CONTROL_CHARACTERS}")
    busy.tells(run, Event(EventKind.TOOL, now(), text=f"says{CONTROL_CHARACTERS}"))
    with daemon_lock(busy.settings.state_dir):  # without a daemon, nothing is said of the agent
        shown = in_terminal(busy, *(run.key if word == "2" else word for word in words), columns=120)
    assert "\x1b[" in shown or words[0] == "why"
    assert [one for one in ("\x1b[2J", "\x1b]", "\x07", "\x9b", "\u202e") if one in shown] == []
    assert all(letter.isprintable() or letter == "\n" for letter in plain(shown))


def test_t18_text_in_colour_has_no_control_characters(monkeypatch):
    written = StringIO()
    console = Console(file=written, force_terminal=True, color_system="standard")
    monkeypatch.setattr(output, "colour_console", lambda: console)
    output.print_text(f"says{CONTROL_CHARACTERS}", style="red")
    assert "\x1b[31m" in written.getvalue()
    assert [one for one in ("\x1b[2J", "\x1b]", "\x07", "\x9b", "\u202e") if one in written.getvalue()] == []


def test_json_is_one_object_or_one_per_line(busy):
    assert json.loads(busy.does("status", "--json"))["runs"][0]["title"] == "Which currency?"
    assert json.loads(busy.does("show", "2", "--json"))["todos"] == {"done": 1, "total": 2}
    assert json.loads(busy.does("why", "2", "--json")) == {
        "key": "shop#2",
        "phase": "working",
        "why": (
            "No daemon is running, so no agent is working on it. `treehand run` starts one, which continues from here. "
            "Its agent's last action: runs the tests."
        ),
    }
    assert [json.loads(line)["kind"] for line in busy.does("logs", "2", "--json").splitlines()] == ["todos", "tool"]
    assert json.loads(busy.does("cost", "--by", "person", "--json")) == [{"person": "ana", "usd": 1.5, "tokens": 1000}]


def test_a_terminal_gets_json_without_colours(busy):
    assert json.loads(in_terminal(busy, "status", "--json", columns=20))["counts"]["working"] == 1


def test_cost_adds_up_in_exact_lines(busy):
    assert busy.does("cost", "--by", "person") == (
        "ana                  $     1.50        1,000 tokens\n"
        "all                  $     1.50        1,000 tokens\n"
    )  # fmt: skip


def test_show_prints_a_run_in_lines(busy):
    lines = busy.does("show", "3").splitlines()
    assert lines[:8] == [
        "shop#3  Wörter übersetzen",
        "",
        "project:      shop",
        "requested by: ana",
        "phase:        review",
        "branch:       treehand/shop-3",
        "changed:      2 files +30 -4",
        "agent:        claude",
    ]
    assert lines[-2] == "Journal"
    assert lines[-1].endswith("  ana asked for it")


def test_watching_shows_changes_and_ctrl_c_restores_the_terminal(busy):
    with busy.terminal("status", "--watch", columns=120) as terminal:
        terminal.until(lambda screen: "Spent today" in screen)
        busy.has(Phase.WORKING, "Brand new")
        assert "Working (2)" in terminal.until(lambda screen: "Brand new" in screen)
        terminal.types("\x03")
        assert terminal.ends() == 130
        assert "Traceback" not in terminal.written
        assert terminal.written.endswith("\x1b[?25h\x1b[?1049l")  # the cursor, and the screen from before


def test_watching_ends_on_sigterm_and_restores_the_terminal(busy):
    with busy.terminal("status", "--watch") as terminal:
        terminal.until(lambda screen: "Spent today" in screen)
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.ends() == 0
        assert terminal.written.endswith("\x1b[?25h\x1b[?1049l")


def test_watching_adapts_to_a_resized_window(busy):
    for number in range(30):
        busy.has(Phase.QUEUED, f"Number {number}")
    with busy.terminal("status", "--watch", columns=100, lines=20) as terminal:
        assert "  and 23 more" in terminal.until(lambda screen: fills(screen, 100, 20))
        terminal.becomes(60, 40)
        assert "  and 3 more" in terminal.until(lambda screen: fills(screen, 60, 40))
        terminal.becomes(24, 5)
        terminal.until(lambda screen: fills(screen, 24, 5))


def fills(screen: str, columns: int, lines: int) -> bool:
    return [len(line) for line in screen.split("\n")] == [columns] * lines


def test_watching_without_a_terminal_prints_only_changes(busy):
    with busy.terminal("status", "--watch", "--json", columns=40) as terminal:
        terminal.until(lambda _: "\n" in terminal.written)
        run = busy.has(Phase.WORKING, "Brand new")
        terminal.until(lambda _: "Brand new" in terminal.written)
        busy.save(replace(run, reason="trying again"))
        terminal.until(lambda _: "trying again" in terminal.written)
        terminal.types("\x03")
        assert terminal.ends() == 130
    states = [json.loads(line) for line in terminal.written.replace("^C", "").splitlines() if line.strip()]
    told = [{name: value for name, value in state.items() if name != "generated_at"} for state in states]
    assert all(before != after for before, after in pairwise(told))


def test_logs_follow_a_run_through_a_new_file_until_it_is_done(busy):
    run = busy.has(Phase.WORKING, "Long", turns_number=1)
    busy.tells(run, Event(EventKind.TEXT, now(), text="first"))
    with busy.terminal("logs", run.key, "-f") as terminal:
        terminal.until(lambda _: "first" in terminal.written)
        busy.tells(run, Event(EventKind.TEXT, now(), text="second"))
        terminal.until(lambda _: "second" in terminal.written)
        (transcript,) = (busy.path / "state" / "transcripts").glob("*6%2F1.jsonl")
        transcript.rename(transcript.with_name("rotated.jsonl"))
        busy.tells(run, Event(EventKind.TEXT, now(), text="third"))
        terminal.until(lambda _: "third" in terminal.written)
        busy.save(replace(run, phase=Phase.DONE))
        busy.tells(run, Event(EventKind.TEXT, now(), text="last words"))
        assert terminal.ends() == 0
        said = [line[line.find("  ") + 2 :] for line in plain(terminal.written).splitlines()]
        assert said == ["first", "second", "third", "last words"]


def test_ctrl_c_ends_logs_without_a_traceback(busy):
    with busy.terminal("logs", "2", "-f") as terminal:
        terminal.until(lambda _: "runs the tests" in terminal.written)
        terminal.types("\x03")
        assert terminal.ends() == 130
        assert "Traceback" not in terminal.written


def test_the_number_of_log_lines_can_be_limited(busy):
    run = busy.has(Phase.REVIEW, "Long", turns_number=1)
    busy.tells(run, *(Event(EventKind.TEXT, now() - age, text=f"{age} ago") for age in (7200, 600, 0)))
    said = lambda *words: [line[10:] for line in busy.does("logs", run.key, *words).splitlines()]  # noqa: E731
    assert said() == ["7200 ago", "600 ago", "0 ago"]
    assert said("-n", "1") == ["0 ago"]
    assert said("-n", "0") == []
    assert said("--since", "1h") == ["600 ago", "0 ago"]
    assert said("--since", "1h", "-n", "5") == ["600 ago", "0 ago"]


@pytest.mark.parametrize("words", [("--since", "soon"), ("--since", "-1h"), ("-n", "-3"), ("-n", "x")], ids=str)
def test_an_invalid_time_span_or_count_is_refused(busy, words):
    with busy.terminal("logs", "2", *words) as terminal:
        assert terminal.ends() == 2


def test_issues_and_pull_requests_are_printed_as_json_objects(busy):
    busy.does("issue", "comment", "1", "Euro.", "--as", "bob")
    listed = json.loads(busy.does("issue", "list", "--json"))
    assert {one["key"]: one["title"] for one in listed}["shop#1"] == "Which currency?"
    shown = json.loads(busy.does("issue", "show", "1", "--json"))
    assert (shown["author"], shown["open"], shown["body"]) == ("ana", True, "")
    assert [(one["author"], one["text"]) for one in shown["comments"]] == [("bob", "Euro.")]
    assert json.loads(busy.does("pr", "list", "--json")) == []
