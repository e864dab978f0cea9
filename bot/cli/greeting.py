"""Greets the person who starts the daemon at a terminal: where the dashboard is, and what to type next."""

from contextlib import closing

from bot.cli.login import address_of, login_link
from bot.cli.output import print_text
from bot.services.registry import tracker_of
from bot.settings.schema import Settings
from bot.store.build import open_store


def greet(settings: Settings, *, has_link: bool) -> None:
    """`has_link`: the dashboard needs a login, with a link that Treehand makes."""
    names = ", ".join(project.name for project in settings.projects)
    print_text(f"Treehand works on {names or 'no project'}. Ctrl-C stops it, and the next start continues.")
    if has_link:
        # the link is for the person at the terminal alone: a log is read by others, and kept
        print_text("Dashboard; this link logs you in, once and within ten minutes:")
        print_text(f"  {login_link(settings)}")
    elif settings.web.bind:
        print_text(f"Dashboard: {address_of(settings)}")
    print_text(f"{_what_next(settings)}\n", flush=True)


def _what_next(settings: Settings) -> str:
    with closing(open_store(settings)) as store:
        count = len(store.active())
    if count:
        runs = "1 run continues" if count == 1 else f"{count} runs continue"
        return f"{runs}: `treehand status` shows what each is waiting for."
    if any(tracker_of(project).kept_here for project in settings.projects):
        command = f'treehand issue new "Say hello" --label {settings.label}'
        return f"There is nothing to do yet. In another terminal, in this folder: {command}"
    return f"If there is nothing to do yet, put the label `{settings.label}` on an issue."
