"""What tests of clients use: a memory, a clock that they move, a served GitHub and the bot's side of it."""

import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from bot.services.github.http_cache import open_memory
from tests.clients.grounds import Bot
from tests.clients.scripted import FakeClock
from tests.fakes.github.fixtures import github

__all__ = ["github"]


@pytest.fixture
def memory(tmp_path):
    with closing(open_memory(tmp_path / "github.db")) as memory:
        yield memory


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(float(int(time.time())))


@pytest.fixture
def bot(github, tmp_path) -> Iterator[Bot]:
    bot = Bot(github, tmp_path)
    yield bot
    bot.close()
