"""Provides the versions that a repository asks for: chooses among the installed ones, and installs what is missing."""

from bot.domain.setup_plan import SetupPlan
from bot.git.in_thread import in_thread
from bot.ports import EventSink
from bot.setup.progress import report_progress
from bot.setup.resources import SetupResources
from bot.setup.toolchains import ToolChoice


async def provide_versions(plan: SetupPlan, resources: SetupResources, emit: EventSink) -> ToolChoice:
    """Raises NeedsHuman if what a registry has is not what the repository names."""
    chosen = await in_thread(resources.toolchains.choose, plan)
    installer = resources.installer if plan.steps else None
    if not (chosen.unmet and installer):
        return chosen
    problems = {}
    for tool, wanted in chosen.unmet.items():
        if program := installer.program_for(tool, wanted):
            text = f"Installing {tool} {wanted[0].range} with {program}"
            with report_progress(emit, resources.clock, "setup", f"install {tool}", text):
                problems[tool] = resources.secrets.redact(await in_thread(installer.install, tool, wanted))
    return await in_thread(resources.toolchains.choose, plan, problems=problems)
