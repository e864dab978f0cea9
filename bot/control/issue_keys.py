"""What people type to name an issue: `acme/shop#3`, `shop#3`, `ENG-3` in Linear, or in short `#3` and `3`."""

import re

from bot.app import store_of
from bot.domain.run import Run
from bot.errors import NeedsHuman
from bot.settings import ProjectSettings, Settings

_KEY = re.compile(r"(?:(?P<scope>[^#\s]*)#)?(?P<number>[0-9]{1,9})", re.ASCII)
_IN_LINEAR = re.compile(r"(?P<team>[A-Za-z][A-Za-z0-9]*)-[0-9]{1,9}", re.ASCII)


def parse_key(settings: Settings, text: str) -> tuple[ProjectSettings, str]:
    """Whose issue, and its key. A project goes by its name and by its repository, and in Linear by its team."""
    if match := _IN_LINEAR.fullmatch(text.strip()):
        return _in_linear(settings, match[0].upper(), match["team"])
    match = _KEY.fullmatch(text.strip())
    if match is None:
        raise NeedsHuman(
            f"{text!r} does not name an issue. They look like this: shop#3, acme/shop#3 on GitHub, or ENG-3 in Linear."
        )
    project = project_of(settings, match["scope"] or "")
    return project, _full_key(project, int(match["number"]))


def _in_linear(settings: Settings, key: str, team: str) -> tuple[ProjectSettings, str]:
    """Several projects may share a team; and an issue may have come from another."""
    there = [project for project in settings.projects if project.tracker == "linear"]
    ours = [project for project in there if project.team.lower() == team.lower()] or there
    if not ours:
        raise NeedsHuman(f"No project here has its issues in Linear, so there is no {key}.")
    store = store_of(settings)
    run = store.find_run(key)
    store.close()
    return next((project for project in there if run and project.name == run.project), ours[0]), key


def project_of(settings: Settings, name: str) -> ProjectSettings:
    """The one of that name; unnamed: the only one there is."""
    if not name and len(settings.projects) == 1:
        return settings.projects[0]
    for project in settings.projects:
        if name and name.lower() in {project.name.lower(), project.repository.lower()}:
            return project
    if not settings.projects:
        raise NeedsHuman("There is no project yet. `treehand init` in your repository writes a settings file with it.")
    known = ", ".join(project.name for project in settings.projects)
    raise NeedsHuman(f"There is no project {name} here. There is: {known}." if name else f"Say which project: {known}.")


def _full_key(project: ProjectSettings, number: int) -> str:
    """As the tracker says it aloud."""
    if project.tracker == "linear":
        return f"{project.team.upper()}-{number}"
    return f"{project.repository if project.tracker == 'github' else project.name}#{number}"


def run_of(settings: Settings, text: str) -> Run:
    """The newest of the issue."""
    store = store_of(settings)
    run = store.find_run(parse_key(settings, text)[1])
    store.close()
    if run is None:
        raise NeedsHuman(f"There is no run for {text}. `treehand status` shows those there are.")
    return run
