"""The log, when there is no room for it."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import logging, pathlib, sys
from bot import logs
logs.set_up(file=pathlib.Path(sys.argv[1]))
for _ in range(2):
    logging.getLogger("bot.test").warning("the disk is full")
"""


def test_f10_a_log_that_finds_no_room_is_silent_about_that_and_stops_nothing(tmp_path):
    file = tmp_path / "treehand.log"
    file.symlink_to("/dev/full")
    command = (sys.executable, "-c", PROGRAM, str(file))
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True)
    said = [line.partition("WARNING ")[2] for line in done.stderr.splitlines()]
    assert said == ["bot.test the disk is full"] * 2
