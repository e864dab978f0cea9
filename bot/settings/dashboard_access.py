"""Access to the dashboard: who must log in, and the secrets that are made for it in the state directory."""

import contextlib
import os
import pwd
import secrets
from collections.abc import Iterable
from pathlib import Path

from bot.errors import BadSettings
from bot.settings.credentials import MADE_WEB_TOKEN, configured_web_token, read_made_web_token
from bot.settings.schema import ProjectSettings, Settings
from bot.system.locks import daemon_pid, unusable_folder

_COOKIE_KEY = "web.key"
_ADDRESS = "dashboard.address"
"""File with the address that the daemon of this state directory listens on; empty if it does not."""
_LOOPBACK = {"127.0.0.1", "localhost", "[::1]"}
_FIRST_PERSON, _NOBODY = 1000, 65534
"""User ids of people lie between these; those below are the system's."""
_NO_LOGIN = {"", "nologin", "false", "sync", "shutdown", "halt"}
"""Shells of accounts that nobody logs in to."""
_MOST_NAMES = 3


def web_token(settings: Settings) -> str:
    """Returns the token of the dashboard, or an empty string if nobody needs one. Makes a missing one.

    Raises BadSettings if other machines can connect and neither a token nor `web.user_header` is set.
    """
    web = settings.web
    host = web.bind.rpartition(":")[0]
    if not host:
        return ""
    if (token := configured_web_token(settings)) or web.user_header:
        return token
    if host not in _LOOPBACK:
        raise BadSettings(
            f"web.bind = {web.bind!r} accepts other machines and needs a token: set TREEHAND_WEB__TOKEN, "
            "or web.user_header behind a proxy that people sign in to."
        )
    return _ensure_secret_file(settings.state_dir / MADE_WEB_TOKEN) if _needs_login(settings) else ""


def has_made_token(settings: Settings) -> bool:
    """Returns True if Treehand made the token itself, so that people need a link."""
    token = web_token(settings)
    return bool(token) and token == read_made_web_token(settings.state_dir)


def cookie_key(settings: Settings) -> str:
    """Signs login cookies together with the token, so that no cookie can be guessed even if the token can."""
    return _ensure_secret_file(settings.state_dir / _COOKIE_KEY)


def describe_access(settings: Settings) -> str:
    """Says in one line who may use the dashboard. Raises BadSettings like `web_token`."""
    web, people = settings.web, list_other_people()
    if not web.bind:
        return "off (web.bind is empty)"
    if configured_web_token(settings):
        return "people log in with the token"
    web_token(settings)
    if web.user_header:
        return f"the proxy names the person, in {web.user_header}"
    if _needs_login(settings):
        why = f"{_name_some(people)} can log in to this machine" if people else 'web.login = "always"'
        return f"people log in, because {why}: `treehand login` prints a link"
    if people:
        return f'no login is needed (web.login = "never"), although {_name_some(people)} can log in to this machine'
    return "no login is needed: nobody else has an account on this machine"


def list_other_people(accounts: Iterable[pwd.struct_passwd] | None = None, uid: int | None = None) -> list[str]:
    """Returns the names of the accounts of this machine that another person could log in to."""
    ours = os.geteuid() if uid is None else uid
    return [
        one.pw_name
        for one in (pwd.getpwall() if accounts is None else accounts)
        if _FIRST_PERSON <= one.pw_uid < _NOBODY and one.pw_uid != ours
        if one.pw_shell.rpartition("/")[2] not in _NO_LOGIN
    ]


def _needs_login(settings: Settings) -> bool:
    return settings.web.login == "always" or (settings.web.login == "auto" and bool(list_other_people()))


def _name_some(people: list[str]) -> str:
    more = len(people) - _MOST_NAMES
    return ", ".join(people[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _ensure_secret_file(file: Path) -> str:
    """Only its owner can read it. Two processes that make it at the same time get the same secret."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = file.with_name(f"{file.name}.{os.getpid()}")
        fresh.touch(mode=0o600)
        fresh.write_text(secrets.token_urlsafe(32))
        with contextlib.suppress(FileExistsError):
            os.link(fresh, file)
        fresh.unlink()
    return file.read_text().strip()


def dashboard_bind(settings: Settings) -> str:
    """Returns the address that the running daemon listens on; without a daemon that of the settings."""
    if not daemon_pid(settings.state_dir):
        return settings.web.bind
    try:
        return (settings.state_dir / _ADDRESS).read_text().strip()
    except OSError:  # the demo has no such file
        return settings.web.bind


def record_dashboard(settings: Settings, bind: str) -> None:
    """Only the daemon calls this, because it owns the state directory."""
    try:
        (settings.state_dir / _ADDRESS).write_text(f"{bind}\n")
    except OSError as problem:
        raise unusable_folder(settings.state_dir, problem) from problem


def may_move_dashboard(settings: Settings) -> bool:
    """Returns True if nobody has chosen the port."""
    return "bind" not in settings.web.model_fields_set


def dashboard_of_pulls(settings: Settings, project: ProjectSettings) -> str:
    """Address of the dashboard, for links to pull requests on an issue; empty if links are not needed, or lead nowhere.

    They are needed where the issues are with a service, and the pull requests are kept here.
    """
    if project.forge != "local" or project.tracker == "local":
        return ""
    bind = dashboard_bind(settings)
    is_here = bind.rpartition(":")[0] in _LOOPBACK
    return settings.notify.link or (f"http://{bind}" if is_here else "")
