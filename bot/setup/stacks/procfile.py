"""Procfile: each of its lines is a server that a person can start. Pure."""

import re
from collections.abc import Iterator

from bot.domain.setup_plan import SetupStep
from bot.setup.repository_files import FileFolder
from bot.setup.stacks.steps import run_step

_LINE = re.compile(r"^([A-Za-z][\w-]*):[ \t]*(\S.*)$", re.MULTILINE)


def find_servers(folder: FileFolder) -> Iterator[tuple[str, SetupStep]]:
    for name, command in _LINE.findall(folder.text("Procfile")):
        yield name, run_step(folder, command.strip(), "Procfile")
