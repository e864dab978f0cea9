"""A person starts a run's own server from its page: real worktrees, real processes, over HTTP."""

import asyncio
import re
from pathlib import Path

import httpx
import pytest

from bot.app import workspaces_of
from bot.domain.names import branch_for
from bot.domain.remote import Remote
from bot.domain.run import Phase
from bot.secret_scan.scanner import Secrets
from bot.settings.schema import Sandbox
from bot.setup.run_server import marker_for
from bot.system.processes import family, house_of
from tests.web.house import House, commit, open_house

PAGE = "/runs/shop%231"
SERVER = "echo '<b>up</b>'; exec python3 -u -m http.server $PORT --bind 127.0.0.1"
MANY = "for one in $(seq 40); do printf '%0900d\\n' $one; sleep 0.02; done; echo all of it; sleep 300"
RUN = f"""run = {{web = "{SERVER}", short = "echo over; exit 3", many = "{MANY}", loud = "yes"}}"""
SECONDS = 60


@pytest.fixture
async def house(tmp_path):
    async with open_house(tmp_path, sandbox=Sandbox(kind="none")) as house:
        yield house


async def offered(house: House):
    """A run in review, in a worktree."""
    repository = house.settings.projects[0].repository
    commit(Path(repository), ".github/treehand.toml", RUN)
    run = house.run("One", Phase.REVIEW)
    workspaces = workspaces_of(house.settings, house.settings.projects[0], Secrets())
    await workspaces.ensure(branch_for(run), base="main", remote=Remote(repository))
    return run


def alive(house: House, run) -> int:
    marker = marker_for(house_of(house.settings.state_dir / "agent"), branch_for(run))
    return len(family(marker.__eq__))


async def start(house: House, name: str) -> httpx.Response:
    return await house.post(f"{PAGE}/show/start", name=name)


async def shown(house: House, words: str, **headers: str) -> str:
    """The page, as soon as these words are on it."""
    async with asyncio.timeout(SECONDS):
        while words not in (text := (await house.page(PAGE, **headers)).text):
            await asyncio.sleep(0.1)
    return text


async def answer(address: str) -> str:
    """As soon as somebody listens there."""
    async with asyncio.timeout(SECONDS), httpx.AsyncClient() as client:
        while True:
            try:
                return (await client.get(address)).text
            except httpx.TransportError:
                await asyncio.sleep(0.1)


async def test_it_is_started_answers_at_the_address_that_the_page_names_and_is_stopped(house):
    run = await offered(house)
    before = (await house.page(PAGE)).text
    assert all(f"Start {name}" in before for name in ("web", "short", "many"))
    began = await start(house, "web")
    assert (began.status_code, began.headers["location"]) == (303, f"{PAGE}?done=started#servers")
    page = await shown(house, "The last lines it printed")
    assert "&lt;b&gt;up&lt;/b&gt;" in page
    assert "Start web" not in page
    assert "started by ana" in page
    address = re.search(r'href="(http://localhost:\d+/)" target="_blank" rel="noopener noreferrer"', page)[1]
    assert ".github" in await answer(address)
    assert alive(house, run) > 0
    ended = await house.post(f"{PAGE}/show/stop")
    assert ended.headers["location"] == f"{PAGE}?done=stopped#servers"
    assert alive(house, run) == 0
    page = (await house.page(PAGE)).text
    assert "<strong>web</strong> is down: stopped" in page
    assert "Start web" in page


async def test_of_one_worktree_one_is_up_and_who_wants_another_is_told(house):
    await offered(house)
    await start(house, "many")
    second = await start(house, "web")
    assert second.status_code == 422
    assert "many is up, and of one worktree one server is up at a time: stop it first." in second.text


async def test_one_that_somebody_else_has_up_is_told_as_well(house):
    run = await offered(house)
    up = asyncio.Event()
    showing = house.dashboard.closeup.show(run, "many", begun=lambda *_: up.set(), heard=lambda _: None)
    elsewhere = asyncio.ensure_future(showing)
    await asyncio.wait_for(up.wait(), SECONDS)
    second = await start(house, "web")
    assert second.status_code == 422
    assert "One of this run&#39;s servers is up already" in second.text
    assert "is down" not in second.text
    assert alive(house, run) > 0, "the first one goes on"
    elsewhere.cancel()
    await asyncio.wait([elsewhere])


async def test_what_it_prints_has_an_end(house):
    await offered(house)
    await start(house, "many")
    page = await shown(house, "all of it\n</pre>")
    printed = re.search(r'<pre class="printed"[^>]*>([^<]*)</pre>', page)[1].splitlines()
    assert len(printed) == 20
    assert max(map(len, printed)) == 300


async def test_one_that_ends_by_itself_is_told_with_its_exit_code(house):
    await offered(house)
    await start(house, "short")
    assert "over\n</pre>" in await shown(house, "<strong>short</strong> is down: ended with exit code 3")


async def test_a_name_nobody_knows_is_refused_in_words(house):
    await offered(house)
    refused = await start(house, "<i>")
    assert refused.status_code == 422
    assert "shop#1 has nothing called &lt;i&gt; to run. There is: web: echo" in refused.text
    assert "is down" not in refused.text


async def test_a_run_without_a_worktree_has_nothing_to_look_at(house):
    house.run("One")
    assert "This run has no worktree now" in (await house.page(PAGE)).text
    assert (await start(house, "web")).status_code == 422
    assert (await house.post(f"{PAGE}/show/stop")).status_code == 303


async def test_a_page_of_another_site_starts_nothing(house):
    run = await offered(house)
    refused = await house.client.post(
        f"{PAGE}/show/start", data={"name": "web"}, headers={"Origin": "http://evil.test"}
    )
    assert refused.status_code == 403
    assert alive(house, run) == 0


async def test_it_ends_with_the_run(house):
    run = await offered(house)
    await start(house, "many")
    house.save(run, phase=Phase.DONE)
    await shown(house, "<strong>many</strong> is down: shop#1 is over, or its worktree has gone")
    assert alive(house, run) == 0


async def test_it_ends_with_the_dashboard(tmp_path):
    async with open_house(tmp_path, sandbox=Sandbox(kind="none")) as house:
        run = await offered(house)
        await start(house, "many")
        assert alive(house, run) > 0
    assert alive(house, run) == 0


async def test_a_browser_is_never_led_there_by_the_name_that_our_cookie_is_for(house):
    await offered(house)
    await start(house, "many")
    port = house.client.base_url.port
    page = await shown(house, "many</strong> is up", Host=f"127.0.0.1:{port}")
    assert 'href="http://localhost:' in page
    assert "you may be on another one" not in page
    page = await shown(house, "many</strong> is up", Host=f"localhost:{port}")
    assert "open this page as <code>127.0.0.1</code>" in page
    assert 'href="http://localhost:' not in page


async def test_whoever_may_be_on_another_machine_is_told_where_it_listens(tmp_path):
    async with open_house(tmp_path, sandbox=Sandbox(kind="none"), hosts=("treehand.example.com",)) as house:
        await offered(house)
        await start(house, "many")
        page = await shown(house, "many</strong> is up", Host="treehand.example.com")
        assert "you may be on another one" in page


async def test_an_open_page_is_told_what_it_prints_and_that_it_ended(house):
    await offered(house)
    page = (await house.page(PAGE)).text
    state, seen = re.search(r'data-state="([^"]+)"', page)[1], re.search(r'data-print="([^"]*)"', page)[1]
    async with house.client.stream("GET", f"{PAGE}/events?state={state}&print={seen}") as stream:
        await start(house, "short")
        told = ""
        async with asyncio.timeout(SECONDS):
            async for line in stream.aiter_lines():
                told += f"{line}\n"
                if "ended with exit code 3" in told and "event: changed" in told:
                    break
    assert "event: show" in told
    assert "over\\n" in told


async def test_one_that_never_stops_printing_is_in_nobodys_way(house):
    await offered(house)
    await start(house, "loud")
    page = await shown(house, "y\ny\ny\n")
    assert page.count("y\n") < 60
    assert (await house.post(f"{PAGE}/show/stop")).status_code == 303
    assert "is down: stopped" in (await house.page(PAGE)).text
