"""A dashboard to look at."""

from collections.abc import AsyncIterator

import pytest

from tests.web.house import House, open_house


@pytest.fixture
async def house(tmp_path) -> AsyncIterator[House]:
    async with open_house(tmp_path) as house:
        yield house
