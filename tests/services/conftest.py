"""Fixtures for tests of services: a cache, a clock that tests move, a served GitHub and a bot on it."""

import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from bot.services.github.cache import open_cache
from tests.fakes.github.fixtures import github
from tests.services.github.github_bot import Bot
from tests.services.github.scripted_server import FakeClock

__all__ = ["github"]


@pytest.fixture
def db(tmp_path):
    with closing(open_cache(tmp_path / "github.db")) as db:
        yield db


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(float(int(time.time())))


@pytest.fixture
def bot(github, tmp_path) -> Iterator[Bot]:
    bot = Bot(github, tmp_path)
    yield bot
    bot.close()
