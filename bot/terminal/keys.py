"""What people type to name an issue: `acme/shop#3`, `shop#3`, or in short `#3` and `3`."""

import re

from bot.errors import NeedsHuman
from bot.settings import ProjectSettings, Settings

_KEY = re.compile(r"(?:(?P<scope>[^#\s]*)#)?(?P<number>[0-9]{1,9})", re.ASCII)


def parse_key(settings: Settings, text: str) -> tuple[ProjectSettings, int]:
    """Whose issue, and which. A project goes by its name and by its repository."""
    match = _KEY.fullmatch(text.strip())
    if match is None:
        raise NeedsHuman(f"{text!r} does not name an issue. They look like this: shop#3, or acme/shop#3 on GitHub.")
    return project_of(settings, match["scope"] or ""), int(match["number"])


def project_of(settings: Settings, name: str) -> ProjectSettings:
    """The one of that name; unnamed: the only one there is."""
    if not name and len(settings.projects) == 1:
        return settings.projects[0]
    for project in settings.projects:
        if name and name.lower() in {project.name.lower(), project.repository.lower()}:
            return project
    known = ", ".join(project.name for project in settings.projects) or "none"
    raise NeedsHuman(f"There is no project {name} here. There is: {known}." if name else f"Say which project: {known}.")


def full_key(project: ProjectSettings, number: int) -> str:
    """As the tracker says it aloud."""
    return f"{project.repository if project.tracker == 'github' else project.name}#{number}"
