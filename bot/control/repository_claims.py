"""Compares the repositories in the settings with those that the state directory belongs to.

Rule: every command that uses the state does this first, and so does the daemon at its start.
"""

from bot.settings.schema import ProjectSettings, Settings
from bot.workspace.repository_record import RepositoryRecord, claim_name, identify_folder, identify_on_github


def claim_repositories(settings: Settings) -> None:
    """Claims the name of each project for its repository. Raises CannotStart if another repository has it.

    Skips a repository that is not there or cannot be read: whatever needs it says so.
    """
    for project in settings.projects:
        if found := identify(settings, project):
            claim_name(settings.state_dir, project.name, found)


def identify(settings: Settings, project: ProjectSettings) -> RepositoryRecord | None:
    """Returns None for a folder without a readable repository."""
    if project.folder is None:
        return identify_on_github(settings.github.api_url, project.repository)
    return identify_folder(project.folder)
