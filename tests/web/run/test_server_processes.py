"""Preview: a person starts a run's server from its page, with real worktrees and processes."""

import asyncio
import re
from pathlib import Path

import httpx
import pytest

from bot.domain.branch_name import branch_for
from bot.domain.remote import Remote
from bot.domain.run import Phase
from bot.secret_scan.scanner import Secrets
from bot.settings.schema import SandboxSettings
from bot.setup.run_server import server_marker
from bot.system.processes import find_processes, state_dir_id
from bot.workspace.build import build_workspaces
from tests.web.running_dashboard import RunningDashboard, commit, open_dashboard

PAGE = "/runs/shop%231"
SERVER = "echo '<b>up</b>'; exec python3 -u -m http.server $PORT --bind 127.0.0.1"
MANY = "for one in $(seq 40); do printf '%0900d\\n' $one; sleep 0.02; done; echo all of it; sleep 300"
RUN = f"""run = {{web = "{SERVER}", short = "echo over; exit 3", many = "{MANY}", loud = "yes"}}"""
SECONDS = 60


@pytest.fixture
async def web(tmp_path):
    async with open_dashboard(tmp_path, sandbox=SandboxSettings(kind="none")) as web:
        yield web


async def offered(web: RunningDashboard):
    """A run in review with a worktree."""
    repository = web.settings.projects[0].repository
    commit(Path(repository), ".github/treehand.toml", RUN)
    run = web.run("One", Phase.REVIEW)
    workspaces = build_workspaces(web.settings, web.settings.projects[0], Secrets())
    await workspaces.ensure(branch_for(run), base="main", remote=Remote(repository))
    return run


def alive(web: RunningDashboard, run) -> int:
    marker = server_marker(state_dir_id(web.settings.state_dir / "agent"), branch_for(run))
    return len(find_processes(marker.__eq__))


async def start(web: RunningDashboard, name: str) -> httpx.Response:
    return await web.post(f"{PAGE}/show/start", name=name)


async def shown(web: RunningDashboard, words: str, **headers: str) -> str:
    """Returns the page as soon as it contains the text."""
    async with asyncio.timeout(SECONDS):
        while words not in (text := (await web.page(PAGE, **headers)).text):
            await asyncio.sleep(0.1)
    return text


async def answer(address: str) -> str:
    """Returns the response as soon as the server listens."""
    async with asyncio.timeout(SECONDS), httpx.AsyncClient() as client:
        while True:
            try:
                return (await client.get(address)).text
            except httpx.TransportError:
                await asyncio.sleep(0.1)


async def test_a_server_is_started_responds_at_the_shown_address_and_is_stopped(web):
    run = await offered(web)
    before = (await web.page(PAGE)).text
    assert all(f"Start {name}" in before for name in ("web", "short", "many"))
    began = await start(web, "web")
    assert (began.status_code, began.headers["location"]) == (303, f"{PAGE}?done=server-started#servers")
    page = await shown(web, "Last lines of output")
    assert "&lt;b&gt;up&lt;/b&gt;" in page
    assert "Start web" not in page
    assert "started by ana" in page
    address = re.search(r'href="(http://localhost:\d+/)" target="_blank" rel="noopener noreferrer"', page)[1]
    assert ".github" in await answer(address)
    assert alive(web, run) > 0
    ended = await web.post(f"{PAGE}/show/stop")
    assert ended.headers["location"] == f"{PAGE}?done=server-stopped#servers"
    assert alive(web, run) == 0
    page = (await web.page(PAGE)).text
    assert "<strong>web</strong> has stopped: stopped" in page
    assert "Start web" in page


async def test_a_second_server_of_a_run_is_refused_with_the_reason(web):
    await offered(web)
    await start(web, "many")
    second = await start(web, "web")
    assert second.status_code == 422
    assert "many is running, and a run can have one server at a time. Stop many first." in second.text


async def test_a_second_server_is_refused_if_the_first_was_started_elsewhere(web):
    run = await offered(web)
    up = asyncio.Event()
    showing = web.dashboard.details.run_server(run, "many", on_start=lambda *_: up.set(), on_output=lambda _: None)
    elsewhere = asyncio.ensure_future(showing)
    await asyncio.wait_for(up.wait(), SECONDS)
    second = await start(web, "web")
    assert second.status_code == 422
    assert "A server of this run is already running" in second.text
    assert "has stopped" not in second.text
    assert alive(web, run) > 0, "the first one goes on"
    elsewhere.cancel()
    await asyncio.wait([elsewhere])


async def test_only_the_end_of_the_output_is_kept(web):
    await offered(web)
    await start(web, "many")
    page = await shown(web, "all of it\n</pre>")
    printed = re.search(r'<pre class="printed"[^>]*>([^<]*)</pre>', page)[1].splitlines()
    assert len(printed) == 20
    assert max(map(len, printed)) == 300


async def test_a_server_that_ends_by_itself_is_shown_with_its_exit_code(web):
    await offered(web)
    await start(web, "short")
    assert "over\n</pre>" in await shown(web, "<strong>short</strong> has stopped: ended with exit code 3")


async def test_an_unknown_server_is_refused_with_the_reason(web):
    await offered(web)
    refused = await start(web, "<i>")
    assert refused.status_code == 422
    assert "shop#1 has no server named &lt;i&gt;. Its servers: web: echo" in refused.text
    assert "has stopped" not in refused.text


async def test_a_run_without_a_worktree_has_no_server(web):
    web.run("One")
    assert "This run has no worktree now" in (await web.page(PAGE)).text
    assert (await start(web, "web")).status_code == 422
    assert (await web.post(f"{PAGE}/show/stop")).status_code == 303


async def test_a_page_of_another_site_starts_nothing(web):
    run = await offered(web)
    refused = await web.client.post(f"{PAGE}/show/start", data={"name": "web"}, headers={"Origin": "http://evil.test"})
    assert refused.status_code == 403
    assert alive(web, run) == 0


async def test_a_server_ends_with_its_run(web):
    run = await offered(web)
    await start(web, "many")
    web.save(run, phase=Phase.DONE)
    await shown(web, "<strong>many</strong> has stopped: shop#1 is over, or its worktree is no longer free")
    assert alive(web, run) == 0


async def test_a_server_ends_with_the_dashboard(tmp_path):
    async with open_dashboard(tmp_path, sandbox=SandboxSettings(kind="none")) as web:
        run = await offered(web)
        await start(web, "many")
        assert alive(web, run) > 0
    assert alive(web, run) == 0


async def test_the_link_to_a_server_never_uses_the_host_name_of_our_cookie(web):
    await offered(web)
    await start(web, "many")
    port = web.client.base_url.port
    page = await shown(web, "many</strong> is running", Host=f"127.0.0.1:{port}")
    assert 'href="http://localhost:' in page
    assert "If you are on another machine" not in page
    page = await shown(web, "many</strong> is running", Host=f"localhost:{port}")
    assert "open this page as <code>127.0.0.1</code>" in page
    assert 'href="http://localhost:' not in page


async def test_a_person_on_another_machine_gets_a_hint_about_the_address(tmp_path):
    async with open_dashboard(tmp_path, sandbox=SandboxSettings(kind="none"), hosts=("treehand.example.com",)) as web:
        await offered(web)
        await start(web, "many")
        page = await shown(web, "many</strong> is running", Host="treehand.example.com")
        assert "If you are on another machine" in page


async def test_an_open_page_receives_the_output_and_the_end_of_a_server(web):
    await offered(web)
    page = (await web.page(PAGE)).text
    state, seen = re.search(r'data-state="([^"]+)"', page)[1], re.search(r'data-print="([^"]*)"', page)[1]
    async with web.client.stream("GET", f"{PAGE}/events?state={state}&print={seen}") as stream:
        await start(web, "short")
        told = ""
        async with asyncio.timeout(SECONDS):
            async for line in stream.aiter_lines():
                told += f"{line}\n"
                if "ended with exit code 3" in told and "event: changed" in told:
                    break
    assert "event: show" in told
    assert "over\\n" in told


async def test_a_server_that_prints_endlessly_delays_no_page(web):
    await offered(web)
    await start(web, "loud")
    page = await shown(web, "y\ny\ny\n")
    assert page.count("y\n") < 60
    assert (await web.post(f"{PAGE}/show/stop")).status_code == 303
    assert "has stopped: stopped" in (await web.page(PAGE)).text
