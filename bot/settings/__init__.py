"""Everything an operator can set. Secrets are no settings: see `bot/settings/credentials.py`."""

from bot.settings.load import PREFIX, SECRETS, known_keys, load, operator, settings_file
from bot.settings.schema import (
    AgentSettings,
    Budget,
    GitHubSettings,
    Limits,
    Log,
    Notify,
    Poll,
    ProjectSettings,
    Sandbox,
    Section,
    Settings,
    Web,
)

__all__ = [
    "PREFIX",
    "SECRETS",
    "AgentSettings",
    "Budget",
    "GitHubSettings",
    "Limits",
    "Log",
    "Notify",
    "Poll",
    "ProjectSettings",
    "Sandbox",
    "Section",
    "Settings",
    "Web",
    "known_keys",
    "load",
    "operator",
    "settings_file",
]
