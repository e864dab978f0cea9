"""Credentials in `treehand init`: finds those that are there, says how each is used, and asks for those that are not.

Rule: a credential is copied only after a person has agreed, and never into the settings file.
"""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from bot.cli.init_advice import explain_github_token, site_of
from bot.cli.init_settings import SettingsDraft
from bot.cli.kept_secrets import keep_secret, secret_file
from bot.cli.output import print_text
from bot.cli.questions import Questions
from bot.errors import BadSettings
from bot.settings.credentials import KEY_VARIABLES, github_token, has_key, model_environment
from bot.settings.schema import Settings

_GH_SECONDS = 10
_SHORTEST = 12
_KEY_QUESTION = "Paste it here; it is not shown, and is kept in {file}, which only you can read (Enter: later):"


def ask_github_token(draft: SettingsDraft, settings: Settings, ask: Questions) -> SettingsDraft:
    """Only if there is no other way to sign in."""
    if not draft.on_github or draft.app:
        return draft
    if github_token(settings):
        print_text("Treehand signs in to GitHub with the token of your environment.")
        return draft
    site = site_of(settings.github.api_url)
    host = site.partition("://")[2]
    file = secret_file(f"{host}.token")
    if _is_kept(file):
        print_text(f"Treehand signs in to GitHub with the token in {file}.")
        return replace(draft, token_file=file)
    token = _token_of_gh(host)
    if token and ask.left:
        print_text(f"gh is signed in to {host} as you. With its token, Treehand may do whatever you may do there.")
        token = token if ask.agrees(f"Use it? A copy is kept in {file}, which only you can read.") else ""
    elif not token and ask.left:
        print_text("\n".join(explain_github_token(draft, site)))
        token = ask.secret(_KEY_QUESTION.format(file=file), _parse_secret)
    else:
        token = ""
    return replace(draft, token_file=_keep(file, token)) if token else draft


def ask_model_key(draft: SettingsDraft, settings: Settings, ask: Questions) -> SettingsDraft:
    if has_key(settings):
        (name, *_) = [name for name in KEY_VARIABLES if name in model_environment(settings)]
        print_text(f"The agent uses {name} of your environment; `treehand run` needs it as well.")
        return draft
    file = secret_file("model.key")
    if _is_kept(file):
        print_text(f"The agent uses the key in {file}.")
        return replace(draft, key_file=file)
    if not ask.left:
        return draft
    here = "" if shutil.which("claude") else ", a command of Claude Code"
    print_text("The agent needs a key for its model: an API key of Anthropic (https://console.anthropic.com), or")
    print_text(f"the token that `claude setup-token` prints{here}.")
    key = ask.secret(_KEY_QUESTION.format(file=file), _parse_secret)
    return replace(draft, key_file=_keep(file, key)) if key else draft


def _parse_secret(answer: str) -> str:
    if answer and (len(answer) < _SHORTEST or not answer.isascii() or not answer.isprintable() or " " in answer):
        raise ValueError("This is not a key. A key is one long word.")
    return answer


def _is_kept(file: Path) -> bool:
    return file.is_file() and file.stat().st_size > 0


def _keep(file: Path, text: str) -> Path:
    try:
        keep_secret(file, text)
    except OSError as problem:
        raise BadSettings(f"{file} cannot be written: {problem.strerror}.") from problem
    return file


def _token_of_gh(host: str) -> str:
    """Returns an empty string if `gh` is missing or not signed in."""
    try:
        result = subprocess.run(
            ["gh", "auth", "token", "--hostname", host], capture_output=True, text=True, timeout=_GH_SECONDS,
            check=False, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""
