"""The small daemon's tracker in Linear: the real client, in compressed time."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bot.services.http.availability import Availability
from bot.services.linear.cache import Cache, open_or_replace_cache
from bot.services.linear.client import LinearClient
from bot.services.linear.comment_markers import Markers
from bot.services.linear.permissions import Permissions
from bot.services.linear.project_issues import IssueRules, ProjectIssues
from bot.services.linear.team_info import TeamInfo
from bot.services.linear.team_routing import TeamRoute
from bot.services.linear.team_sync import TeamSync
from bot.services.linear.tracker import LinearTracker
from bot.services.linear.workflow_states import WantedMoves

if TYPE_CHECKING:
    from tests.chaos.small import Life

TEAM = "ENG"


@asynccontextmanager
async def linear_tracker(
    life: "Life", secret: bytes, label: str, *, fence: Callable[[], None]
) -> AsyncIterator[LinearTracker]:
    tempo = life.tempo
    db = open_or_replace_cache(Path(life.state_dir) / "linear.db", at=tempo.now())
    client = LinearClient(
        life.linear_url, life.linear_token, db, clock=tempo.now, elapsing=tempo.now, sleep=tempo.sleep
    )
    async with client:
        cache = Cache(db)
        team = TeamSync(client, TEAM, cache, TeamInfo(client, TEAM, cache, Availability(db, "Linear")), label=label)
        route = TeamRoute("shop", "acme/shop")
        yield LinearTracker(
            ProjectIssues(
                team, IssueRules(label, route, (route,), WantedMoves()), Permissions((), _may_push),
                Markers(secret, f"{life.url}/acme/shop"), fence,
            )
        )  # fmt: skip
    db.close()


async def _may_push(_: str, __: str) -> bool:
    """Every member of the workspace."""
    return True
