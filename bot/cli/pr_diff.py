"""`treehand pr diff`: prints what a pull request changes. Sends no request, whatever the forge is."""

from argparse import Namespace

from bot.cli.output import print_diff
from bot.cli.settings import load_settings
from bot.control.issue_keys import find_run, parse_key
from bot.domain.branch_name import branch_for
from bot.errors import NeedsHuman
from bot.git.command import git
from bot.git.diff_text import diff_text
from bot.services.local.connect import open_local_server
from bot.services.local.input_rules import parse_local_key
from bot.services.registry import forge_of
from bot.settings.schema import Settings
from bot.workspace.paths import BASES, PUSHED, ProjectPaths


def diff(options: Namespace) -> None:
    settings = load_settings(options)
    project, _ = parse_key(settings, options.key)
    local = parse_local_key(options.key)
    if forge_of(project).kept_here and local:
        server = open_local_server(settings)
        try:
            text = server.pull_requests(project.name).diff(local[1], stat=options.stat)
        finally:
            server.close()
    else:
        text = _read_mirror(settings, options.key, stat=options.stat)
    print_diff(text.rstrip("\n"))


def _read_mirror(settings: Settings, key: str, *, stat: bool) -> str:
    """The commits that were published last, from this machine's copy of the repository."""
    run = find_run(settings, key)
    mirror, branch = ProjectPaths(settings.state_dir, run.project).mirror, branch_for(run)
    names = (f"{BASES}{branch}", f"{PUSHED}{branch}")
    found = git(mirror, "for-each-ref", "--format=%(refname)", *names).splitlines() if mirror.is_dir() else []
    if sorted(found) != sorted(names):
        raise NeedsHuman(
            f"This machine has no published commits of {run.key}. Open the pull request on its page: "
            f"`treehand show {run.key}` prints the address."
        )
    return diff_text(mirror, *names, stat=stat)
