"""What is going on, for whoever asks; also while no daemon runs, and without any network."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bot import clock
from bot.app import desk_of, store_of, transcripts_of
from bot.connecting import OURS, holder_in_words
from bot.database import damaged_copies
from bot.disk import Disk
from bot.domain.pull_request import PullRequest
from bot.domain.run import Phase, Run
from bot.embedded.desk import Desk
from bot.engine.brakes import notices
from bot.engine.names import branch_for
from bot.locks import owner_of
from bot.settings import ProjectSettings, Settings
from bot.state import Glimpse, Picture
from bot.workspace.places import Places, trouble_of

if TYPE_CHECKING:
    from bot.clients.github.memory import Memory
    from bot.clients.github.recollection import Recollection


def picture(settings: Settings) -> Picture:
    """Opens what it needs, so any thread may ask."""
    desk, store, now = desk_of(settings), store_of(settings), clock.now()
    memory, of_linear = _memory(settings), _memory_of_linear(settings)
    try:
        runs = store.latest(ended_since=clock.day_of(now))
        glimpses: dict[str, Glimpse] = {}
        for project in settings.projects:
            ours = [run for run in runs if run.project == project.name]
            branches = [branch_for(run) for run in ours]
            titles = _titles(project, desk, memory, of_linear)
            glimpses |= _glimpses(ours, titles, _pulls(project, branches, desk, memory), settings)
        spent = store.spent(since=clock.day_of(now))
        paused = notices(runs, store.endings(), now)
        health = {
            **_health(settings),
            **_services("github", memory),
            **_services("linear", of_linear),
            **_claims(settings),
            **_pools(settings),
            **{name: (False, why) for name, why in paused.items()},
        }
        return Picture(now, runs, glimpses, spent, settings.budget.per_day_usd, health)
    finally:
        store.close()
        desk.close()
        for opened in (memory, of_linear):
            if opened:
                opened.close()


def _memory(settings: Settings) -> "Memory | None":
    """What the daemon has seen of GitHub; none where no project is there."""
    if not any("github" in {project.tracker, project.forge} for project in settings.projects):
        return None
    from bot.clients.github.memory import open_memory

    return open_memory(settings.state_dir / "github.db")


def _memory_of_linear(settings: Settings) -> "Memory | None":
    if not any(project.tracker == "linear" for project in settings.projects):
        return None
    from bot.clients.linear.memory import open_memory

    return open_memory(settings.state_dir / "linear.db")


def _titles(
    project: ProjectSettings, desk: Desk, memory: "Memory | None", of_linear: "Memory | None"
) -> Mapping[str, str]:
    if project.tracker == "linear" and of_linear:
        from bot.clients.linear.notebook import Notebook

        return Notebook(of_linear).titles()
    if project.tracker == "local" or memory is None:
        return desk.issues(project.name).titles()
    titles = _recollection(memory, project).titles()
    return {f"{project.repository}#{number}": title for number, title in titles.items()}


def _pulls(
    project: ProjectSettings, branches: Sequence[str], desk: Desk, memory: "Memory | None"
) -> Mapping[str, PullRequest]:
    if project.forge == "github" and memory:
        return _recollection(memory, project).pulls()
    pulls, _ = desk.pulls(project.name).snapshot(branches, desk.repository(project.name).tips())
    return pulls


def _recollection(memory: "Memory", project: ProjectSettings) -> "Recollection":
    from bot.clients.github.notebook import Notebook
    from bot.clients.github.recollection import Recollection

    return Recollection(Notebook(memory, project.repository))


def _services(service: str, memory: "Memory | None") -> Mapping[str, tuple[bool, str]]:
    """Only what is not well: a service that answers needs no line."""
    if memory is None:
        return {}
    from bot.manners.standings import standings

    found = standings(memory).items()
    wrong = {f"{service} {name}".strip(): (ok, detail) for name, (ok, detail) in found if not ok}
    return wrong or {service: (True, "answers")}


def _claims(settings: Settings) -> Mapping[str, tuple[bool, str]]:
    """Repositories that another daemon acts on, as the one that stands by here last saw it."""
    there = [project.name for project in settings.projects if project.forge == "github"]
    if not there or not settings.limits.claim_seconds or not owner_of(settings.state_dir):
        return {}
    from bot.workspace.claim_ref import find_seen

    seen = {name: find_seen(Places(settings.state_dir, name).mirror) for name in there}
    words = {name: holder_in_words(settings, entry) for name, entry in seen.items() if entry}
    return {
        f"claim {name}": (False, f"{held}; this one stands by")
        for name, held in words.items()
        if held not in {"", OURS}
    }


def _pools(settings: Settings) -> Mapping[str, tuple[bool, str]]:
    """Projects for which no worktree can be made ahead."""
    wished = [one.name for one in settings.projects if one.pool]
    found = {name: trouble_of(Places(settings.state_dir, name)) for name in wished}
    return {f"pool {name}": (False, f"nothing is made ahead: {why}") for name, why in found.items() if why}


def _glimpses(
    runs: Sequence[Run], titles: Mapping[str, str], pulls: Mapping[str, PullRequest], settings: Settings
) -> Mapping[str, Glimpse]:
    transcripts = transcripts_of(settings)
    folders = {run.id: Places(settings.state_dir, run.project).of(branch_for(run)).folder for run in runs}
    return {
        run.id: Glimpse(
            title=titles.get(run.key) or _title(pulls.get(branch_for(run))),
            agent=settings.agent.kind,
            worktree=str(folders[run.id]) if folders[run.id].exists() else "",
            doing=transcripts.last_deed(run.id) if run.phase is Phase.WORKING and not 0 < run.ended == run.turn else "",
            pull_request=pulls.get(branch_for(run)),
        )
        for run in runs
    }


def _title(pull: PullRequest | None) -> str:
    """Of what is over the issue may not be known any more."""
    return pull.title if pull else ""


def _health(settings: Settings) -> Mapping[str, tuple[bool, str]]:
    level = Disk(settings.state_dir, settings.limits.free_disk_gb).level()
    pid = owner_of(settings.state_dir)
    return {
        "daemon": (bool(pid), f"running as pid {pid}" if pid else "not running: start it with `treehand run`"),
        "disk": (not level.lack, level.lack or str(level)),
        "sandbox": _sandbox(settings),
        **({"database": (False, damaged)} if (damaged := what_was_damaged(settings)) else {}),
    }


def what_was_damaged(settings: Settings) -> str:
    """And lies aside now, in words; empty: nothing."""
    names = ("treehand.db", "github.db", "linear.db")
    aside = [copy.name for name in names for copy in damaged_copies(settings.state_dir / name)]
    if not aside:
        return ""
    return f"was damaged and begun anew; what it held: {', '.join(aside)}. Remove that when you need it no more"


def _sandbox(settings: Settings) -> tuple[bool, str]:
    """As chosen; that it holds is tried at every start of the daemon, and by `treehand check`."""
    if settings.sandbox.kind == "none":
        return False, "none: agents run with your own rights"
    return True, settings.sandbox.kind
