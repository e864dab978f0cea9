"""Reads tokens, keys and secrets from the environment or from files. Rule: never from the settings file."""

import contextlib
import hashlib
import hmac
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from bot.errors import BadSettings
from bot.settings.load import SECRETS
from bot.settings.schema import RegistrySettings, Settings

MODEL_VARIABLES = (
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "ANTHROPIC_MODEL",
)
"""Variables that the agent's own program reads: address and key of its model."""

_SECRET_NAME = re.compile(
    r"TOKEN|SECRET|PASSW|PASS$|_PWD$|PASSPHRASE|CREDENTIAL|(API|ACCESS|PRIVATE|AUTH|SIGNING|ENCRYPTION)_?KEY",
    re.IGNORECASE,
)
_SHORTEST_SECRET = 12
"""Shorter values of variables with a secret's name are not treated as secrets."""
_IN_URL = re.compile(r"://[^\s:/@]*:([^\s/@\d]*\d[^\s/@]*)@")
"""A password in a URL. Without a digit it could be an ordinary word and would be redacted in any text."""

_PASSWORD = re.compile(r"://[^\s:/@]*:([^\s/@]+)@")
_NOTIFY_URLS = "TREEHAND_NOTIFY__URLS"

MADE_WEB_TOKEN = "web.token"  # noqa: S105 - a name
"""File in the state directory."""
_MARKER_FILE = "markers"
_DAEMON_FILE = "daemon.id"
_MOST_MARKER_SECRETS = 20

KEY_VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")

_OAUTH_PREFIX = "sk-ant-oat"
"""Prefix of a token from `claude setup-token`; other values are API keys."""


def model_environment(settings: Settings) -> dict[str, str]:
    """A key in the environment overrides one in a file."""
    variables = {name: os.environ[name] for name in MODEL_VARIABLES if os.environ.get(name)}
    if settings.agent.key_file is None or variables.keys() & set(KEY_VARIABLES):
        return variables
    key = _read_secret_file("agent.key_file", settings.agent.key_file)
    return {**variables, "CLAUDE_CODE_OAUTH_TOKEN" if key.startswith(_OAUTH_PREFIX) else "ANTHROPIC_API_KEY": key}


def has_key(settings: Settings) -> bool:
    """Returns True if there is a credential for the model."""
    return bool(model_environment(settings).keys() & set(KEY_VARIABLES))


def ensure_key(settings: Settings) -> None:
    """Raises BadSettings unless there is a credential for the model."""
    if not has_key(settings):
        raise BadSettings(
            "The agent has no key for its model. Set ANTHROPIC_API_KEY, CLAUDE_CODE_OAUTH_TOKEN or agent.key_file."
        )


def github_token(settings: Settings) -> str:
    """Returns an empty string if there is none."""
    token = _secret("github.token", settings.github.token_file)
    return token or os.environ.get("GITHUB_TOKEN", "").strip()


def github_app_key(settings: Settings) -> str:
    """Returns the private key of the GitHub App, or an empty string without `github.app_id`."""
    github = settings.github
    if not github.app_id:
        return ""
    if github.private_key_file is None:
        raise BadSettings(
            "github.app_id is set but github.private_key_file is not. Set it to the file with the App's private key."
        )
    return _read_secret_file("github.private_key_file", github.private_key_file)


def has_linear_key(settings: Settings) -> bool:
    return bool(_linear_oauth_token(settings) or _linear_api_key(settings))


def linear_authorization(settings: Settings) -> str:
    """Returns the Authorization header: an API key as it is, an OAuth token as a bearer token. Raises BadSettings."""
    token, key = _linear_oauth_token(settings), _linear_api_key(settings)
    if not (token or key):
        raise BadSettings(
            "There is no key for Linear. Set LINEAR_API_KEY or linear.api_key_file, or linear.oauth_token_file for an "
            "OAuth application."
        )
    return f"Bearer {token}" if token else key


def _linear_oauth_token(settings: Settings) -> str:
    return _secret("linear.oauth_token", settings.linear.oauth_token_file)


def _linear_api_key(settings: Settings) -> str:
    key = _secret("linear.api_key", settings.linear.api_key_file)
    return key or os.environ.get("LINEAR_API_KEY", "").strip()


def marker_secrets(settings: Settings) -> tuple[bytes, ...]:
    """Returns the secrets that sign our hidden markers, newest first; older ones verify older markers.

    Machines with the same credential, or the same marker secret, get the same secrets and recognise each other's
    comments.
    """
    source = (
        _secret("github.marker_secret", settings.github.marker_secret_file)
        or github_app_key(settings)
        or github_token(settings)
        or _linear_oauth_token(settings)
        or _linear_api_key(settings)
    )
    secrets = _read_marker_file(settings.state_dir)
    if not source:
        return secrets
    newest = hmac.digest(source.encode(), b"treehand markers", "sha256")
    if newest not in secrets[:1]:
        secrets = (newest, *(one for one in secrets if one != newest))[:_MOST_MARKER_SECRETS]
        _write_marker_file(settings.state_dir, secrets)
    return secrets


def _read_marker_file(state_dir: Path) -> tuple[bytes, ...]:
    try:
        lines = (state_dir / _MARKER_FILE).read_text().split()
        return tuple(bytes.fromhex(line) for line in lines)
    except FileNotFoundError:
        return ()
    except ValueError as exc:
        raise BadSettings(f"{state_dir / _MARKER_FILE} is damaged. Remove it.") from exc


def _write_marker_file(state_dir: Path, secrets: Sequence[bytes]) -> None:
    """Replaces the file atomically; only its owner can read it."""
    state_dir.mkdir(parents=True, exist_ok=True)
    fresh = state_dir / f"{_MARKER_FILE}.{os.getpid()}"
    fresh.touch(mode=0o600)
    fresh.write_text("".join(f"{one.hex()}\n" for one in secrets))
    fresh.replace(state_dir / _MARKER_FILE)


def daemon_id(state_dir: Path) -> str:
    """Returns an id of this state directory on this machine; a copy of either gets another id."""
    file = state_dir / _DAEMON_FILE
    if not file.exists():
        state_dir.mkdir(parents=True, exist_ok=True)
        fresh = state_dir / f"{_DAEMON_FILE}.{os.getpid()}"
        fresh.write_bytes(os.urandom(32))
        with contextlib.suppress(FileExistsError):
            os.link(fresh, file)  # a second process uses the id of the first
        fresh.unlink()
    machine = Path("/etc/machine-id").read_bytes() if Path("/etc/machine-id").is_file() else b""
    return hashlib.sha256(b"\0".join((file.read_bytes(), machine, host_name().encode()))).hexdigest()[:32]


def host_name() -> str:
    return os.uname().nodename


def webhook_secret(settings: Settings) -> str:
    return _secret("github.webhook_secret", settings.github.webhook_secret_file)


def linear_webhook_secret(settings: Settings) -> str:
    return _secret("linear.webhook_secret", settings.linear.webhook_secret_file)


def configured_web_token(settings: Settings) -> str:
    return _secret("web.token", settings.web.token_file)


def read_made_web_token(state_dir: Path) -> str:
    """Returns the token that was made for the dashboard; empty if none was."""
    with contextlib.suppress(FileNotFoundError):
        return (state_dir / MADE_WEB_TOKEN).read_text().strip()
    return ""


def registry_tokens(settings: Settings) -> dict[str, str]:
    """Tokens by the host of the registry, without those that are missing. Raises BadSettings if one cannot be sent."""
    tokens = {one.host: _registry_token(one) for one in settings.registries}
    return {host: token for host, token in tokens.items() if token}


def ensure_registry_tokens(settings: Settings) -> None:
    """Raises BadSettings if a token is missing."""
    tokens = registry_tokens(settings)
    for registry in settings.registries:
        if registry.host not in tokens:
            raise BadSettings(
                f"There is no token for the registry {registry.host}: set the variable {registry.token_env}, or "
                "`token_file` in its [[registries]]."
            )


def _registry_token(registry: RegistrySettings) -> str:
    if registry.token_file:
        token = _read_secret_file("registries.token_file", registry.token_file)
    else:
        token = os.environ.get(registry.token_env or "", "").strip()
    where = f"The token for the registry {registry.host} must be"
    if not (token.isascii() and (token.isprintable() or not token)) or (registry.auth != "basic" and " " in token):
        raise BadSettings(f"{where} one line of plain ASCII.")
    if token and registry.auth == "basic" and ":" not in token:
        raise BadSettings(f'{where} `user:password` with `auth = "basic"`.')
    return token


def https_proxy() -> tuple[str, str]:
    """Returns `HTTPS_PROXY` with its user and password, and `NO_PROXY`; empty if they are not set."""
    from urllib.request import getproxies_environment

    known = getproxies_environment()
    return known.get("https", ""), known.get("no", "")


def notify_urls(settings: Settings) -> tuple[str, ...]:
    """The environment overrides the file, and the file overrides the settings."""
    notify = settings.notify
    text = os.environ.get(_NOTIFY_URLS, "").strip()
    text = text or (_read_secret_file("notify.urls_file", notify.urls_file) if notify.urls_file else "")
    if not text:
        return notify.urls
    try:
        urls = json.loads(text) if text.startswith("[") else text.split()
    except ValueError as exc:
        raise BadSettings(f"{_NOTIFY_URLS}: separate addresses with spaces, or write a list in JSON.") from exc
    return tuple(str(url) for url in urls)


def _secrets_in_urls(urls: Sequence[str]) -> dict[str, str]:
    """Returns each address, its password and its parts that look like tokens."""
    secrets = {f"notification address {number}": url for number, url in enumerate(urls, start=1)}
    for number, url in enumerate(urls, start=1):
        pieces = [piece for piece in re.split(r"[/:@?&=#,]+", url) if len(piece) >= _SHORTEST_SECRET]
        tokens = [piece for piece in pieces if re.search(r"\d", piece) and re.search(r"[A-Za-z]", piece)]
        passwords = [match[1] for match in [_PASSWORD.search(url)] if match]
        parts = dict.fromkeys((*passwords, *(one for one in tokens if "." not in one)))
        secrets |= {f"part {part} of notification address {number}": one for part, one in enumerate(parts, start=1)}
    return secrets


def known_secrets(settings: Settings) -> dict[str, str]:
    """Returns all secrets that must not leave this machine, by a name for messages."""
    github = settings.github
    signing = any({"github", "linear"} & {project.tracker, project.forge} for project in settings.projects)
    known = {
        "the GitHub token": github_token(settings),
        "the GitHub App's key": _read_secret_file("github.private_key_file", github.private_key_file)
        if github.private_key_file
        else "",
        "the webhook secret": webhook_secret(settings),
        "the Linear token": _linear_oauth_token(settings),
        "the Linear key": _linear_api_key(settings),
        "the secret of Linear's webhooks": linear_webhook_secret(settings),
        "the web token": configured_web_token(settings),
        "the token made for the dashboard": read_made_web_token(settings.state_dir),
        "the marker secret": _secret("github.marker_secret", github.marker_secret_file),
        "the model's key": _read_secret_file("agent.key_file", settings.agent.key_file)
        if settings.agent.key_file
        else "",
    }
    if signing:
        known |= {f"marker secret {at}": one.hex() for at, one in enumerate(marker_secrets(settings), start=1)}
    for host, token in registry_tokens(settings).items():
        known |= {f"the token of {host}": token, f"the password for {host}": _long(token.partition(":")[2])}
    known |= _secrets_in_urls(notify_urls(settings))
    variables = _url_passwords() | _secret_variables()
    names = {value: name for name, value in variables.items()} | {value: name for name, value in known.items() if value}
    return {name: value for value, name in names.items()}


def _long(text: str) -> str:
    return text if len(text) >= _SHORTEST_SECRET else ""


def _secret_variables() -> dict[str, str]:
    """Returns the model's keys and other variables with a secret's name; paths are not secrets."""
    return {
        name: value.strip()
        for name, value in os.environ.items()
        if (name in KEY_VARIABLES or _SECRET_NAME.search(name))
        and len(value.strip()) >= _SHORTEST_SECRET
        and not value.strip().startswith(("/", "~", "./"))
    }


def _url_passwords() -> dict[str, str]:
    matches = {f"the password in {name}": _IN_URL.search(value) for name, value in os.environ.items()}
    return {name: match[1] for name, match in matches.items() if match and len(match[1]) >= _SHORTEST_SECRET}


def _secret(key: str, file: Path | None) -> str:
    value = os.environ.get(SECRETS[key], "").strip()
    return value or (_read_secret_file(f"{key}_file", file) if file else "")


def _read_secret_file(key: str, file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise BadSettings(
            f"{key}: {file} cannot be read: {getattr(exc, 'strerror', '') or 'it is not UTF-8 text'}."
        ) from exc
    if not text:
        raise BadSettings(f"{key}: {file} is empty.")
    return text
