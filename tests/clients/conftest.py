"""A served GitHub and the bot's side of it."""

import pytest

from tests.clients.grounds import Bot
from tests.fakes.github.fixtures import github

__all__ = ["github"]


@pytest.fixture
def bot(github, tmp_path):
    bot = Bot(github, tmp_path)
    yield bot
    bot.close()
