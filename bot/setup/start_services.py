"""Makes sure that the services of a worktree start, before anything is spent on a run that needs them.

Rule: where commands reach the network, the services begin with no data: what an agent has written to a database may be
a program.
"""

from dataclasses import replace

from bot.domain.service import ServiceMounts
from bot.domain.setup_plan import SetupObstacle
from bot.domain.turn import WorktreeMounts
from bot.errors import NeedsHuman
from bot.git.in_thread import in_thread
from bot.setup.resources import SetupResources
from bot.setup.run_command import CommandOutcome, SetupCommand, run_command

_ADVICE = (
    "It runs in the sandbox, for this worktree alone, with data of its own.",
    'To start no services, set `services = false` in the project. To start only some: `services = ["redis"]`.',
)


async def ensure_services(
    mounts: WorktreeMounts, resources: SetupResources, marker: str, *, is_fresh: bool
) -> SetupObstacle | None:
    """`is_fresh`: deletes their data first. Data with which they do not start is deleted as well."""
    services = mounts.services
    if services is None:
        return None
    outcome = None if is_fresh else await _try(mounts, resources, marker)
    if outcome is None or outcome.code != 0:
        await in_thread(resources.discard, services.data)
        if services.data.exists():
            raise NeedsHuman(f"Services do not start with {services.data}: Treehand cannot remove it. Remove it.")
        outcome = await _try(mounts, resources, marker)
    if outcome.code == 0:
        return None
    names = ", ".join(one.title for one in services.programs)
    output = outcome.output or ("They took too long." if outcome.is_late else "They were ended.")
    return SetupObstacle(
        f"a service that the repository asks for did not start ({names})",
        "",
        "",
        resources.secrets.redact(output),
        _ADVICE,
    )


async def _try(mounts: WorktreeMounts, resources: SetupResources, marker: str) -> CommandOutcome:
    home = resources.test_home(mounts.folder)
    home.mkdir(parents=True, exist_ok=True)
    try:
        async with resources.sandbox.open_setup(mounts, home, marker, network=False) as sandbox:
            command = SetupCommand("true", mounts.folder, {}, marker)
            outcome = await run_command(command, sandbox, seconds=resources.setup_seconds)
            return replace(outcome, output=sandbox.kill_reason) if sandbox.kill_reason else outcome
    finally:
        await in_thread(resources.discard, home)


def at_rest(services: ServiceMounts | None) -> ServiceMounts | None:
    """The data alone, to be copied."""
    return replace(services, programs=()) if services else None
