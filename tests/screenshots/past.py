"""Invented history of a month, for the picture of the statistics page."""

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.control.user_actions import UserActionService
from bot.demo.people import create_repository
from bot.domain.run import MERGED, Phase, Run
from bot.domain.spend import Spend
from bot.settings.schema import ProjectSettings, Settings
from bot.status.dashboard_data import DashboardData
from bot.status.run_details import RunDetails
from bot.store.runs import RunStore
from bot.system.clock import DAY, now
from bot.web.app import AppConfig, build_app
from bot.web.auth import Authenticator
from bot.web.dashboard import Dashboard
from bot.web.server import serving

_DAYS = 30
_PROJECTS = ("teashop", "warehouse")
_CLOSED = "the pull request was closed"


def live_through(path: Path) -> None:
    store, number = RunStore.open(path), 0
    for ago in range(_DAYS):
        noon = now() // DAY * DAY - ago * DAY + DAY / 2
        for nth in range(_busy(ago)):
            number += 1
            _live(store, number, min(noon + nth * 1500, now() - 60))
    store.close()


def _busy(ago: int) -> int:
    """Returns how many issues are requested in a day: more in the middle of a week, few at its end."""
    weekday = (ago + 2) % 7
    return 1 if weekday >= 5 else 3 + round(2 * math.sin(ago) + (4 - weekday) / 2)


def _live(store: RunStore, number: int, at: float) -> None:
    project = _PROJECTS[number % 3 == 0]
    begun, waited = at - 3600 - 40 * (number * 7 % 23), 30.0 * (number * 5 % 17)
    run = Run(
        f"{project}#{number}", project, phase=Phase.DONE, reason=_CLOSED if number % 8 == 0 else MERGED,
        begun_at=begun, changed_at=at,
    )  # fmt: skip
    usd = 0.4 + (number * 37 % 100) / 45
    store.save(run, at=begun, notes=["asked for", "queued"])
    store.save(run, at=begun + waited, notes=["queued → working"])
    spend = Spend(1, begun + waited + 900, usd, round(usd * 310_000))
    store.save(run, at=begun + waited + 600 + 60 * (number % 19), notes=["working → review"], spend=spend)
    store.save(run, at=at, notes=["review → done"])


@asynccontextmanager
async def shown(folder: Path) -> AsyncIterator[str]:
    """Yields its address."""
    create_repository(folder / "shop")
    sites = tuple(ProjectSettings(name=name, repository=str(folder / "shop"), base="main") for name in _PROJECTS)
    settings = Settings(state_dir=folder / "state", projects=sites)
    live_through(settings.state_dir / "treehand.db")
    data = DashboardData(settings, dict)
    dashboard = Dashboard(data, UserActionService(settings, lambda _: None), RunDetails(settings, data.find_run))
    config = AppConfig(wake=lambda _: None, authenticator=Authenticator(operator="Mira"))
    async with serving(build_app(config, dashboard), "127.0.0.1:0") as port, dashboard.open():
        yield f"http://127.0.0.1:{port}"
