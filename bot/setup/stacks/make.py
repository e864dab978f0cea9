"""Make: detects `make test`, and names setup targets that are not run by themselves. Pure."""

import re

from bot.domain.setup_plan import SetupStep
from bot.setup.repository_files import FileFolder
from bot.setup.stacks.steps import run_step

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_TEST_TARGET = re.compile(r"^test\s*:(?!=)", re.MULTILINE)
_SETUP_TARGETS = ("setup", "bootstrap")


def find_tests(folder: FileFolder) -> SetupStep | None:
    makefile = folder.has(*_MAKEFILES)
    return run_step(folder, "make test", makefile, "make") if _TEST_TARGET.search(folder.text(makefile)) else None


def hints_in(folder: FileFolder) -> tuple[str, ...]:
    makefile = folder.has(*_MAKEFILES)
    targets = {line.partition(":")[0].strip() for line in folder.text(makefile).splitlines() if ":" in line[:40]}
    known = [name for name in _SETUP_TARGETS if makefile and name in targets]
    return tuple(f"{folder.at(makefile)}: has `make {name}`, which does not run automatically" for name in known)
