"""Cost of an idle poll of one repository, by the number of open runs, compared with a poller that reads each of them.

Both sides use the same stand-in for GitHub, which counts requests. One hour of polls at 30 s is 120 of them.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from figures import Figure

from bot.domain.branch_name import branch_for
from bot.domain.run import Run
from bot.services.github.auth import TokenCredential
from bot.services.github.cache import open_cache
from bot.services.github.client import GitHubClient
from bot.services.github.forge import GitHubForge
from bot.services.github.repository import GitHubRepository, RepositoryRules
from bot.services.github.tracker import GitHubTracker
from tests.fakes.github import Call, GitHubWorld, ServedGitHub, served
from tests.services.github.scripted_server import FakeClock

SIZES = (1, 10, 100, 500)
LOOKS = 20
NAME = "acme/shop"
BOT = "treehand-bot"


@dataclass(frozen=True, slots=True)
class Cost:
    """The average cost of a poll."""

    requests: float
    unchanged: float
    """The part of its REST answers that was 304."""
    points: float


async def measure(folder: Path) -> list[Figure]:
    rows = []
    for size in SIZES:
        world = GitHubWorld(folder / f"github-{size}")
        runs = _populate(world, size)
        with served(world, validate=False) as github:
            ours = await _ours(github, runs, folder / f"{size}.db")
            theirs = await _theirs(github, runs, folder / f"theirs-{size}.db")
        rows.append((size, ours, theirs))
    _print(rows)
    return [figure for size, ours, theirs in rows for figure in _figures(size, ours, theirs)]


def _populate(world: GitHubWorld, size: int) -> list[Run]:
    """Makes labelled issues, each with an open pull request of ours, its progress comment and a comment of a person."""
    world.add_repository(NAME, ana="write", **{BOT: "write"})
    runs = []
    for number in range(1, size + 1):
        issue = world.open_issue(NAME, f"Fix {number}", "Please.", by="ana")
        world.label(NAME, issue.number, "ai", "ai:review", by="ana")
        world.comment(NAME, issue.number, "In review.", by=BOT)
        runs.append(Run(f"{NAME}#{issue.number}", "shop"))
    tip = world.push(NAME, "answer", {"app.py": "answer = 42\n"}, by=BOT)
    for run in runs:
        world.force_push(NAME, branch_for(run), tip, by=BOT)
        pull = world.open_pull(NAME, f"Fix {run.key}", f"Closes {run.key}", head=branch_for(run), by=BOT, draft=True)
        world.comment_on_pull(NAME, pull.number, "Looks good so far.", by="ana")
        world.advance(300)  # what happened lately is looked at again on purpose; this is an idle hour
    return runs


@asynccontextmanager
async def _service(github: ServedGitHub, db: Path) -> AsyncIterator[tuple[GitHubClient, GitHubRepository]]:
    clock = FakeClock(github.world.now)
    memory = open_cache(db)
    credential = TokenCredential(github.token_for(BOT))
    async with GitHubClient(github.url, credential, memory, clock=clock, sleep=clock.sleep) as service:
        yield service, GitHubRepository(service, NAME, memory, rules=RepositoryRules("ai"), secret=b"of this bench")
    memory.close()


async def _ours(github: ServedGitHub, runs: Sequence[Run], db: Path) -> Cost:
    async with _service(github, db) as (_, repository):
        tracker, forge = GitHubTracker(repository), GitHubForge(repository, api_url=github.url)

        async def look() -> None:
            await asyncio.gather(
                tracker.snapshot([run.key for run in runs]), forge.snapshot([branch_for(run) for run in runs])
            )

        return await _counted(github, look, LOOKS if len(runs) <= 100 else 4, until_known=3 + len(runs) // 10)


async def _theirs(github: ServedGitHub, runs: Sequence[Run], db: Path) -> Cost:
    """Polls like many tools: every issue, its comments, its pull request and its parts one by one."""
    pulls = {i.pull.head_ref: i for i in github.world.repository(NAME).issues.values() if i.pull}

    async with _service(github, db=db) as (service, _):

        async def look() -> None:
            for run in runs:
                issue, pull = run.key.rpartition("#")[2], pulls[branch_for(run)]
                for rest in (
                    f"issues/{issue}",
                    f"issues/{issue}/comments",
                    f"pulls/{pull.number}",
                    f"pulls/{pull.number}/comments",
                    f"pulls/{pull.number}/reviews",
                    f"commits/{pull.pull.head}/check-runs",
                ):
                    await service.get(f"/repos/{NAME}/{rest}", repository=NAME)

        return await _counted(github, look, 1, until_known=1)


async def _counted(github: ServedGitHub, look: Callable, looks: int, *, until_known: int) -> Cost:
    for _ in range(until_known):
        await look()
    github.history.clear()
    for _ in range(looks):
        await look()
    return _cost(github.history, looks)


def _cost(calls: Sequence[Call], looks: int) -> Cost:
    rest = [call for call in calls if call.method == "GET"]
    unchanged = sum(call.status == 304 for call in rest) / max(len(rest), 1)
    return Cost(len(calls) / looks, unchanged, sum(call.points for call in calls) / looks)


def _print(rows: Sequence[tuple[int, Cost, Cost]]) -> None:
    print(f"{'':>10} {'one poll':^24}   {'reading each run':^30}")
    print(f"{'open runs':>10} {'requests':>9} {'304':>6} {'points':>7}   {'requests':>15} {'304':>6} {'points':>7}")
    for size, ours, theirs in rows:
        print(
            f"{size:>10} {ours.requests:>9.1f} {ours.unchanged:>6.0%} {ours.points:>7.1f}   "
            f"{theirs.requests:>15.1f} {theirs.unchanged:>6.0%} {theirs.points:>7.1f}"
        )


def _figures(size: int, ours: Cost, theirs: Cost) -> list[Figure]:
    pages = (size + 99) // 100  # of labelled issues, of our branches, and of pull requests in one query
    return [
        Figure(f"idle poll, {size} open runs: requests", ours.requests, "", 3 + 3 * pages),
        Figure(f"idle poll, {size} open runs: REST responses other than 304", 100 * (1 - ours.unchanged), "%", 5),
        Figure(f"idle poll, {size} open runs: points", ours.points, "", pages),
        Figure(f"idle poll, {size} open runs: requests of a poller that reads each", theirs.requests, ""),
    ]
