"""Parses the keys that people type for issues: `acme/shop#3`, `shop#3`, `ENG-3` in Linear, or in short `#3` and `3`.

Commands about runs also take the number of a run's pull request.
"""

import re
from contextlib import closing

from bot.control.current_project import current_project
from bot.domain.branch_name import branch_for
from bot.domain.run import Run
from bot.errors import NeedsHuman
from bot.services.interface import FoundKey
from bot.services.registry import SERVICES, open_offline, tracker_of
from bot.settings.schema import ProjectSettings, Settings
from bot.store.build import open_store

_KEY = re.compile(r"(?:(?P<scope>[^#\s]*)#)?(?P<number>[0-9]{1,9})", re.ASCII)


def parse_key(settings: Settings, text: str) -> tuple[ProjectSettings, str]:
    """The issue's project and full key. A project goes by its name or its repository, in Linear by its team."""
    text = text.strip()
    for service in SERVICES.values():
        if found := service.find_key(settings, text):
            return _project_of_key(settings, found), found.key
    match = _KEY.fullmatch(text)
    if match is None:
        raise NeedsHuman(
            f"{text!r} does not name an issue. They look like this: shop#3, acme/shop#3 on GitHub, or ENG-3 in Linear."
        )
    project = find_project(settings, match["scope"] or "")
    return project, tracker_of(project).key_of(settings, project, int(match["number"]))


def _project_of_key(settings: Settings, found: FoundKey) -> ProjectSettings:
    """The project of the issue's run, if it has one."""
    with closing(open_store(settings)) as store:
        run = store.find_run(found.key)
    return next((one for one in found.projects if run and one.name == run.project), found.projects[0])


def find_project(settings: Settings, name: str) -> ProjectSettings:
    """Searches names and repositories; an empty name means the only project, or that of the current folder."""
    name = name or current_project(settings)
    for project in settings.projects:
        if name and name.lower() in {project.name.lower(), project.repository.lower()}:
            return project
    if not settings.projects:
        raise NeedsHuman("There is no project yet. `treehand init` in your repository writes a settings file with it.")
    known = ", ".join(project.name for project in settings.projects)
    raise NeedsHuman(f"There is no project {name}. Known projects: {known}." if name else f"Name a project: {known}.")


def parse_run_key(settings: Settings, text: str) -> tuple[ProjectSettings, str]:
    """Like `parse_key`, but if no issue of that number has a run, the number may be that of a pull request."""
    project, key = parse_key(settings, text)
    match = _KEY.fullmatch(text.strip())
    with closing(open_store(settings)) as store:
        if match is None or store.find_run(key):
            return project, key
        by_branch = {branch_for(run): run for run in store.all_runs() if run.project == project.name}
    with open_offline(settings) as services:
        pulls = services[project.forge].pull_requests(project.name, list(by_branch))
    number = int(match["number"])
    keys = (run.key for branch, run in by_branch.items() if branch in pulls and pulls[branch].number == number)
    return project, next(keys, key)


def find_run(settings: Settings, text: str) -> Run:
    """The newest run of the issue or of the pull request. Raises NeedsHuman if there is none."""
    key = parse_run_key(settings, text)[1]
    with closing(open_store(settings)) as store:
        run = store.find_with_cost(key)
    if run is None:
        raise NeedsHuman(f"There is no run for {text}. `treehand status` lists all runs.")
    return run
