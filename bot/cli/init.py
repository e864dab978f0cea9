"""`treehand init`: asks a few questions and writes the settings file."""

import asyncio
import contextlib
import re
import shlex
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from bot.cli.add import link_user_settings, offer_to_add
from bot.cli.check import check, check_repositories
from bot.cli.init_advice import advice
from bot.cli.init_commands import ask_commands
from bot.cli.init_credentials import ask_github_token, ask_model_key
from bot.cli.init_detect import DetectedSetup, detect_setup, parse_repository
from bot.cli.init_finish import allow_tools, ask_first_issue, ignore_file
from bot.cli.init_settings import SettingsDraft, plain_name, schema_file
from bot.cli.learn import learn_project
from bot.cli.main import parser
from bot.cli.output import print_text
from bot.cli.questions import Questions
from bot.cli.state_folder import choose_state_dir
from bot.errors import BadSettings, BotError
from bot.services.linear.connect import LinearService
from bot.settings.credentials import has_linear_key
from bot.settings.find_file import is_named, new_settings_file
from bot.settings.json_schema import as_text, settings_schema
from bot.settings.load import load
from bot.settings.schema import GitHubSettings, Settings
from bot.setup.build import preview_setup
from bot.system.private_files import share_file
from bot.workspace.repository_record import identify_folder, identify_on_github

_TRACKERS = {"github": "github", "linear": "linear", "here": "local"}
"""Names of trackers in the settings, by the answer."""
_HERE = "."


def init(options: Namespace) -> None:
    file = new_settings_file(options.config)
    if file.exists():
        raise BadSettings(
            f"{file} exists already, and `treehand init` never overwrites it. Edit it, or move it away: "
            f"mv {file} {file.name}.old"
        )
    if options.app and options.here:
        raise BadSettings("--app is for GitHub and --here is for this machine: use only one of them.")
    ask = Questions(use_defaults=options.yes)
    if not offer_to_add(options, ask):
        _set_up(file, options, ask)


def _set_up(file: Path, options: Namespace, ask: Questions) -> None:
    settings, draft = _ask_and_write(file, options, ask)
    failed = True
    if not options.no_check:
        settings = _learn_hosts(file, allow_tools(file, settings), ask, uses_defaults=options.yes)
        print_text("\nIs everything ready?", flush=True)
        failed = bool(check(parser().parse_args(["--config", str(file), "check", "--fix"])))
    missing = list(advice(draft, settings))
    key = "" if failed or missing else ask_first_issue(settings, ask)
    _print_next_steps(file, draft, missing, failed=failed, key=key)


def _ask_and_write(file: Path, options: Namespace, ask: Questions) -> tuple[Settings, SettingsDraft]:
    detected = detect_setup(Path.cwd(), options)
    for note in detected.notes:
        print_text(note)
    settings, draft = _write_valid(file, _with_state_dir(_ask_all(options, detected, ask)), ask, by_app=options.app)
    if detected.local and draft.repository in {_HERE, detected.repository}:
        settings, draft = _write_commands(file, draft, settings, detected.local.top, ask)
    _write_schema()
    print_text(f"Wrote {file}. {_describe(draft)}")
    if detected.local:
        ignore_file(file, detected.local.top)
    if not is_named(options.config):
        link_user_settings(file)
    if draft.app:
        from bot.cli.github_app import wait_until_installed

        wait_until_installed(settings)
    return settings, draft


def _with_state_dir(draft: SettingsDraft) -> SettingsDraft:
    on_github = identify_on_github(draft.api_url or GitHubSettings().api_url, draft.repository)
    record = on_github if draft.on_github else identify_folder(Path.cwd())
    return replace(draft, state_dir=choose_state_dir(draft.name, record))


def _write_schema() -> None:
    """Replaces that of an older version. Editors can do without it."""
    with contextlib.suppress(OSError):
        schema_file().parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        schema_file().write_text(as_text(settings_schema()), encoding="utf-8")


def _describe(draft: SettingsDraft) -> str:
    """Says what was chosen without a question."""
    base = draft.base or "the default branch"
    pulls = f"on GitHub, in {draft.repository}" if draft.on_github else "on this machine"
    what = (
        f"Issues are in Linear, team {draft.team}; pull requests are" if draft.team else "Issues and pull requests are"
    )
    chosen = f"{what} {pulls}. Agents of the project {draft.name} start from {base}."
    waits = 'Workflows run what agents wrote at once; `ci = "after-approval"` makes them wait for you.'
    return f"{chosen}\n{waits}" if draft.on_github else chosen


def _write_valid(file: Path, draft: SettingsDraft, ask: Questions, *, by_app: bool) -> tuple[Settings, SettingsDraft]:
    """Removes the file again unless its settings can be used."""
    settings = _write(file, draft)
    try:
        if draft.tracker == "local":
            check_repositories(settings)
        if draft.tracker == "linear" and has_linear_key(settings):
            _ensure_team_exists(settings)
        if draft.on_github and by_app:
            from bot.cli.github_app import create_app

            draft = replace(draft, app=create_app(draft, settings))
        draft = ask_model_key(ask_github_token(draft, settings, ask), settings, ask)
        file.write_text(str(draft), encoding="utf-8")
        return load(file), draft
    except BaseException:
        file.unlink()
        raise


def _write_commands(
    file: Path, draft: SettingsDraft, settings: Settings, clone: Path, ask: Questions
) -> tuple[Settings, SettingsDraft]:
    """Removes the file if no answer is given."""
    try:
        chosen = ask_commands(draft, settings, clone, ask)
        if chosen != draft:
            file.write_text(str(chosen), encoding="utf-8")
        return load(file), chosen
    except BaseException:
        file.unlink()
        raise


def _ask_all(options: Namespace, detected: DetectedSetup, ask: Questions) -> SettingsDraft:
    tracker = _ask_tracker(options, detected, ask)
    team = ""
    if tracker == "linear":
        team = options.team or ask("Which team in Linear? Its key, such as ENG:", "", _parse_team)
    local = options.here or tracker == "local"
    repository = _HERE if local else _ask_repository(options, detected, ask, tracker)
    folder_name = detected.folder.name if repository == _HERE else repository.partition("/")[2]
    name = options.name or plain_name(folder_name)
    base = options.base or (detected.branch if repository == _HERE else "")
    api_url = options.api_url or _detected_api_url(detected, repository)
    folder = detected.folder
    place = _HERE if new_settings_file(options.config).resolve().parent == folder else str(folder)
    return SettingsDraft(name, tracker, repository, base, team.upper(), api_url, folder=place)


def _ask_tracker(options: Namespace, detected: DetectedSetup, ask: Questions) -> str:
    if options.team:
        return "linear"
    if options.here:
        return "local"
    if options.repository or options.app:
        return "github"
    default = "github" if detected.repository else "here"
    return _TRACKERS[ask(f"Where are the issues? {', '.join(_TRACKERS)}:", default, _parse_tracker)]


def _ask_repository(options: Namespace, detected: DetectedSetup, ask: Questions, tracker: str) -> str:
    """Asks only if neither the options nor the clone tell."""
    if options.repository:
        return _parse_repository_option(options.repository)
    if detected.repository or tracker == "linear":
        return detected.repository or _HERE
    return ask("Which repository on GitHub? OWNER/NAME:", "", parse_repository)


def _parse_repository_option(repository: str) -> str:
    try:
        return parse_repository(repository)
    except ValueError as problem:
        raise BadSettings(f"--repository: {problem}") from None


def _detected_api_url(detected: DetectedSetup, repository: str) -> str:
    """Returns an empty string for GitHub's own API, and if the environment names another."""
    remote = detected.github
    default = GitHubSettings().api_url
    return remote.api_url if remote and remote.repository == repository and remote.api_url != default else ""


def _write(file: Path, draft: SettingsDraft) -> Settings:
    """Never overwrites a file; removes the new one if it cannot be read back."""
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(str(draft))
        share_file(file)  # the file contains no secret, and people commit it
    except OSError as exc:
        raise BadSettings(
            f"{file} cannot be written: {exc.strerror}. Change to a folder of yours, or name a file with --config."
        ) from exc
    try:
        return load(file)
    except BotError:
        file.unlink()
        raise


def _ensure_team_exists(settings: Settings) -> None:
    (project,) = settings.projects
    (_, exists, detail), *_ = asyncio.run(LinearService().check(settings, project, fix=False))
    if not exists:
        raise BadSettings(detail)


def _print_next_steps(file: Path, draft: SettingsDraft, missing: list[str], *, failed: bool, key: str) -> None:
    if missing:
        print_text("\nStill missing:")
        print_text("\n".join(f"  {line}" for line in missing))
    print_text("\nNext:\n")
    if draft.folder != _HERE:
        print_text(f"  export TREEHAND_CONFIG={shlex.quote(str(file.resolve()))}   (or --config with each command)")
    if failed and draft.tracker == "local":
        print_text("  treehand check         (until every check passes)")
    elif failed:
        print_text("  treehand check --fix   (until every check passes; creates the labels)")
    print_text("  treehand run           (until Ctrl-C)")
    if key:
        print_text(f"  treehand logs {key} -f   (in another terminal, to watch the agent)")
    elif draft.tracker == "local":
        print_text('  treehand issue new "Say hello" --body "Describe the work in your own words." --label ai')
    else:
        print_text("  then put the label `ai` on an issue")


def _learn_hosts(file: Path, settings: Settings, ask: Questions, *, uses_defaults: bool) -> Settings:
    """Only if setup is known already and someone has agreed, by an answer or by `--yes`."""
    (project,) = settings.projects
    preview = preview_setup(settings, project) if uses_defaults or ask.left else None
    if settings.sandbox.kind == "none" or not (preview and preview.plan.steps):
        return settings
    learn_project(file, settings, project, ask, write=uses_defaults, in_one=True)
    return load(file)


def _parse_tracker(answer: str) -> str:
    if answer.lower() not in _TRACKERS:
        raise ValueError(f"{answer!r} is not an option.")
    return answer.lower()


def _parse_team(answer: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", answer):
        raise ValueError("The key comes before the number of each issue: ENG in ENG-7. `--team` sets it, too.")
    return answer
