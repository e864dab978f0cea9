"""The last steps of `treehand init`: folders of tools, git's list of ignored files, and the first issue."""

import asyncio
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from bot.cli.output import print_text
from bot.cli.questions import Questions
from bot.errors import BotError
from bot.git.user_repository import exclude_file
from bot.sandbox.build import hidden_path_folders
from bot.services.registry import tracker_of
from bot.settings.change_file import add_tools
from bot.settings.load import load, operator
from bot.settings.schema import ProjectSettings, Settings
from bot.setup.build import preview_setup

_BIN, _SHIMS = "bin", "shims"


def ignore_file(file: Path, top: Path) -> None:
    """Adds the settings file to the list that git keeps for this clone alone."""
    if file.resolve().is_relative_to(top.resolve()):
        name = file.resolve().relative_to(top.resolve())
        if exclude_file(top, name):
            print_text(f"Git ignores it: /{name} is in .git/info/exclude. Remove that line to commit the file.")


def allow_tools(file: Path, settings: Settings) -> Settings:
    """Lets agents use the programs that setup and tests need and that only this person's PATH has."""
    (project,) = settings.projects
    preview = preview_setup(settings, project) if settings.sandbox.kind != "none" else None
    if preview is None:
        return settings
    missing = preview.missing((*preview.plan.steps, *preview.plan.checks))
    folders = list(dict.fromkeys(_folders_of(missing, settings)))
    if not folders or not add_tools(file, folders):
        return settings
    try:
        changed = load(file)
        hidden_path_folders(changed)  # raises if a folder must not be shown
    except BotError as problem:
        print_text(f"Remove it from `sandbox.tools`: {problem}")
        return settings
    print_text(f"Added to `sandbox.tools`, so that agents can use {', '.join(missing)}: {', '.join(folders)}")
    return changed


def _folders_of(programs: Sequence[str], settings: Settings) -> Iterator[str]:
    hidden = hidden_path_folders(settings)
    for name in programs:
        found = shutil.which(name)
        if found and str(Path(found).parent) in hidden and (folder := _tool_folder(Path(found).resolve())):
            yield str(folder)


def _tool_folder(program: Path) -> Path | None:
    """Returns the folder that one tool was installed in; None if other things of the person are there."""
    home, folder = Path.home().resolve(), program.parent
    if folder.name == _SHIMS:  # they start programs elsewhere
        return None
    whole = folder.parent if folder.name == _BIN else folder
    shared = {home, home / ".local", home / _BIN, *home.parents}
    return None if whole in shared else whole


def ask_first_issue(settings: Settings, ask: Questions) -> str:
    """Returns the key of the issue that the person wants to begin with; empty if none."""
    (project,) = settings.projects
    if not ask.left:
        return ""
    title = ask("Begin with an issue? Its title, or the number of an open one (Enter: later):", "", str.strip)
    if not title:
        return ""
    try:
        return _begin(settings, project, title)
    except BotError as problem:
        print_text(f"No issue was opened: {problem}")
        return ""


def _begin(settings: Settings, project: ProjectSettings, title: str) -> str:
    async def open_issue() -> str:
        async with tracker_of(project).open_for_person(settings, project) as tracker:
            return await tracker.open_issue(title, "", [settings.label], by=operator())

    number = title.removeprefix("#")
    if not (number.isdigit() and tracker_of(project).kept_here):
        return asyncio.run(open_issue())
    from bot.services.local.connect import open_local_server

    server = open_local_server(settings)
    try:
        server.issues(project.name).label(int(number), settings.label, by=operator())
    finally:
        server.close()
    return f"{project.name}#{number}"
