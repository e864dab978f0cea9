"""Loads the host's own secrets, so that the scanner recognizes them."""

from bot.secret_scan.scanner import Secrets
from bot.settings.credentials import known_secrets
from bot.settings.schema import Settings


def load_secrets(settings: Settings) -> Secrets:
    """Loads the secrets known now; the scanner learns more as tokens are made."""
    return Secrets(known_secrets(settings))
