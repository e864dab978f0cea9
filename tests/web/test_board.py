"""Board page: lanes, live updates, and no foreign markup."""

import asyncio
import json
import re

from bot.domain.run import Phase
from bot.domain.turn import Progress, Todo
from bot.domain.verification import Verification, VerifiedCommand
from bot.system.clock import now
from bot.web.event_hub import BOARD
from tests.web.running_dashboard import PAGE, open_dashboard


def lanes_in(page: str) -> dict[str, list[str]]:
    """Returns titles by lane."""
    parts = re.split(r'data-lane="(\w+)"', page)[1:]
    return {
        lane: re.findall(r"<h3><a[^>]*>(.*?)</a>", text) for lane, text in zip(parts[::2], parts[1::2], strict=True)
    }


class Listener:
    """A viewer with an open page."""

    def __init__(self, lines):
        self._lines = lines

    async def next(self, kind: str = "") -> dict:
        """Returns the next event, or the next of a kind, with its id."""
        news: dict = {}
        async with asyncio.timeout(30):
            async for line in self._lines:
                name, _, value = line.partition(": ")
                if line:
                    news[name] = value
                elif "data" in news and (not kind or news["event"] == kind):
                    return {**json.loads(news["data"]), "event": news["event"], "number": news["id"]}
                else:
                    news = {}
        raise AssertionError("the stream has ended")


async def test_every_run_is_in_the_lane_of_its_phase(web):
    for phase in Phase:
        web.run(f"in {phase}", phase)
    page = (await web.page("/")).text
    assert lanes_in(page) == {phase.value: [f"in {phase}"] for phase in Phase}
    assert list(lanes_in(page)) == ["asking", "working", "review", "queued", "done"]


async def test_asking_runs_are_ordered_oldest_first_and_finished_ones_newest_first(web):
    for phase in (Phase.ASKING, Phase.DONE):
        for age in (30, 90, 60):
            web.save(web.run(f"{age}", phase), changed_at=now() - age)
    lanes = lanes_in((await web.page("/")).text)
    assert (lanes["asking"], lanes["done"]) == (["90", "60", "30"], ["30", "60", "90"])


async def test_a_card_shows_the_agents_action_its_progress_and_cost(web):
    run = web.run("Add a cart", turns_number=1, spend_usd=1.25)
    web.live[f"{run.id}/turn-1"] = Progress("Edit cart.py", todos=(Todo("a", done=True), Todo("b", done=False)))
    page = (await web.page("/")).text
    assert all(text in page for text in ("Edit cart.py", "1 of 2", "$1.25"))


async def test_a_card_does_not_call_checks_passed_that_counted_no_test(web):
    ran = VerifiedCommand("make lint", exit_code=0, seconds=0.2)
    web.run("Add a cart", Phase.REVIEW, checks_verification=Verification("c" * 40, "b" * 40, (ran,)))
    page = (await web.page("/")).text
    assert "checks ran, no test counted" in page
    assert "checks passed" not in page


async def test_a_card_shows_the_reason_of_a_waiting_run(web):
    web.run("Add a cart", Phase.QUEUED, reason="blocked by shop#7")
    page = (await web.page("/")).text
    assert "blocked by shop#7" in page
    assert "#1 in queue" in page


async def test_a_hostile_title_is_shown_as_text(web):
    web.run('<script>alert(1)</script><img src=x onerror=alert(2)> \u202eevil\x00 "quoted"')
    page = (await web.page("/")).text
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


async def test_the_board_can_be_filtered_by_text_and_by_project(tmp_path):
    async with open_dashboard(tmp_path, "shop", "tea") as web:
        web.run("Add a cart")
        web.run("Green tea", project="tea")
        assert lanes_in((await web.page("/?q=CART")).text)["working"] == ["Add a cart"]
        assert lanes_in((await web.page("/?project=tea")).text)["working"] == ["Green tea"]
        assert lanes_in((await web.page("/?project=tea&q=cart")).text)["working"] == []


async def test_a_change_reaches_an_open_page_as_the_page_would_render_it(web):
    run = web.run("Add a cart", Phase.QUEUED)
    page = (await web.page("/")).text
    since = re.search(r'data-since="([^"]+)"', page)[1]
    async with web.client.stream("GET", "/events", params={"since": since}, headers=PAGE) as answer:
        listener = Listener(answer.aiter_lines())
        web.save(run, phase=Phase.WORKING)
        news = await listener.next("card")
    assert (news["id"], news["lane"]) == (run.id, "working")
    assert news["html"] in (await web.page("/")).text


async def test_a_new_card_is_inserted_at_its_place_in_the_lane(web):
    first, second = (web.save(web.run(name, Phase.ASKING), changed_at=at) for name, at in (("a", 10), ("b", 20)))
    await web.page("/")
    async with web.client.stream("GET", "/events") as answer:
        listener = Listener(answer.aiter_lines())
        between = web.save(web.run("between", Phase.ASKING), changed_at=15)
        news = await listener.next("card")
    assert (news["id"], news["before"]) == (between.id, second.id)
    assert first.id != second.id


async def test_a_run_that_leaves_the_board_is_removed_from_open_pages(web):
    run = web.run("Add a cart", Phase.DONE)
    await web.page("/")
    async with web.client.stream("GET", "/events") as answer:
        listener = Listener(answer.aiter_lines())
        web.save(run, changed_at=1.0)
        assert (await listener.next("gone"))["id"] == run.id


async def test_a_page_that_reconnects_gets_each_missed_event_once(web):
    run = web.run("Add a cart", Phase.QUEUED)
    await web.page("/")
    async with web.client.stream("GET", "/events") as answer:
        web.save(run, phase=Phase.WORKING)
        seen = await Listener(answer.aiter_lines()).next("card")
    web.save(run, phase=Phase.REVIEW)
    async with web.client.stream("GET", "/events", headers={"Last-Event-ID": seen["number"]}) as answer:
        listener = Listener(answer.aiter_lines())
        news = await listener.next("card")
    assert (news["id"], news["lane"]) == (run.id, "review")


async def test_a_page_that_reconnects_after_a_restart_gets_a_resync(web):
    async with web.client.stream("GET", "/events", headers={"Last-Event-ID": "anotherlife-7"}) as answer:
        assert (await Listener(answer.aiter_lines()).next())["event"] == "resync"


async def test_a_slow_page_gets_a_resync_and_delays_no_other(web):
    hub = web.dashboard.hub
    with hub.subscribe(BOARD) as slow:
        for number in range(10_000):
            hub.publish(BOARD, "card", json.dumps(number))
        assert len(slow.queue) < 1000
        assert slow.queue[0].kind == "resync"
        assert slow.queue[-1].data == "9999"


async def test_a_slow_page_loses_no_events_of_a_fast_one(web):
    hub = web.dashboard.hub
    with hub.subscribe(BOARD), hub.subscribe(BOARD) as quick:
        seen = []
        for number in range(1000):
            hub.publish(BOARD, "card", json.dumps(number))
            seen += [news.data for news in await hub.next_events(quick, within=1)]
    assert seen == [str(number) for number in range(1000)]


async def test_fifty_viewers_share_the_snapshots(web):
    web.run("Add a cart")
    before = web.data.snapshots
    pages = await asyncio.gather(*(web.page("/") for _ in range(50)))
    assert {page.status_code for page in pages} == {200}
    assert web.data.snapshots - before < 10


async def test_the_stream_ends_with_the_daemon(tmp_path):
    async with open_dashboard(tmp_path) as web, web.client.stream("GET", "/events") as answer:
        web.dashboard.hub.close()
        async with asyncio.timeout(30):
            assert [line async for line in answer.aiter_lines() if line.startswith("data")] == []


async def test_static_files_are_cached_for_ever_at_an_address_with_their_hash(web):
    page = (await web.page("/")).text
    loaded = re.findall(r'(?:src|href)="(/static/[^"]+)"', page)
    assert {path.rpartition("/")[2] for path in loaded} == {"icon.svg", "style.css", "live_updates.js", "board.js"}
    for path in loaded:
        answer = await web.client.get(path)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
    assert (await web.client.get("/static/0000000000000000/style.css")).status_code == 404


async def test_pages_contain_no_inline_script_or_style_and_forbid_them(web):
    web.run("Add a cart")
    for path in ("/", "/new", "/health", "/login", "/nowhere"):
        answer = await web.page(path)
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:", answer.text), path
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
