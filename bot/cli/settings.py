"""Loads the settings for the commands that use the state directory."""

from argparse import Namespace

from bot.control.repository_claims import claim_repositories
from bot.settings.find_file import settings_file
from bot.settings.load import load
from bot.settings.schema import Settings


def load_settings(options: Namespace) -> Settings:
    """Raises CannotStart if the state belongs to another repository than the settings name."""
    settings = load(settings_file(options.config))
    claim_repositories(settings)
    return settings
