"""`treehand init`: from nothing to settings that can be used."""

import asyncio
import re
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from bot.connecting import team_findings
from bot.credentials import has_linear_key
from bot.errors import BadSettings, BotError
from bot.preparing import prospect_of
from bot.settings import Settings, load, settings_file
from bot.terminal.saying import say
from bot.terminal.setup import places_of
from bot.workspace.git import GitFailed, git

_TOML = """\
# Treehand's settings. `treehand check` says whether all is well; docs/settings.md has every key.

state_dir = "~/.local/state/treehand/{name}"   # database, mirrors, worktrees, transcripts
label = "ai"                                    # asks for work

[limits]
working = 4                                     # agents at once

[budget]                                        # 0 = no limit
per_issue_usd = 5
per_day_usd = 50

"""
_LOCAL = """
[[projects]]
name = "{name}"
tracker = "local"                               # the embedded one: `treehand issue new`
repository = "."                                # this repository; merges land on its branch
base = "{base}"
"""
_GITHUB = """
[[projects]]
name = "{name}"
tracker = "github"                              # the token: GITHUB_TOKEN, or see docs/github.md
repository = "{repository}"
base = "{base}"                                       # empty: the default branch
"""


_LINEAR = """
[[projects]]
name = "{name}"
tracker = "linear"                              # the key: LINEAR_API_KEY, or see docs/linear.md
team = "{team}"
repository = "{repository}"
base = "{base}"                                       # empty: the default branch
"""


def init(options: Namespace) -> None:
    file = settings_file(options.config)
    if file.exists():
        raise BadSettings(f"{file} is there already. Edit it, or remove it first.")
    if options.team:
        _init_on_linear(file, options)
        return
    if options.repository:
        _init_on_github(file, options)
        return
    folder = file.resolve().parent
    base = options.base or _default_base(folder)
    ask = _ask if sys.stdin.isatty() and not options.yes else _take
    name = options.name or ask("What shall the project be called?", _plain_name(folder.name))
    base = base if options.base else ask("Which branch do agents start from, and merge into?", base)
    settings = _written(file, (_TOML + _LOCAL).format(name=name, base=base))
    try:
        places_of(settings)
    except BotError:
        file.unlink()
        raise
    print(f"Wrote {file}. Next:\n")
    _say_what_it_downloads(settings, file)
    print('  treehand issue new "Say hello" --body "What you want, in your words." --label ai')
    print("  treehand run          (with ANTHROPIC_API_KEY set)")
    print("  treehand status       (in another terminal)\n")
    print(f"Your repository need not carry {file.name}: `echo {file.name} >> .git/info/exclude` keeps it out.")


def _say_what_it_downloads(settings: Settings, file: Path) -> None:
    (project,) = settings.projects
    prospect = prospect_of(settings, project)
    if prospect is None or not prospect.recipe.steps:
        return
    say(f"  Before an agent begins, I run: {'; '.join(map(str, prospect.recipe.steps))}")
    if prospect.hosts:
        say(f"  It downloads packages. To allow that, put this at the end of {file.name}:\n")
        say(f"      [sandbox]\n      {prospect.setting}")
    say("")


def _init_on_github(file: Path, options: Namespace) -> None:
    name = options.name or _plain_name(options.repository.rpartition("/")[2])
    _written(file, (_TOML + _GITHUB).format(name=name, base=options.base, repository=options.repository))
    print(f"Wrote {file}. Next:\n")
    print("  export GITHUB_TOKEN=...   (docs/github.md says which permissions it needs)")
    print("  treehand check --fix      (all ready? makes the labels that are missing)")
    print("  treehand run              (with ANTHROPIC_API_KEY set; then label an issue)")


def _init_on_linear(file: Path, options: Namespace) -> None:
    """Without a repository on GitHub, this one takes what is made."""
    repository, folder = options.repository or ".", file.resolve().parent
    base = options.base or ("" if options.repository else _default_base(folder))
    name = options.name or _plain_name((options.repository or folder.name).rpartition("/")[2])
    settings = _written(
        file, (_TOML + _LINEAR).format(name=name, base=base, repository=repository, team=options.team.upper())
    )
    if has_linear_key(settings):
        _look_at_team(file, settings, ask=_ask if sys.stdin.isatty() and not options.yes else _take)
    print(f"Wrote {file}. Next:\n")
    if not has_linear_key(settings):
        print("  export LINEAR_API_KEY=...   (docs/linear.md says how to get one, and what it must be allowed)")
    if options.repository:
        print("  export GITHUB_TOKEN=...     (docs/github.md says which permissions it needs)")
    print("  treehand check --fix        (all ready? makes the labels that are missing)")
    print("  treehand run                (with ANTHROPIC_API_KEY set; then label an issue)")


def _look_at_team(file: Path, settings: Settings, *, ask: Callable[[str, str], str]) -> None:
    """A team that is not there is no beginning. Labels are made if that is wanted."""
    (project,) = settings.projects
    found = asyncio.run(team_findings(settings, project, fix=False))
    if not found[0][1]:
        file.unlink()
        raise BadSettings(found[0][2])
    missing = any(name == "labels" and not ok for name, ok, _ in found)
    if missing and ask("Make the labels that are missing in Linear?", "yes").lower().startswith("y"):
        found = asyncio.run(team_findings(settings, project, fix=True))
    for name, ok, detail in found:
        say(f"{'ok   ' if ok else 'WRONG'}  {name:<12} {detail}")


def _written(file: Path, text: str) -> Settings:
    """Not left there when it cannot be read back."""
    file.write_text(text, encoding="utf-8")
    try:
        return load(file)
    except BotError:
        file.unlink()
        raise


def _ask(question: str, default: str) -> str:
    return input(f"{question} [{default}] ").strip() or default


def _take(_question: str, default: str) -> str:
    return default


def _plain_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or "project"


def _default_base(folder: Path) -> str:
    """The branch the repository is on."""
    for candidate in (folder / ".git", folder):
        try:
            common = Path(git(candidate, "rev-parse", "--path-format=absolute", "--git-common-dir"))
        except GitFailed:
            continue
        try:
            return git(common, "symbolic-ref", "--quiet", "--short", "HEAD")
        except GitFailed:
            return "main"
    raise BadSettings(f"{folder} is not a git repository. Go to yours, or run `git init` and commit something first.")
