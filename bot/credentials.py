"""Secrets: never in the settings file, only in the environment or in files of their own. Asked for when needed."""

import contextlib
import os
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

KEY_VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")


def model_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in MODEL_VARIABLES if os.environ.get(name)}


def has_key() -> bool:
    """Is there any credential for the model?"""
    return any(os.environ.get(name) for name in KEY_VARIABLES)


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


def marker_secret(state_dir: Path) -> bytes:
    """What our hidden markers are signed with: made once, readable by us alone."""
    file = state_dir / "secret"
    try:
        return file.read_bytes()
    except FileNotFoundError:
        state_dir.mkdir(parents=True, exist_ok=True)
    fresh = file.with_name(f"secret.{os.getpid()}")
    fresh.touch(mode=0o600)
    fresh.write_bytes(os.urandom(32))
    with contextlib.suppress(FileExistsError):
        os.link(fresh, file)  # whoever comes second uses what the first one made
    fresh.unlink()
    return file.read_bytes()


def webhook_secret(settings: Settings) -> str:
    return _secret("github.webhook_secret", settings.github.webhook_secret_file)


def web_token(settings: Settings) -> str:
    """Raises when the daemon would listen to other machines without one."""
    token = _secret("web.token", settings.web.token_file)
    host = settings.web.bind.rpartition(":")[0]
    if host and not token and host not in {"127.0.0.1", "localhost", "[::1]"}:
        raise BadSettings(
            f"web.bind = {settings.web.bind!r} lets other machines in, so a token is needed: set TREEHAND_WEB__TOKEN."
        )
    return token


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
