"""Asks which commands `treehand init` writes, if files of the repository name different ones for the same purpose."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bot.cli.init_settings import SettingsDraft
from bot.cli.output import print_text
from bot.cli.questions import Questions
from bot.domain.setup_plan import SetupStep
from bot.errors import BotError
from bot.settings.schema import Settings
from bot.setup.build import plan_of_clone

_Choice = tuple[SetupStep, ...]


def ask_commands(draft: SettingsDraft, settings: Settings, clone: Path, ask: Questions) -> SettingsDraft:
    """The default answer writes nothing, so that the commands continue to follow the repository's files."""
    (project,) = settings.projects
    try:
        plan = plan_of_clone(clone, project)
    except BotError:
        return draft  # `check` says what is wrong
    if plan is None:
        return draft
    setup = [plan.steps, plan.other_steps] if plan.other_steps else []
    verify = [plan.checks, *((step,) for step in plan.other_checks)] if plan.other_checks else []
    return replace(
        draft,
        setup=_ask_one("install the dependencies", "setup", setup, ask),
        verify=_ask_one("test the work", "verify", verify, ask),
    )


def _ask_one(purpose: str, key: str, choices: Sequence[_Choice], ask: Questions) -> tuple[str, ...]:
    """Returns nothing for the first choice, which applies anyway."""
    if not choices:
        return ()
    print_text(f"Files of the repository name different commands to {purpose}:")
    for number, choice in enumerate(choices, start=1):
        listed = "; ".join(f"{step} ({step.why})" for step in choice) or "nothing"
        print_text(f"  {number}  {listed}")
    numbers = [str(number) for number in range(1, len(choices) + 1)]

    def parse(answer: str) -> str:
        if answer not in numbers:
            raise ValueError(f"Answer {' or '.join(numbers)}.")
        return answer

    chosen = int(ask(f"Which of them? {', '.join(numbers)}:", "1", parse)) - 1
    if chosen == 0:
        others = json.dumps([_in_shell(step) for step in choices[1]])
        print_text(f"  Treehand uses 1. To use 2, add this to the project: {key} = {others}")
        return ()
    return tuple(_in_shell(step) for step in choices[chosen])


def _in_shell(step: SetupStep) -> str:
    """As a command for the top of the worktree."""
    return f"cd {shlex.quote(step.folder)} && {step.command}" if step.folder else step.command
