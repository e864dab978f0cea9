"""Make: detects `make test` or `make check`, and names setup targets that are not run by themselves. Pure."""

import re

from bot.domain.setup_plan import SetupStep
from bot.setup.repository_files import FileFolder
from bot.setup.stacks.steps import run_step

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_TEST_TARGETS = {
    "make test": re.compile(r"^test\s*:(?!=)", re.MULTILINE),
    "make check": re.compile(r"^check\s*:(?!=)", re.MULTILINE),
}
"""The first one that a Makefile has is run."""
_SETUP_TARGETS = ("setup", "bootstrap")


def find_tests(folder: FileFolder) -> SetupStep | None:
    makefile = folder.has(*_MAKEFILES)
    text = folder.text(makefile)
    found = [command for command, target in _TEST_TARGETS.items() if target.search(text)]
    return run_step(folder, found[0], makefile, "make") if found else None


def hints_in(folder: FileFolder) -> tuple[str, ...]:
    makefile = folder.has(*_MAKEFILES)
    targets = {line.partition(":")[0].strip() for line in folder.text(makefile).splitlines() if ":" in line[:40]}
    known = [name for name in _SETUP_TARGETS if makefile and name in targets]
    return tuple(f"{folder.at(makefile)}: has `make {name}`, which does not run automatically" for name in known)
