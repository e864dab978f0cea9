"""Finds the project that the current folder belongs to, for commands that name none."""

from pathlib import Path

from bot.errors import BotError
from bot.git.user_repository import UserRepository, find_repository, git_dir_of
from bot.settings.find_file import is_written_by_agents
from bot.settings.schema import ProjectSettings, Settings


def current_project(settings: Settings) -> str:
    """Returns the only project, or else that of the current folder; empty if neither is clear."""
    if len(settings.projects) == 1:
        return settings.projects[0].name
    try:
        found = projects_of_folder(settings, Path.cwd())
    except (BotError, FileNotFoundError):
        return ""
    return found[0].name if len(found) == 1 else ""


def projects_of_folder(settings: Settings, folder: Path) -> list[ProjectSettings]:
    """Returns the projects whose repository contains this folder, or is a remote of its clone."""
    if is_written_by_agents(folder) or not (here := find_repository(folder)):
        return []
    git_dir = git_dir_of(here.top)
    own = [one for one in settings.projects if one.folder and _git_dir_of(one.folder) == git_dir]
    return own or [one for one in settings.projects if one.folder is None and _is_remote(settings, one, here)]


def _git_dir_of(folder: Path) -> Path | None:
    try:
        return git_dir_of(folder)
    except BotError:
        return None


def _is_remote(settings: Settings, project: ProjectSettings, here: UserRepository) -> bool:
    wanted = (settings.github.api_url, project.repository.lower())
    return any((remote.api_url, remote.repository.lower()) == wanted for remote in here.remotes.values())
