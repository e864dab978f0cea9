"""Fixture: a running dashboard."""

from collections.abc import AsyncIterator

import pytest

from tests.web.running_dashboard import RunningDashboard, open_dashboard


@pytest.fixture
async def web(tmp_path) -> AsyncIterator[RunningDashboard]:
    async with open_dashboard(tmp_path) as web:
        yield web
