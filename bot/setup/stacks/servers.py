"""What a repository can start for people to look at it: servers, as its files name them. Pure."""

import re
from collections.abc import Iterator, Sequence

from bot.domain.setup_plan import Step
from bot.setup.repository_files import Folder, table
from bot.setup.stacks.node import find_node
from bot.setup.stacks.python import find_python

_SCRIPTS = ("dev", "start", "serve", "preview", "storybook")
_PROCFILE = re.compile(r"^([A-Za-z][\w-]*):[ \t]*(\S.*)$", re.MULTILINE)
_DEAF = re.compile(r"\b(?:vite|astro|ng|webpack|webpack-dev-server|vue-cli-service|storybook)\b")
"""Programs that do not look at `PORT`."""
_TOLD = re.compile(r"--port\b|(?:^|\s)-p\b|\$\{?PORT")
_PYTHONS = {"uv": "uv run --no-sync python", "poetry": "poetry run python", "pdm": "pdm run python"}


def servers_in(folders: Sequence[Folder]) -> dict[str, Step]:
    """By name; of a folder below the top, by its name as well. Who comes first keeps a name."""
    found: dict[str, Step] = {}
    for folder in folders:
        for name, step in (*_of_procfile(folder), *_of_node(folder), *_of_django(folder)):
            found.setdefault(folder.at(name), step)
    return found


def _of_procfile(folder: Folder) -> Iterator[tuple[str, Step]]:
    for name, command in _PROCFILE.findall(folder.text("Procfile")):
        yield name, _step(folder, command.strip(), "Procfile")


def _of_node(folder: Folder) -> Iterator[tuple[str, Step]]:
    setup, scripts = find_node(folder), table(folder.json("package.json"), "scripts")
    if setup is None:
        return
    (manager,) = setup.tools
    for name in _SCRIPTS:
        script = scripts.get(name)
        if isinstance(script, str) and script.strip():
            port = " --port $PORT" if _DEAF.search(script) and not _TOLD.search(script) else ""
            between = " --" if port and manager == "npm" else ""
            yield name, _step(folder, f"{manager} run {name}{between}{port}", "package.json", manager)


def _of_django(folder: Folder) -> Iterator[tuple[str, Step]]:
    if not folder.has("manage.py") or "django" not in folder.text("manage.py"):
        return
    setup = find_python(folder)
    tool = setup.tools[0] if setup else ""
    python = _PYTHONS.get(tool, ".venv/bin/python" if setup else "python3")
    yield "web", _step(folder, f"{python} manage.py runserver $PORT", "manage.py", tool or "python3")


def _step(folder: Folder, command: str, because: str, *tools: str) -> Step:
    return Step(command, folder.path, folder.at(because), tools)
