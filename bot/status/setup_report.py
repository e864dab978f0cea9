"""What each project was found to need before any run, why, and what is in the way: in words, for everybody who asks."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.domain.health import Health
from bot.errors import BotError
from bot.settings import ProjectSettings, Settings
from bot.setup.build import Prospect, prospect_of
from bot.system.clock import steady
from bot.workspace.paths import Places, ready_in, trouble_of

_FRESH_SECONDS = 60.0


def outlook_of(settings: Settings, project: ProjectSettings) -> Sequence[Health]:
    """What is done in a worktree before an agent begins and when it is through, and what people can start there."""
    try:
        prospect = prospect_of(settings, project)
    except BotError as problem:
        return [Health("setup", ok=False, detail=str(problem))]
    if prospect is None:
        return [Health("setup", ok=True, detail="what it needs is found out when the repository is first fetched")]
    found = [_setup_in(prospect), _verify_in(prospect), _servers_in(prospect)]
    return [*found, _pool_of(settings, project)] if project.pool else found


@dataclass(slots=True)
class Outlooks:
    """Of all projects, for many who look: git and package managers are asked once a minute at most. For any thread."""

    settings: Settings
    _latest: Mapping[str, Sequence[Health]] = field(default_factory=dict)
    _until: float = 0.0
    _looking: threading.Lock = field(default_factory=threading.Lock)

    def look(self) -> Mapping[str, Sequence[Health]]:
        """By project."""
        with self._looking:
            if steady() >= self._until:
                self._latest = {one.name: outlook_of(self.settings, one) for one in self.settings.projects}
                self._until = steady() + _FRESH_SECONDS
            return self._latest


def _setup_in(prospect: Prospect) -> Health:
    recipe = prospect.recipe
    said = [f"{step} ({step.why})" for step in recipe.steps] or ["nothing to do"]
    missing = prospect.missing(recipe.steps)
    detail = f"{'; '.join([*said, *recipe.hints])}{_without(missing)}{_not_reached(prospect)}"
    return Health("setup", not (missing or prospect.hosts), detail)


def _verify_in(prospect: Prospect) -> Health:
    said = [f"{step} ({step.why})" for step in prospect.recipe.checks]
    missing = prospect.missing(prospect.recipe.checks)
    detail = f"{'; '.join(said) or 'nothing: no command is known or chosen'}{_without(missing)}"
    return Health("verify", not missing, detail)


def _servers_in(prospect: Prospect) -> Health:
    said = [f"{called}: {step} ({step.why})" for called, step in prospect.recipe.servers.items()]
    return Health("run", ok=True, detail="; ".join(said) or "nothing is known that you could start to look at the work")


def _pool_of(settings: Settings, project: ProjectSettings) -> Health:
    places = Places(settings.state_dir, project.name)
    trouble, ready = trouble_of(places), len(ready_in(places))
    why = f". Nothing is made ahead: {trouble}" if trouble else ""
    return Health("pool", not trouble, f"{ready} of {project.pool} worktrees wait for runs{why}")


def _without(missing: Sequence[str]) -> str:
    return f". Not in the sandbox: {', '.join(missing)}; see `sandbox.tools`" if missing else ""


def _not_reached(prospect: Prospect) -> str:
    if not prospect.hosts:
        return ""
    return (
        f". It downloads from hosts that it may not reach: put `{prospect.setting}` under `[sandbox]`, or "
        "`setup = false` into the project to go on without"
    )
