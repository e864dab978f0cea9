"""Secrets: never in the settings file, only in the environment or in files of their own. Asked for when needed."""

import contextlib
import hashlib
import hmac
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from bot.errors import BadSettings
from bot.settings import SECRETS, Settings

MODEL_VARIABLES = (
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "ANTHROPIC_MODEL",
)
"""How the agent's own CLI is told where its model is and with which key."""

_SECRET_NAME = re.compile(
    r"TOKEN|SECRET|PASSW|PASS$|_PWD$|PASSPHRASE|CREDENTIAL|(API|ACCESS|PRIVATE|AUTH|SIGNING|ENCRYPTION)_?KEY",
    re.IGNORECASE,
)
_LEAST_SECRET = 12
"""Letters of a variable that is only called a secret."""
_IN_URL = re.compile(r"://[^\s:/@]*:([^\s/@]*\d[^\s/@]*)@")
"""A password, as of a proxy or a database: one without a digit may stand in any text."""

_PASSWORD = re.compile(r"://[^\s:/@]*:([^\s/@]+)@")
_NOTIFY_URLS = "TREEHAND_NOTIFY__URLS"

_MARKERS = "markers"
_DAEMON = "daemon.id"
_SECRETS_KEPT = 20

KEY_VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")


_SUBSCRIPTION = "sk-ant-oat"
"""How a token of `claude setup-token` begins; anything else is a key of the API."""


def model_environment(settings: Settings) -> dict[str, str]:
    """A key in the environment goes before one in a file."""
    given = {name: os.environ[name] for name in MODEL_VARIABLES if os.environ.get(name)}
    if settings.agent.key_file is None or given.keys() & set(KEY_VARIABLES):
        return given
    key = _content_of("agent.key_file", settings.agent.key_file)
    return {**given, "CLAUDE_CODE_OAUTH_TOKEN" if key.startswith(_SUBSCRIPTION) else "ANTHROPIC_API_KEY": key}


def has_key(settings: Settings) -> bool:
    """Is there any credential for the model?"""
    return bool(model_environment(settings).keys() & set(KEY_VARIABLES))


def ensure_key(settings: Settings) -> None:
    """Raises what to do where there is none."""
    if not has_key(settings):
        raise BadSettings(
            "The agent has no key for its model: set ANTHROPIC_API_KEY, CLAUDE_CODE_OAUTH_TOKEN or agent.key_file."
        )


def github_token(settings: Settings) -> str:
    """Empty: none was given."""
    given = _secret("github.token", settings.github.token_file)
    return given or os.environ.get("GITHUB_TOKEN", "").strip()


def github_app_key(settings: Settings) -> str:
    """The private key of the GitHub App, if there is to be one."""
    github = settings.github
    if not github.app_id:
        return ""
    if github.private_key_file is None:
        raise BadSettings("github.app_id is set but github.private_key_file is not. Name the App's private key file.")
    return _content_of("github.private_key_file", github.private_key_file)


def has_linear_key(settings: Settings) -> bool:
    return bool(_linear_oauth_token(settings) or _linear_api_key(settings))


def linear_authorization(settings: Settings) -> str:
    """As Linear wants it: a key as it is, the token of an application as a bearer's. Raises when there is neither."""
    token, key = _linear_oauth_token(settings), _linear_api_key(settings)
    if not (token or key):
        raise BadSettings(
            "There is no key for Linear: set LINEAR_API_KEY, linear.api_key_file, or linear.oauth_token_file for an "
            "OAuth application."
        )
    return f"Bearer {token}" if token else key


def _linear_oauth_token(settings: Settings) -> str:
    return _secret("linear.oauth_token", settings.linear.oauth_token_file)


def _linear_api_key(settings: Settings) -> str:
    given = _secret("linear.api_key", settings.linear.api_key_file)
    return given or os.environ.get("LINEAR_API_KEY", "").strip()


def marker_secrets(settings: Settings) -> tuple[bytes, ...]:
    """What our hidden markers are signed with, newest first: older ones are good for what they have signed.

    The same on every machine that signs in with the same credential, or is given the same secret; so that any of them
    knows what another one wrote.
    """
    source = (
        _secret("github.marker_secret", settings.github.marker_secret_file)
        or github_app_key(settings)
        or github_token(settings)
        or _linear_oauth_token(settings)
        or _linear_api_key(settings)
    )
    remembered = _remembered_secrets(settings.state_dir)
    if not source:
        return remembered
    newest = hmac.digest(source.encode(), b"treehand markers", "sha256")
    if newest not in remembered[:1]:
        remembered = (newest, *(one for one in remembered if one != newest))[:_SECRETS_KEPT]
        _remember_secrets(settings.state_dir, remembered)
    return remembered


def _remembered_secrets(state_dir: Path) -> tuple[bytes, ...]:
    try:
        lines = (state_dir / _MARKERS).read_text().split()
        return tuple(bytes.fromhex(line) for line in lines)
    except FileNotFoundError:
        return ()
    except ValueError as exc:
        raise BadSettings(f"{state_dir / _MARKERS} is no list of secrets any more. Remove it.") from exc


def _remember_secrets(state_dir: Path, secrets: Sequence[bytes]) -> None:
    """Readable by us alone, and whole or not at all."""
    state_dir.mkdir(parents=True, exist_ok=True)
    fresh = state_dir / f"{_MARKERS}.{os.getpid()}"
    fresh.touch(mode=0o600)
    fresh.write_text("".join(f"{one.hex()}\n" for one in secrets))
    fresh.replace(state_dir / _MARKERS)


def daemon_id(state_dir: Path) -> str:
    """The same for every start of the daemon of one state directory on one machine; a copy of either is another."""
    file = state_dir / _DAEMON
    if not file.exists():
        state_dir.mkdir(parents=True, exist_ok=True)
        fresh = state_dir / f"{_DAEMON}.{os.getpid()}"
        fresh.write_bytes(os.urandom(32))
        with contextlib.suppress(FileExistsError):
            os.link(fresh, file)  # whoever comes second uses what the first one made
        fresh.unlink()
    machine = Path("/etc/machine-id").read_bytes() if Path("/etc/machine-id").is_file() else b""
    return hashlib.sha256(b"\0".join((file.read_bytes(), machine, host_name().encode()))).hexdigest()[:32]


def host_name() -> str:
    return os.uname().nodename


def webhook_secret(settings: Settings) -> str:
    return _secret("github.webhook_secret", settings.github.webhook_secret_file)


def linear_webhook_secret(settings: Settings) -> str:
    return _secret("linear.webhook_secret", settings.linear.webhook_secret_file)


def web_token(settings: Settings) -> str:
    """Raises when the daemon would listen to other machines without one, and without a proxy that knows people."""
    token = _secret("web.token", settings.web.token_file)
    host, is_known = settings.web.bind.rpartition(":")[0], token or settings.web.user_header
    if host and not is_known and host not in {"127.0.0.1", "localhost", "[::1]"}:
        raise BadSettings(
            f"web.bind = {settings.web.bind!r} lets other machines in, so a token is needed: set TREEHAND_WEB__TOKEN, "
            "or web.user_header behind a proxy that people sign in to."
        )
    return token


def notify_urls(settings: Settings) -> tuple[str, ...]:
    """Whom to tell. What the environment says wins over a file, and that over the settings."""
    notify = settings.notify
    given = os.environ.get(_NOTIFY_URLS, "").strip()
    given = given or (_content_of("notify.urls_file", notify.urls_file) if notify.urls_file else "")
    if not given:
        return notify.urls
    try:
        urls = json.loads(given) if given.startswith("[") else given.split()
    except ValueError as exc:
        raise BadSettings(f"{_NOTIFY_URLS}: use addresses with spaces between them, or a list in JSON.") from exc
    return tuple(str(url) for url in urls)


def _in_urls(urls: Sequence[str]) -> dict[str, str]:
    """Each as a whole, and what in it looks made up by a machine."""
    found = {f"notification address {number}": url for number, url in enumerate(urls, start=1)}
    for number, url in enumerate(urls, start=1):
        pieces = [piece for piece in re.split(r"[/:@?&=#,]+", url) if len(piece) >= _LEAST_SECRET]
        tokens = [piece for piece in pieces if re.search(r"\d", piece) and re.search(r"[A-Za-z]", piece)]
        passwords = [match[1] for match in [_PASSWORD.search(url)] if match]
        secret = dict.fromkeys((*passwords, *(one for one in tokens if "." not in one)))
        found |= {f"part {part} of notification address {number}": one for part, one in enumerate(secret, start=1)}
    return found


def known_secrets(settings: Settings) -> dict[str, str]:
    """Everything that must never leave this machine, by the name that people know it by."""
    github, web = settings.github, settings.web
    signing = any({"github", "linear"} & {project.tracker, project.forge} for project in settings.projects)
    known = {
        "the GitHub token": github_token(settings),
        "the GitHub App's key": _content_of("github.private_key_file", github.private_key_file)
        if github.private_key_file
        else "",
        "the webhook secret": webhook_secret(settings),
        "the Linear token": _linear_oauth_token(settings),
        "the Linear key": _linear_api_key(settings),
        "the secret of Linear's webhooks": linear_webhook_secret(settings),
        "the web token": _secret("web.token", web.token_file),
        "the marker secret": _secret("github.marker_secret", github.marker_secret_file),
        "the model's key": _content_of("agent.key_file", settings.agent.key_file) if settings.agent.key_file else "",
    }
    if signing:
        known |= {f"marker secret {at}": one.hex() for at, one in enumerate(marker_secrets(settings), start=1)}
    known |= _in_urls(notify_urls(settings))
    variables = _url_passwords() | _secret_variables()
    found = {value: name for name, value in variables.items()} | {value: name for name, value in known.items() if value}
    return {name: value for value, name in found.items()}


def _secret_variables() -> dict[str, str]:
    """The model's keys, and whatever else in our environment is called one; files and folders are no secrets."""
    return {
        name: value.strip()
        for name, value in os.environ.items()
        if (name in KEY_VARIABLES or _SECRET_NAME.search(name))
        and len(value.strip()) >= _LEAST_SECRET
        and not value.strip().startswith(("/", "~", "./"))
    }


def _url_passwords() -> dict[str, str]:
    found = {f"the password in {name}": _IN_URL.search(value) for name, value in os.environ.items()}
    return {name: match[1] for name, match in found.items() if match and len(match[1]) >= _LEAST_SECRET}


def _secret(key: str, file: Path | None) -> str:
    given = os.environ.get(SECRETS[key], "").strip()
    return given or (_content_of(f"{key}_file", file) if file else "")


def _content_of(key: str, file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise BadSettings(f"{key}: {file} cannot be read: {getattr(exc, 'strerror', '') or 'it is no text'}.") from exc
    if not text:
        raise BadSettings(f"{key}: {file} is empty.")
    return text
