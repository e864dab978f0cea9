"""`treehand check --learn`, and a step of `treehand init`: learns the hosts of setup, and allows them.

Rule: nothing runs and nothing is written before the operator has been told about it.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from bot.cli.output import indented, print_text
from bot.cli.questions import Questions
from bot.errors import NeedsHuman, Retryable
from bot.secret_scan.build import load_secrets
from bot.services.registry import remote_of
from bot.settings.change_file import allow_setup_hosts
from bot.settings.load import load
from bot.settings.schema import ProjectSettings, Settings
from bot.setup.build import learn_hosts, preview_setup
from bot.setup.download_hosts import missing_hosts, setup_hosts_line
from bot.setup.learn_hosts import LearnedSetup
from bot.system.private_files import ensure_private_folder, refuse_foreign_folder

_RISK = (
    "The code of your dependencies then runs in the sandbox, without secrets and without the model, and can reach "
    "every public host on port 443."
)
_NO_SANDBOX = "Without a sandbox, setup reaches every host: there is nothing to learn."


def learn_all(file: Path, *, write: bool) -> None:
    """`write`: allows what was learned without a question."""
    settings = load(file)
    if settings.sandbox.kind == "none":
        print_text(_NO_SANDBOX)
        return
    for project in settings.projects:
        learn_project(file, load(file), project, Questions(use_defaults=write), write=write)


def learn_project(
    file: Path, settings: Settings, project: ProjectSettings, ask: Questions, *, write: bool, in_one: bool = False
) -> None:
    """`in_one`: one answer lets setup run, and allows its hosts."""
    preview = preview_setup(settings, project)
    if preview and not preview.plan.steps:
        print_text(f"{project.name}: no setup command is detected or configured, so there is nothing to learn.")
        return
    steps = "; ".join(map(str, preview.plan.steps)) if preview else "as detected"
    print_text(f"{project.name}: to learn which hosts setup needs, Treehand runs it once on the base branch: {steps}")
    print_text(_RISK, flush=True)
    if not (write or ask.agrees("Run it now, and allow these hosts from now on?" if in_one else "Run it now?")):
        return
    learned = _learn(settings, project)
    if learned is None:
        return
    _tell(learned)
    named = [host for host in (preview.hosts if preview else ()) if host not in learned.private]
    hosts = missing_hosts((*learned.hosts, *named), settings.sandbox.setup_hosts)
    if not hosts:
        print_text("Setup may already reach every host that it downloads from.")
        return
    _allow(file, settings, hosts, ask, write=write or in_one)


def may_ask() -> bool:
    return sys.stdin.isatty()


def _learn(settings: Settings, project: ProjectSettings) -> LearnedSetup | None:
    refuse_foreign_folder(settings.state_dir)
    ensure_private_folder(settings.state_dir)
    secrets = load_secrets(settings)

    async def run() -> LearnedSetup:
        return await learn_hosts(settings, project, await remote_of(settings, project), secrets)

    try:
        return asyncio.run(run())
    except (NeedsHuman, Retryable) as problem:
        print_text(f"Setup could not run: {secrets.redact(str(problem))}")
        return None


def _tell(learned: LearnedSetup) -> None:
    for host in learned.private:
        print_text(f"{host} has a private address and was refused: see `sandbox.private_hosts`.")
    if learned.obstacle:
        print_text(f"Setup failed, so it may need more hosts: {learned.obstacle.sentence}")
        if learned.obstacle.output:
            print_text(indented(learned.obstacle.output))


def _allow(file: Path, settings: Settings, hosts: Sequence[str], ask: Questions, *, write: bool) -> None:
    line = setup_hosts_line((*settings.sandbox.setup_hosts, *hosts))
    found = f"Setup downloads from {_listed(hosts)}."
    if write:
        print_text(found)
    elif not ask.agrees(f"{found} Allow these from now on?"):
        print_text(f"Nothing was changed. To allow them later, add this under `[sandbox]`: {line}")
        return
    if not allow_setup_hosts(file, hosts):
        print_text(f"Treehand cannot change `setup_hosts` in {file}. Write this under `[sandbox]`: {line}")
    elif missing_hosts(hosts, load(file).sandbox.setup_hosts):
        print_text("Added them to the file, but the variable TREEHAND_SANDBOX__SETUP_HOSTS overrides it.")
    else:
        print_text(f"Added them to {file}. A running daemon uses them at once.")


def _listed(hosts: Sequence[str]) -> str:
    *most, last = hosts
    return f"{', '.join(most)} and {last}" if most else last
