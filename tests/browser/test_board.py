"""Board in a real browser: live, without scripts, accessible, and safe from hostile titles."""

import asyncio
import contextlib
import signal

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import expect

from bot.demo.scripted_model import Pause, SayText, ScriptedModel, UseTool
from bot.domain.run import Phase
from bot.web.auth import Authenticator
from tests.browser.conftest import SECONDS, free_port
from tests.program.conftest import model_env, script_of, write
from tests.web.running_dashboard import open_dashboard

LOST = ("Failed to load resource",)
"""When the daemon goes."""

expect.set_options(timeout=SECONDS * 1000)

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)>{{7*7}} javascript:alert(4)'
PLAN_OF_TWO = UseTool("TodoWrite", {"todos": [
    {"content": "look", "activeForm": "looking", "status": "completed"},
    {"content": "write", "activeForm": "writing", "status": "in_progress"},
]})  # fmt: skip


def lane(page, name: str):
    return page.locator(f'[data-lane="{name}"]')


def url(web, path: str = "/") -> str:
    return str(web.client.base_url).rstrip("/") + path


# With a daemon and an agent


@contextlib.asynccontextmanager
async def daemon_of(person, model, port: int):
    process = await person.start("run", TREEHAND_WEB__BIND=f"127.0.0.1:{port}", **model_env(model))
    try:
        async with asyncio.timeout(SECONDS):
            while True:
                with contextlib.suppress(OSError):
                    (await asyncio.open_connection("127.0.0.1", port))[1].close()
                    break
                await asyncio.sleep(0.1)
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(process.communicate(), SECONDS)


async def test_a_new_issue_becomes_a_card_that_moves_on_every_open_page(ready, viewer):
    viewer.expected = LOST
    seen = asyncio.Event()

    play = script_of((PLAN_OF_TWO, write("answer = 42")), (Pause(until=seen), SayText("Done.")))

    port = free_port()
    async with ScriptedModel(play) as model, daemon_of(ready, model, port):
        page, other = await viewer.open(f"http://127.0.0.1:{port}/"), await viewer.open(f"http://127.0.0.1:{port}/")
        await page.get_by_role("link", name="New issue").click()
        await page.get_by_label("Describe the work").fill("The answer is wrong\n\nIt should be 42.")
        await page.get_by_role("button", name="Create issue").click()
        await page.get_by_role("link", name="shop#1").click()
        for each in (page, other):
            card = lane(each, "working").get_by_role("listitem")
            await expect(card).to_contain_text("The answer is wrong")
            await expect(card).to_contain_text("answer = 42")
            await expect(card).to_contain_text("1 of 2")
        seen.set()
        for each in (page, other):
            card = lane(each, "review").get_by_role("listitem")
            await expect(card).to_contain_text("The answer is wrong")
            await expect(card).to_contain_text("draft")
            await expect(lane(each, "working").get_by_role("listitem")).to_have_count(0)
            await expect(lane(each, "review").locator(".count")).to_have_text("1")
        asked = await page.request.post(f"http://127.0.0.1:{port}/api/v1/runs/shop%231/merge", data={})
        assert (asked.status, "shop#2 is merged" in (await asked.json())["said"]) == (202, True)
        await expect(lane(other, "done").get_by_role("listitem")).to_contain_text("merged")
        await page.get_by_role("link", name="Health").click()
        await expect(page.get_by_role("listitem").filter(has_text="next poll")).to_contain_text("UTC")


async def test_an_open_page_reconnects_to_its_daemon_and_shows_missed_events(ready, viewer):
    viewer.expected = LOST
    port = free_port()
    async with ScriptedModel(script_of((write("answer = 42"),), (SayText("Done."),))) as model:
        async with daemon_of(ready, model, port):
            page = await viewer.open(f"http://127.0.0.1:{port}/")
            await expect(page.get_by_text("The queue is empty.")).to_be_visible()
        await expect(page.get_by_role("status")).to_contain_text("Connection lost")
        await ready.does("issue", "new", "The answer is wrong", "--label", "ai")
        async with daemon_of(ready, model, port):
            await expect(lane(page, "review").get_by_role("listitem")).to_contain_text("The answer is wrong")
            await expect(page.get_by_text("Connection lost")).to_be_hidden()


# With many runs


async def test_a_hostile_title_is_shown_as_text_at_load_and_in_live_updates(web, viewer):
    web.run(HOSTILE, Phase.ASKING, reason=HOSTILE)
    page = await viewer.open(url(web))
    await expect(lane(page, "asking").get_by_role("link")).to_have_text(HOSTILE)
    web.run(HOSTILE, Phase.REVIEW, reason=HOSTILE)
    await expect(lane(page, "review").get_by_role("link")).to_have_text(HOSTILE)
    assert await page.locator("main img, main svg, main script").count() == 0


async def test_without_scripts_every_part_can_be_read_and_used(web, viewer):
    web.run("Add a cart", Phase.ASKING, reason="Which currency?")
    page = await viewer.open(url(web), java_script_enabled=False)
    await expect(lane(page, "asking")).to_contain_text("Which currency?")
    await page.get_by_role("link", name="New issue").click()
    await page.get_by_label("Describe the work").fill("Sell tea")
    await page.get_by_role("button", name="Create issue").click()
    await expect(page.get_by_role("status").first).to_contain_text("shop#2")
    await page.get_by_role("link", name="Board").click()
    await page.get_by_label("Search").fill("cart")
    await page.get_by_role("button", name="Filter").click()
    await expect(page.get_by_role("listitem")).to_have_count(1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_pages_have_no_accessibility_violations(web, viewer, scheme):
    for phase in Phase:
        web.run(f"in {phase}", phase, reason="because", spend_usd=1.0, turns_number=2)
    for path in ("/", "/new", "/health", "/login", "/nowhere"):
        page = await viewer.open(url(web, path), color_scheme=scheme)
        found = await Axe().run(page)
        assert found.violations_count == 0, f"{path}: {found.generate_report()}"
        await page.context.close()
    viewer.troubles = [one for one in viewer.troubles if "404" not in one]


@pytest.mark.parametrize("path", ["/", "/new", "/health", "/login"])
async def test_a_narrow_phone_needs_no_horizontal_scrolling(web, viewer, path):
    web.run("Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 2, reason="x" * 300)
    page = await viewer.open(url(web, path), viewport={"width": 360, "height": 740})
    assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


async def test_a_focused_card_keeps_the_focus_when_it_changes(web, viewer):
    run = web.run("Add a cart", Phase.QUEUED)
    page = await viewer.open(url(web))
    await page.get_by_role("link", name="Add a cart").focus()
    web.save(run, phase=Phase.WORKING)
    await expect(lane(page, "working").get_by_role("link", name="Add a cart")).to_be_focused()
    await expect(page.locator("#announcement")).to_have_text("Add a cart: Working")


async def test_a_filter_stays_in_force_when_other_runs_change(web, viewer):
    run, other = web.run("Add a cart", Phase.QUEUED), web.run("Sell tea", Phase.QUEUED)
    page = await viewer.open(url(web, "/?q=cart"))
    web.save(other, phase=Phase.WORKING)
    web.save(run, phase=Phase.WORKING)
    await expect(lane(page, "working").get_by_role("link")).to_have_text(["Add a cart"])


async def test_two_hundred_runs_are_shown_and_a_changed_one_moves_to_its_place(web, viewer):
    runs = [web.run(f"Number {number}", list(Phase)[number % 5]) for number in range(200)]
    page = await viewer.open(url(web))
    await expect(page.locator(".card")).to_have_count(200)
    moved = next(run for run in runs if run.phase is Phase.QUEUED)
    web.save(moved, phase=Phase.REVIEW)
    await expect(lane(page, "review").locator(".count")).to_have_text("41")
    await page.reload()
    order = await lane(page, "review").locator(".card").evaluate_all("cards => cards.map(card => card.dataset.id)")
    assert moved.id in order


async def test_a_person_logs_in_continues_to_the_wanted_page_and_logs_out(tmp_path, viewer):
    async with open_dashboard(tmp_path, access=Authenticator("open sesame", operator="ana")) as web:
        web.run("Add a cart")
        viewer.expected = ("401",)
        page = await viewer.open(url(web, "/?q=cart"))
        await page.get_by_label("Token").fill("close sesame")
        await page.get_by_role("button", name="Log in").click()
        await expect(page.get_by_role("alert")).to_have_text("Wrong token.")
        await page.get_by_label("Token").fill("open sesame")
        await page.get_by_label("Your name").fill("Bo <b>")
        await page.get_by_role("button", name="Log in").click()
        await expect(page.get_by_role("link", name="Add a cart")).to_be_visible()
        await expect(page.get_by_role("banner")).to_contain_text("Bo <b>")
        assert page.url.endswith("/?q=cart")
        await page.get_by_role("button", name="Log out").click()
        await page.goto(url(web))
        await expect(page.get_by_label("Token")).to_be_visible()
