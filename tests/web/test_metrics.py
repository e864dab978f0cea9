"""Metrics, parsed by Prometheus's own parser, and the readiness of the daemon."""

import re
import sqlite3
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from bot.app import App, open_app
from bot.domain.run import Phase, Run, RunTurns
from bot.domain.spend import Spend
from bot.domain.turn import Failure, TurnOutcome
from bot.settings.load import load
from bot.status.health_monitor import HealthMonitor
from bot.status.metrics import collect_metrics
from bot.status.prometheus_format import MetricValues, counter, exposition, gauge
from bot.status.snapshot import read_status
from bot.system.locks import daemon_lock
from bot.web.app import AppConfig, build_app
from bot.web.auth import Authenticator
from bot.web.server import serving

PAGE = Path(__file__).parents[2] / "docs" / "monitoring.md"
RUN = Run("shop#1", "shop", phase=Phase.WORKING, turns=RunTurns(number=3))


def read(text: bytes) -> dict[str, dict[tuple[str, ...], float]]:
    """Returns values by the name of the sample and by label values in the order of label names."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return found


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "shop").mkdir()
    file = tmp_path / "treehand.toml"
    file.write_text('state_dir = "state"\nlimits.working = 3\n[[projects]]\nname = "shop"\nrepository = "shop"\n')
    return load(file)


@asynccontextmanager
async def life(settings) -> AsyncIterator[App]:
    async with open_app(settings, {}) as app:
        yield app


async def test_metrics_from_the_database_are_the_same_after_a_restart(settings):
    async with life(settings) as app:
        good = TurnOutcome("shop", "shop#1", 1, 2, 1.0, 2.0)
        app.store.save(RUN, at=1.0, spend=Spend(2, 2.0, 0.5, 700, 90.0), outcome=good)
        bad = replace(good, turn=3, failure=Failure.MODEL)
        app.store.save(RUN, at=2.0, spend=Spend(3, 3.0, 0.25, 300, 10.0), outcome=bad)
        app.store.save(Run("shop#2", "shop", phase=Phase.QUEUED, changed_at=5.0), at=5.0)
        first = read(exposition(await collect_metrics(app.monitor, app.engine.failed_projects)))
    async with life(settings) as app:
        again = read(exposition(await collect_metrics(app.monitor, app.engine.failed_projects)))
    for found in (first, again):
        assert found["treehand_turns_started_total"] == {("shop",): 3}
        assert found["treehand_turns_ended_total"]["succeeded", "shop"] == 1
        assert found["treehand_turns_ended_total"]["model", "shop"] == 1
        assert found["treehand_spent_usd_total"] == {("shop",): 0.75}
        assert found["treehand_tokens_total"] == {("shop",): 1000}
        assert found["treehand_agent_seconds_total"] == {("shop",): 100}
        assert found["treehand_runs"]["queued", "shop"] == 1
        assert found["treehand_queue_oldest_seconds"]["shop",] > 1000
        assert (found["treehand_slots"][()], found["treehand_slots_taken"][()]) == (3, 1)
        assert found["treehand_disk_free_bytes"][()] > 0


async def test_labels_have_a_bounded_set_of_values(settings):
    async with life(settings) as app:
        before = len(exposition(await collect_metrics(app.monitor, app.engine.failed_projects)).splitlines())
        for number in range(50):
            app.store.save(replace(RUN, key=f'shop#{number}"}} evil 1', reason="evil"), at=1.0)
        app.monitor.request_counts["github"] = tally()  # type: ignore[index]
        text = exposition(await collect_metrics(app.monitor, app.engine.failed_projects))
    assert b"evil" not in text
    assert len(text.splitlines()) < before + 25
    assert read(text)["treehand_requests_total"] == {
        ("github", "none"): 1, ("github", "200"): 2, ("github", "other"): 1
    }  # fmt: skip


def tally():
    from bot.services.http.request_counts import NO_ANSWER, RequestCounts

    found = RequestCounts()
    for status in (200, 200, NO_ANSWER, 99999):
        found.add(status, {"core": 4000.0})
    return found


async def test_the_monitoring_page_documents_exactly_the_existing_metrics(settings):
    async with life(settings) as app:
        figures = await collect_metrics(app.monitor, app.engine.failed_projects)
    names = {f"treehand_{one.name}{'_total' if one.kind == 'counter' else ''}" for one in figures}
    table = set(re.findall(r"^\| `(treehand_\w+)` \|", PAGE.read_text(), re.MULTILINE))
    assert table == names
    assert set(re.findall(r"treehand_\w+", PAGE.read_text())) <= names
    assert all(one.about.endswith(".") for one in figures)


def test_hostile_label_values_are_escaped():
    figure = gauge("x", "About.\nInjected 1", ({"project": 'a"} 1\ntreehand_forged 7'}, 1))
    assert list(read(exposition([figure]))) == ["treehand_x"]
    assert read(exposition([counter("y", "About.", ({}, 2))])) == {"treehand_y_total": {(): 2}}


@asynccontextmanager
async def served(
    figures: Iterable[MetricValues], *, token: str = "", ready: bool = True
) -> AsyncIterator[httpx.AsyncClient]:
    async def measures() -> Iterable[MetricValues]:
        return figures

    config = AppConfig(
        wake=lambda _: None, ready=lambda: ready, authenticator=Authenticator(token), collect_metrics=measures
    )
    async with (
        serving(build_app(config), "127.0.0.1:0") as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        yield client


async def test_metrics_need_the_token():
    async with served([gauge("x", "About.", ({}, 1))], token="sesame") as client:
        assert (await client.get("/metrics")).status_code == 401
        assert (await client.get("/metrics", headers={"Authorization": "Bearer wrong"})).status_code == 401
        answer = await client.get("/metrics", headers={"Authorization": "Bearer sesame"})
        assert (answer.status_code, read(answer.content)) == (200, {"treehand_x": {(): 1}})
        assert answer.headers["content-type"].startswith("text/plain; version=")
    async with served([]) as client:
        assert (await client.get("/metrics")).status_code == 200


# Readiness


async def test_a_daemon_is_ready_only_while_its_polls_complete(settings):
    async with life(settings) as app:
        assert not await app.monitor.is_ready(), "it has not looked yet"
        app.monitor.ticks.ended(0.1, postponed=False)
        assert await app.monitor.is_ready()
        app.monitor.ticks.ended(0.1, postponed=True)
        assert await app.monitor.is_ready(), "that a service is away makes nobody unready"
        app.monitor.ticks.ended_at -= 601
        assert not await app.monitor.is_ready(), "the last look never ended"


async def test_a_daemon_whose_database_cannot_be_written_is_not_ready(settings):
    async with life(settings) as app:
        app.monitor.ticks.ended(0.1, postponed=False)
        statements: list[str] = []
        app.store._db.set_trace_callback(statements.append)
        await app.monitor.reader.read(lambda reader: reader.store._db.execute("PRAGMA busy_timeout = 0"))
        other = sqlite3.connect(settings.state_dir / "treehand.db")
        other.execute("BEGIN IMMEDIATE")
        assert not await app.monitor.is_ready()
        assert statements == [], "the loop's own connection is left alone"
        other.rollback()
        other.close()
        assert await app.monitor.is_ready()


# Health records of a daemon


async def test_health_is_saved_and_names_the_parts_that_still_work(settings):
    async with life(settings) as app:
        app.monitor.next_poll = 30.0
        await app.monitor.check({"shop": "the disk is away"})
        look = app.store.notifications.health_records()["poll shop"].health
        assert (look.ok, look.detail) == (False, "the disk is away")
        assert look.still_works
        app.monitor.request_counts["github"] = tally()  # type: ignore[index]
        await app.monitor.check({})
        assert app.store.notifications.health_records()["poll shop"].health.detail.startswith("the next poll is at")
        assert read_status(settings).health.keys() & {"poll shop", "rate limit github"} == set(), "no daemon runs"
        with daemon_lock(settings.state_dir):
            seen = read_status(settings).health
        assert seen["rate limit github"].detail == "requests left: 4000 core"
        assert seen["poll shop"].ok
        assert (
            read(exposition(await collect_metrics(app.monitor, app.engine.failed_projects)))["treehand_healthy"][
                "poll shop",
            ]
            == 1
        )


async def test_health_of_the_model_follows_from_responses_since_the_last_check(settings):
    async with life(settings) as app:
        counted: dict[int, int] = {}
        app.monitor.model_answers = counted
        await app.monitor.check({})
        assert "proxy" not in app.store.notifications.health_records()
        for status, ok in ((200, True), (529, False), (200, True)):
            counted[status] = counted.get(status, 0) + 1
            await app.monitor.check({})
            assert app.store.notifications.health_records()["proxy"].health.ok is ok
        with daemon_lock(settings.state_dir):
            assert "HTTP 529" in read_status(settings).health["proxy"].detail


async def test_an_exhausted_daily_budget_causes_one_notification(settings):
    settings = settings.model_copy(update={"budget": settings.budget.model_copy(update={"per_day_usd": 1.0})})
    async with life(settings) as app:
        from bot.system import clock

        app.store.save(RUN, at=clock.now(), spend=Spend(3, clock.now(), 1.5, 10))
        for _ in range(3):
            await app.monitor.check({})
        assert not app.store.notifications.health_records()["budget"].health.ok
        assert [one.subject for one in app.store.notifications.after(0)] == ["today"]
    async with life(settings) as app:
        again: HealthMonitor = app.monitor
        await again.check({})
        assert [one.subject for one in app.store.notifications.after(0)] == ["today"]
