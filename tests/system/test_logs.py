"""Log lines: format, escaping of untrusted text, and a full disk."""

import asyncio
import io
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.domain.run import Phase, Run, RunTurns
from bot.domain.run_names import log_fields, turn_log_fields
from bot.domain.turn import TurnOrder
from bot.errors import Retryable
from bot.system import logs
from bot.system.log_context import log_context, logging_about

PROGRAM = """
import logging, pathlib, sys
from bot.system import logs
logs.configure_logging(file=pathlib.Path(sys.argv[1]))
for _ in range(2):
    logging.getLogger("bot.test").warning("the disk is full")
"""
RUN = Run("shop#1", "shop", phase=Phase.WORKING, turns=RunTurns(number=2))
OURS = logging.getLogger("bot.test")


def test_f10_a_log_on_a_full_disk_reports_no_error_and_stops_nothing(tmp_path):
    file = tmp_path / "treehand.log"
    file.symlink_to("/dev/full")
    command = (sys.executable, "-c", PROGRAM, str(file))
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    said = [line.partition("WARNING ")[2] for line in done.stderr.splitlines()]
    assert said == ["bot.test the disk is full"] * 2


class Log:
    """The log file of a configured logger."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def opened(self, **how) -> "Log":
        logs.configure_logging(file=self.file, quiet=True, **how)
        return self

    @property
    def lines(self) -> list[str]:
        return self.file.read_text().splitlines()

    @property
    def objects(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self.lines]


@pytest.fixture
def log(tmp_path) -> Iterator[Log]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield Log(tmp_path / "treehand.log")
    for handler in set(root.handlers) - set(before):
        handler.close()
    root.handlers[:] = before
    root.setLevel(level)


def test_a_line_names_its_project_issue_run_and_turn(log):
    log.opened()
    with logging_about(**log_fields(RUN)):
        OURS.info("pushed")
    OURS.info("later")
    first, later = log.lines
    assert first.endswith("INFO bot.test pushed project=shop issue=shop#1 run=shop#1/1 turn=2")
    assert later.endswith("INFO bot.test later")


def test_a_field_in_the_message_is_not_repeated(log):
    log.opened()
    with logging_about(**log_fields(RUN)):
        OURS.info("crashed run=%s", RUN.id)
    assert log.lines[0].count("run=shop#1/1") == 1


def test_in_json_each_line_is_an_object_with_the_same_fields(log):
    log.opened(form="json")
    with logging_about(**log_fields(RUN)):
        OURS.warning("pushed %d", 3)
    (found,) = log.objects
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}\+00:00", found.pop("at"))
    assert found == {
        "level": "warning", "logger": "bot.test", "message": "pushed 3",
        "project": "shop", "issue": "shop#1", "run": "shop#1/1", "turn": "2",
    }  # fmt: skip


@pytest.mark.expects_errors
@pytest.mark.parametrize("form", ["text", "json"])
def test_untrusted_text_cannot_forge_a_line(log, form):
    forged = "x\n2026-01-01 00:00:00,000 INFO bot.engine.loop merged\r\u2028\x1b[2Jrun=other#1/1"
    log.opened(form=form)
    with logging_about(**log_fields(RUN)):
        OURS.info("said %s", forged)
        try:
            raise ValueError(forged)  # noqa: TRY301
        except ValueError:
            OURS.exception("crashed")
    if form == "json":
        assert [one["message"] for one in log.objects] == [f"said {forged}", "crashed"]
        assert {one["run"] for one in log.objects} == {"shop#1/1"}
        assert "\x1b" not in log.file.read_text()
    else:
        assert [line for line in log.lines if not line.startswith("    | ")] == log.lines[:2]
        assert all("run=shop#1/1" in line for line in log.lines[:2])
        assert log.file.read_text().replace("\n", "").isprintable()


@pytest.mark.expects_errors
@pytest.mark.parametrize("form", ["text", "json"])
def test_secrets_are_redacted_in_every_format_and_in_tracebacks(log, form):
    log.opened(form=form, redact=lambda text: text.replace("hunter2hunter2", "[redacted]"))
    try:
        raise ValueError("hunter2hunter2")  # noqa: TRY301
    except ValueError:
        OURS.exception("key=%s", "hunter2hunter2")
    assert "hunter2" not in log.file.read_text()
    assert "key=[redacted]" in log.file.read_text()


def test_lines_below_the_level_are_left_out(log):
    log.opened(level="warning")
    OURS.info("small")
    OURS.warning("large")
    assert [line.partition("bot.test ")[2] for line in log.lines] == ["large"]


async def test_tasks_and_threads_inherit_the_log_fields_of_their_run():
    def found() -> str:
        return log_context().get("run", "")

    async def later() -> str:
        return found()

    async with asyncio.TaskGroup() as group:
        with logging_about(**log_fields(RUN)):
            task, thread = group.create_task(later()), group.create_task(asyncio.to_thread(found))
    assert (task.result(), thread.result(), found()) == ("shop#1/1", "shop#1/1", "")


def test_lines_of_a_turn_have_its_own_number():
    request = TurnOrder("shop#1/3/turn-7", "shop#1/3", "shop", "b", "", "", "", "", 0.0)
    with logging_about(**log_fields(RUN)), logging_about(**turn_log_fields(request)):
        assert dict(log_context()) == {"project": "shop", "issue": "shop#1", "run": "shop#1/3", "turn": "7"}


async def test_every_line_logged_in_a_step_of_a_run_names_the_run(log, bot, world):
    """Lines of the engine, its actions and the adapters."""
    log.opened(form="json")
    world.open_issue("shop#1", "ai")
    world.open_issue("shop#2", "ai")
    await bot.tick()
    world.fails["ensure_comment"] = Retryable("no answer")
    for turn in world.running():
        world.finish_turn(turn)
    await bot.tick()
    of_steps = [one for one in log.objects if one["logger"].startswith("bot.engine")]
    assert {one.get("run") for one in of_steps} == {"shop#1/1", "shop#2/1"}
    assert any("no answer" in one["message"] for one in of_steps)
    assert [one for one in of_steps if "run=" in one["message"] and f"run={one['run']}" not in one["message"]] == []


# At a terminal


class TerminalStream(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def on_terminal(monkeypatch):
    """Opens a log on a terminal."""

    def opens(**how) -> TerminalStream:
        monkeypatch.setattr(sys, "stderr", stream := TerminalStream())
        logs.configure_logging(**how)
        return stream

    return opens


def shown(terminal: TerminalStream) -> list[str]:
    """Lines without their times."""
    lines = terminal.getvalue().splitlines()
    assert all(re.match(r"\d\d:\d\d:\d\d ", line) for line in lines)
    return [line[9:] for line in lines]


def test_a_line_on_a_terminal_has_one_name_and_its_level_only_if_it_is_a_warning(on_terminal):
    terminal = on_terminal()
    OURS.info("dashboard at http://127.0.0.1:8700")
    with logging_about(**log_fields(RUN)):
        OURS.info("journal run=%s: %s", RUN.id, "turn 1 started")
        OURS.warning("step failed run=%s problem=%s", RUN.id, "slow")
        OURS.info("journal run=%s: %s", "shop#1/2", "queued")
    assert shown(terminal) == [
        "dashboard at http://127.0.0.1:8700",
        "shop#1 turn 1 started",
        "shop#1 warning: step failed problem=slow",
        "shop#1/2 queued",
    ]


def test_untrusted_text_cannot_control_a_terminal_or_start_a_line(on_terminal):
    terminal = on_terminal(redact=lambda text: text.replace("hunter2", "***"))
    OURS.info("said %s", "hunter2\n12:00:00 shop#2 merged\x1b[2J")
    assert shown(terminal) == [r"said ***\x0a12:00:00 shop#2 merged\x1b[2J"]


def test_programs_get_json_on_a_terminal_too_if_they_ask_for_it(on_terminal):
    terminal = on_terminal(form="json")
    OURS.info("polled")
    assert json.loads(terminal.getvalue())["message"] == "polled"
