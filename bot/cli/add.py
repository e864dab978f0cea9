"""`treehand add` and `treehand remove`: change which repositories the settings that a person has already name."""

import shlex
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

from bot.cli.check import check_repositories
from bot.cli.init_detect import detect_setup, parse_repository
from bot.cli.init_settings import SettingsDraft, choose_tracker, plain_name
from bot.cli.output import print_text
from bot.cli.questions import Questions
from bot.cli.settings import load_settings
from bot.control.issue_keys import find_project
from bot.control.repository_claims import identify
from bot.errors import BadSettings, NeedsHuman
from bot.git.user_repository import find_repository
from bot.services.interface import Service
from bot.services.registry import forge_of, tracker_of
from bot.settings.change_file import add_project, remove_project
from bot.settings.find_file import find_file_for, is_named, settings_file, user_settings_file
from bot.settings.load import load
from bot.settings.schema import ProjectSettings, Settings
from bot.store.build import open_store
from bot.system.locks import daemon_pid
from bot.workspace.repository_record import (
    RepositoryRecord,
    identify_folder,
    identify_on_github,
    may_have_name,
    take_over_name,
)

_MOST_LISTED = 5


def add(options: Namespace) -> None:
    file = settings_file(options.config).resolve()
    before = load(file)
    if options.moved:
        _take_over(before, options.moved)
        return
    place = _find_place(options)
    if (record := place.record(before)) is None:
        raise BadSettings(f"{place.folder} cannot be read by git.")
    if known := _find_known(before, record):
        print_text(f"{file} has this repository already: it is the project {known.name}.")
        return
    for note in place.notes:
        print_text(note)
    draft = _draft(options, before, place, record)
    after = add_project(file, draft.project_lines(), _accept)
    print_text(f"Added the project {draft.name} to {file}: {_describe(after.projects[-1])}.")
    link_user_settings(file)
    for line in _next_steps(file, after, place):
        print_text(line)


def remove(options: Namespace) -> None:
    settings, file = load_settings(options), settings_file(options.config).resolve()
    project = find_project(settings, options.name)
    with closing(open_store(settings)) as store:
        if active := [run.key for run in store.active() if run.project == project.name]:
            raise NeedsHuman(
                f"{project.name} has {len(active)} runs that are not over: {', '.join(active[:_MOST_LISTED])}. "
                f"End them first, for example with `treehand stop {active[0]}`."
            )
    after = remove_project(file, [one.name for one in settings.projects].index(project.name))
    print_text(
        f"Removed the project {project.name} from {file}. Its issues, pull requests and salvaged work stay in "
        f"{settings.state_dir}: add the repository under the same name to have them back."
    )
    print_text(_what_the_daemon_does(after))


def offer_to_add(options: Namespace, ask: Questions) -> bool:
    """Asks in `treehand init` whether the settings that this person has already should get this repository."""
    own = user_settings_file()
    if is_named(options.config) or options.app or options.api_url or not own.is_file():
        return False
    names = ", ".join(project.name for project in load(own).projects) or "no project yet"
    print_text(f"You have settings already: {own.resolve()} ({names}).")
    if ask("Should the same daemon serve this repository, too? yes, no:", "yes", _parse_yes_no) == "no":
        return False
    add(Namespace(**{**vars(options), "config": str(own.resolve()), "moved": "", "where": options.repository}))
    return True


def link_user_settings(file: Path) -> None:
    """Makes the file the user's own, so that commands find it in every folder, unless there is one."""
    own = user_settings_file()
    if own.exists():
        return
    try:
        own.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        own.unlink(missing_ok=True)  # a link to settings that are gone
        own.symlink_to(file.resolve())
    except OSError as problem:
        print_text(f"{own} cannot be written: {problem.strerror}. Commands find {file} only in its folder and below.")
        return
    print_text(f"Made {own} a link to it, so that commands find it in every folder.")


def _take_over(settings: Settings, name: str) -> None:
    project = find_project(settings, name)
    if not (found := identify(settings, project)):
        raise NeedsHuman(f"There is no repository in {project.repository}. Correct `repository` of {name} first.")
    if daemon_pid(settings.state_dir):
        raise NeedsHuman("Stop the daemon first: it works on the repository that the state belonged to until now.")
    take_over_name(settings.state_dir, project.name, found)
    print_text(f"The project {project.name} in {settings.state_dir} belongs to {found} now.")


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a new project: a folder of this machine, a repository on GitHub, or a clone of one."""

    folder: Path | None
    repository: str = ""
    """`owner/name`; empty if pull requests stay on this machine."""
    api_url: str = ""
    """API of the GitHub server that the clone points to."""
    notes: tuple[str, ...] = ()

    def record(self, settings: Settings) -> RepositoryRecord | None:
        if self.repository:
            return identify_on_github(settings.github.api_url, self.repository)
        return identify_folder(self.folder) if self.folder else None


def _find_place(options: Namespace) -> _Place:
    folder = Path(options.where or ".").expanduser().resolve()
    if options.where and not folder.is_dir():
        try:
            return _Place(None, parse_repository(options.where))
        except ValueError:
            raise BadSettings(
                f"{options.where!r} is neither a folder nor a repository on GitHub (OWNER/NAME)."
            ) from None
    if not (local := find_repository(folder)):
        raise BadSettings(f"{folder} is not a git repository. Name the folder of one, or OWNER/NAME on GitHub.")
    detected = detect_setup(local.top, Namespace(here=options.here, repository="", api_url=""))
    api_url = detected.github.api_url if detected.github else ""
    return _Place(local.top, detected.repository, api_url, detected.notes)


def _draft(options: Namespace, settings: Settings, place: _Place, record: RepositoryRecord) -> SettingsDraft:
    if place.api_url and place.api_url != settings.github.api_url:
        raise BadSettings(
            f"{place.repository} is on {place.api_url}, and your settings use {settings.github.api_url}: one daemon "
            "uses one GitHub server. Use `treehand init --config PATH` for settings of its own, or `--here`."
        )
    name = options.name or _free_name(settings, place, record)
    base = options.base
    if not place.repository and place.folder:
        found = find_repository(place.folder)
        base = base or (found.branch if found else "")
    return SettingsDraft(
        name,
        choose_tracker(options.team, place.repository),
        place.repository or ".",
        base,
        options.team.upper(),
        folder=str(place.folder or "."),
    )


def _free_name(settings: Settings, place: _Place, record: RepositoryRecord) -> str:
    """Returns the name of the repository; with a number if another repository has it."""
    wanted = plain_name(place.repository.rpartition("/")[2] or (place.folder.name if place.folder else ""))
    taken = {project.name.lower() for project in settings.projects}
    names = chain([wanted], (f"{wanted}-{number}" for number in count(2)))
    return next(one for one in names if one.lower() not in taken and may_have_name(settings.state_dir, one, record))


def _find_known(settings: Settings, record: RepositoryRecord) -> ProjectSettings | None:
    places = ((project, identify(settings, project)) for project in settings.projects)
    return next((project for project, found in places if found and found.place == record.place), None)


def _accept(settings: Settings) -> None:
    """Claims the name, after it was read that the repository can be used."""
    check_repositories(settings.model_copy(update={"projects": settings.projects[-1:]}))


def _describe(project: ProjectSettings) -> str:
    issues, pulls = (_site(service) for service in (tracker_of(project), forge_of(project)))
    return f"{project.repository}, with issues {issues} and pull requests {pulls}"


def _site(service: Service) -> str:
    return "on this machine" if service.kept_here else service.site


def _next_steps(file: Path, after: Settings, place: _Place) -> Iterator[str]:
    yield _what_the_daemon_does(after)
    yield "Next:"
    yield "  treehand check --fix --learn   (finds what is missing, and the hosts that setup needs)"
    project = after.projects[-1]
    if tracker_of(project).kept_here and place.folder:
        yield f"  cd {shlex.quote(str(place.folder))}"
        yield f'  treehand issue new "Say hello" --label {after.label}'
    else:
        yield f"  then put the label `{after.label}` on an issue"
    found = find_file_for(place.folder) if place.folder else file
    if found is None or found.resolve() != file:
        yield f"  in that folder, write `--config {shlex.quote(str(file))}` before each command"


def _what_the_daemon_does(settings: Settings) -> str:
    if pid := daemon_pid(settings.state_dir):
        return (
            f"The running daemon (pid {pid}) takes this over at its next start: end it with Ctrl-C, which keeps the "
            "work of its agents, then `treehand run`."
        )
    names = ", ".join(project.name for project in settings.projects)
    return f"No daemon is running: `treehand run` starts one for {names}." if names else "No project is left."


def _parse_yes_no(answer: str) -> str:
    if (word := answer.lower()) not in {"yes", "y", "no", "n"}:
        raise ValueError("Answer yes or no.")
    return "yes" if word.startswith("y") else "no"
