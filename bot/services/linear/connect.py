"""How Linear is reached, by which settings; and how people there are known on the forge."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bot.services.github.connect import Connections
from bot.settings import ProjectSettings, Settings
from bot.settings.credentials import linear_authorization, marker_secrets
from bot.system import clock

if TYPE_CHECKING:
    from bot.services.http.request_counts import Tally
    from bot.services.linear.cache import Notebook
    from bot.services.linear.client import Linear
    from bot.services.linear.permissions import MayPush
    from bot.services.linear.project_issues import Scope
    from bot.services.linear.routing import Route
    from bot.services.linear.team_info import Facts
    from bot.services.linear.workflow_states import Moves


@asynccontextmanager
async def on_linear(
    settings: Settings, there: Connections, *, as_daemon: bool, tallies: "dict[str, Tally] | None" = None
) -> AsyncIterator[Mapping[str, "Scope"]]:
    """By the project's name. `tallies` are told of this service's.

    What is written for a project is written under the claim to its repository.
    """
    ours = [project for project in settings.projects if project.tracker == "linear"]
    if not ours:
        yield {}
        return
    from bot.services.http.availability import Standings
    from bot.services.linear.cache import Notebook
    from bot.services.linear.client import Linear
    from bot.services.linear.memory import open_memory, own_memory
    from bot.services.linear.team_info import Facts

    path = settings.state_dir / "linear.db"
    memory = own_memory(path, at=clock.now()) if as_daemon else open_memory(path)
    async with Linear(settings.linear.api_url, linear_authorization(settings), memory) as service:
        (tallies if tallies is not None else {})["linear"] = service.tally
        notebook, standings = Notebook(memory), Standings(memory, "Linear")
        facts = {team: Facts(service, team, notebook, standings) for team in {one.team.upper() for one in ours}}
        yield _scopes(settings, there, service, notebook, facts)
    memory.close()


def _scopes(
    settings: Settings,
    there: Connections,
    service: "Linear",
    notebook: "Notebook",
    facts: Mapping[str, "Facts"],
) -> Mapping[str, "Scope"]:
    from bot.services.linear.comment_markers import Markers
    from bot.services.linear.permissions import People
    from bot.services.linear.project_issues import Rules, Scope
    from bot.services.linear.team_sync import Team

    label, (secret, *older) = settings.label, marker_secrets(settings)
    teams = {key: Team(service, key, notebook, one, label=label) for key, one in facts.items()}
    scopes: dict[str, Scope] = {}
    for project in (one for one in settings.projects if one.tracker == "linear"):
        rules = Rules(label, _route(project), _routes(settings, project.team), _moves(settings))
        people = People(project.trusted, _may_push(settings, project, there))
        markers = Markers(secret, _home(settings, project), older=older)
        fence = partial(there.check, project.repository)
        scopes[project.name] = Scope(teams[project.team.upper()], rules, people, markers, fence)
    return scopes


async def team_findings(settings: Settings, project: ProjectSettings, *, fix: bool) -> Sequence[tuple[str, bool, str]]:
    """What `treehand check` says of a project's team: name, whether it is well, and what is wrong with it."""
    from bot.domain.names import phase_labels
    from bot.services.linear.diagnose import Inspecting

    labels = (settings.label, *sorted(phase_labels(settings.label)))
    async with on_linear(settings, Connections(), as_daemon=False) as scopes:
        inspecting = Inspecting(scopes[project.name], _moves(settings))
        return await inspecting.inspect(labels, fix=fix)


def _route(project: ProjectSettings) -> "Route":
    from bot.services.linear.routing import Route

    named = project.repository if project.forge == "github" else ""
    return Route(project.name, named, project.linear_projects, project.default)


def _routes(settings: Settings, team: str) -> tuple["Route", ...]:
    there = (one for one in settings.projects if one.tracker == "linear" and one.team.lower() == team.lower())
    return tuple(map(_route, there))


def _moves(settings: Settings) -> "Moves":
    from bot.services.linear.workflow_states import Moves

    linear = settings.linear
    return Moves(linear.started, linear.review, linear.completed, linear.back)


def _home(settings: Settings, project: ProjectSettings) -> str:
    """Where the link below our words leads: to the repository, or to Linear itself."""
    api = urlsplit(settings.github.api_url if project.forge == "github" else settings.linear.api_url)
    site = f"{api.scheme}://{api.netloc.removeprefix('api.')}"
    return f"{site}/{project.repository}" if project.forge == "github" else site


def _may_push(settings: Settings, project: ProjectSettings, there: Connections) -> "MayPush":
    known = {who.lower(): login for who, login in settings.linear.people.items()}
    repository = there.repositories.get(project.name)

    async def may_push(one: str, email: str) -> bool:
        """To the embedded forge whoever steers may."""
        if repository is None:
            return True
        login = known.get(one.lower()) or known.get(email) or await repository.login_of(email)
        return bool(login) and await repository.may_push(login)

    return may_push
