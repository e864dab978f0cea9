"""`treehand init`: from nothing to settings that can be used, in at most five questions."""

import asyncio
import re
import shlex
import unicodedata
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from bot.cli.check import check, places_of
from bot.cli.init_advice import advice
from bot.cli.init_detect import Bearings, bearings_of, parse_repository
from bot.cli.init_settings import Draft
from bot.cli.main import parser
from bot.cli.output import say
from bot.cli.questions import Ask, asking
from bot.errors import BadSettings, BotError
from bot.services.linear.connect import team_findings
from bot.settings import GitHubSettings, Settings, load, settings_file
from bot.settings.credentials import github_token, has_linear_key

_PLACES = {"github": "github", "linear": "linear", "here": "local"}
_HERE = "."


def init(options: Namespace) -> None:
    file = settings_file(options.config)
    if file.exists():
        raise BadSettings(
            f"{file} is there already, and is never written over. Edit it, or move it away first: "
            f"mv {file} {file.name}.old"
        )
    if options.app and options.here:
        raise BadSettings("--app is for GitHub, and --here is not: leave one of them out.")
    bearings, ask = bearings_of(Path.cwd(), options), asking(silent=options.yes)
    for note in bearings.notes:
        say(note)
    settings, draft = _settled(file, _drafted(options, bearings, ask), ask, by_app=options.app)
    say(f"Wrote {file}.")
    if draft.app:
        _introduce_app(settings)
    _say_what_is_next(file, draft, settings, checked=not options.no_check)


def _settled(file: Path, draft: Draft, ask: Ask, *, by_app: bool) -> tuple[Settings, Draft]:
    """Nothing is left there unless it can be used."""
    settings = _written(file, draft)
    try:
        if draft.tracker == "local":
            places_of(settings)
        if draft.tracker == "linear" and has_linear_key(settings):
            _find_team(settings)
        if draft.on_github and (by_app or _wants_app(ask, settings)):
            from bot.cli.github_app import register

            draft = replace(draft, app=register(draft, settings))
            file.write_text(str(draft), encoding="utf-8")
            settings = load(file)
    except BaseException:
        file.unlink()
        raise
    return settings, draft


def _drafted(options: Namespace, bearings: Bearings, ask: Ask) -> Draft:
    tracker = _tracker(options, bearings, ask)
    team = ""
    if tracker == "linear":
        team = options.team or ask("Which team in Linear? Its key, such as ENG:", "", _team)
    repository = _HERE if options.here or tracker == "local" else _repository(options, bearings, ask, tracker)
    called = bearings.folder.name if repository == _HERE else repository.partition("/")[2]
    name = options.name or ask("What shall the project be called?", _plain_name(called), _known_name)
    base = options.base
    if repository == _HERE:
        base = base or ask("Which branch do agents start from, and merge into?", bearings.branch, _said)
    api_url = options.api_url or _api_url_of(bearings, repository)
    folder = bearings.folder
    place = _HERE if settings_file(options.config).resolve().parent == folder else str(folder)
    return Draft(name, tracker, repository, base, team.upper(), api_url if repository != _HERE else "", folder=place)


def _tracker(options: Namespace, bearings: Bearings, ask: Ask) -> str:
    if options.team:
        return "linear"
    if options.here:
        return "local"
    if options.repository or options.app:
        return "github"
    likely = "github" if bearings.repository else "here"
    return _PLACES[ask(f"Where are the issues? {', '.join(_PLACES)}:", likely, _place)]


def _repository(options: Namespace, bearings: Bearings, ask: Ask, tracker: str) -> str:
    if options.repository:
        return _parsed(options.repository)
    if tracker == "linear":
        question = f"Where are pull requests offered? OWNER/NAME on GitHub, or {_HERE} for this folder:"
        return ask(
            question, bearings.repository or _HERE, lambda said: said if said == _HERE else parse_repository(said)
        )
    return ask("Which repository on GitHub? OWNER/NAME:", bearings.repository, parse_repository)


def _parsed(repository: str) -> str:
    try:
        return parse_repository(repository)
    except ValueError as problem:
        raise BadSettings(f"--repository: {problem}") from None


def _api_url_of(bearings: Bearings, repository: str) -> str:
    """Empty where it is GitHub's own, or the environment says another."""
    found = bearings.github
    usual = GitHubSettings().api_url
    return found.api_url if found and found.repository == repository and found.api_url != usual else ""


def _wants_app(ask: Ask, settings: Settings) -> bool:
    """Whoever has a token has answered."""
    if github_token(settings):
        return False
    question = "Sign in to GitHub with a token, or as an App of your own (made in your browser)? token, app:"
    return ask(question, "token", _way) == "app"


def _written(file: Path, draft: Draft) -> Settings:
    """Not left there when it cannot be read back; and never over something else."""
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(str(draft))
    except OSError as exc:
        raise BadSettings(
            f"{file} cannot be written: {exc.strerror}. Go to a folder of yours, or name one with --config."
        ) from exc
    try:
        return load(file)
    except BotError:
        file.unlink()
        raise


def _find_team(settings: Settings) -> None:
    """A team that is not there is no beginning."""
    (project,) = settings.projects
    (_, known, said), *_ = asyncio.run(team_findings(settings, project, fix=False))
    if not known:
        raise BadSettings(said)


def _introduce_app(settings: Settings) -> None:
    from bot.cli.github_app import wait_until_installed

    wait_until_installed(settings)


def _say_what_is_next(file: Path, draft: Draft, settings: Settings, *, checked: bool) -> None:
    wrong = 0
    if checked:
        say("\nIs everything ready? (`treehand check` says it again)", flush=True)
        wrong = check(parser().parse_args(["--config", str(file), "check", "--fix"]))
    if told := list(advice(draft, settings)):
        say("\nStill wanted:")
        say("\n".join(f"  {line}" for line in told))
    say("\nNext:\n")
    if draft.folder != _HERE:
        say(f"  export TREEHAND_CONFIG={shlex.quote(str(file.resolve()))}   (or --config, before each command)")
    if wrong or not checked:
        say("  treehand check --fix   (until nothing is wrong any more; makes the labels)")
    say("  treehand run           (until Ctrl-C)")
    if draft.tracker == "local":
        say('  treehand issue new "Say hello" --body "What you want, in your words." --label ai')
    if draft.tracker == "local" and draft.folder == _HERE:
        say(f"\nYour repository need not carry {file.name}: `echo {file.name} >> .git/info/exclude` keeps it out.")
    if draft.tracker != "local":
        say("  then put the label `ai` on an issue")


def _place(said: str) -> str:
    if said.lower() not in _PLACES:
        raise ValueError(f"{said!r} is none of them.")
    return said.lower()


def _team(said: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", said):
        raise ValueError("It is what stands before the number of each of its issues: ENG in ENG-7. Or give --team.")
    return said


def _way(said: str) -> str:
    if said.lower() not in {"token", "app"}:
        raise ValueError(f"{said!r} is neither.")
    return said.lower()


def _known_name(said: str) -> str:
    if said != _plain_name(said):
        raise ValueError("Use letters, digits, '-', '_' and '.'.")
    return said


def _said(said: str) -> str:
    if not said:
        raise ValueError("It must be said.")
    return said


def _plain_name(text: str) -> str:
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    return re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("-.") or "project"
