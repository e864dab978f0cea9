"""The board in a real browser: live, without a script, for everybody, and whatever a title says."""

import asyncio
import contextlib
import signal

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import expect

from bot.demo.model import Say, ScriptedModel, Use, Wait
from bot.domain.run import Phase
from bot.web import Access
from tests.browser.conftest import SECONDS, free_port
from tests.program.conftest import acts, model_env, write
from tests.web.house import open_house

LOST = ("Failed to load resource",)
"""When the daemon goes."""

expect.set_options(timeout=SECONDS * 1000)

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)>{{7*7}} javascript:alert(4)'
TODO = Use("TodoWrite", {"todos": [
    {"content": "look", "activeForm": "looking", "status": "completed"},
    {"content": "write", "activeForm": "writing", "status": "in_progress"},
]})  # fmt: skip


def lane(page, name: str):
    return page.locator(f'[data-lane="{name}"]')


def url(house, path: str = "/") -> str:
    return str(house.client.base_url).rstrip("/") + path


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


async def test_what_is_typed_becomes_a_card_that_moves_by_itself_for_everybody_who_looks(ready, viewer):
    viewer.expected = LOST
    seen = asyncio.Event()

    play = acts((TODO, write("answer = 42")), (Wait(until=seen), Say("Done.")))

    port = free_port()
    async with ScriptedModel(play) as model, daemon_of(ready, model, port):
        page, other = await viewer.open(f"http://127.0.0.1:{port}/"), await viewer.open(f"http://127.0.0.1:{port}/")
        await page.get_by_role("link", name="New work").click()
        await page.get_by_label("What is wanted").fill("The answer is wrong\n\nIt should be 42.")
        await page.get_by_role("button", name="File it").click()
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
        await expect(page.get_by_role("listitem").filter(has_text="next look")).to_contain_text("UTC")


async def test_an_open_page_finds_its_daemon_again_and_shows_what_it_missed(ready, viewer):
    viewer.expected = LOST
    port = free_port()
    async with ScriptedModel(acts((write("answer = 42"),), (Say("Done."),))) as model:
        async with daemon_of(ready, model, port):
            page = await viewer.open(f"http://127.0.0.1:{port}/")
            await expect(page.get_by_text("Nothing waits.")).to_be_visible()
        await expect(page.get_by_role("status")).to_contain_text("The connection is lost")
        await ready.does("issue", "new", "The answer is wrong", "--label", "ai")
        async with daemon_of(ready, model, port):
            await expect(lane(page, "review").get_by_role("listitem")).to_contain_text("The answer is wrong")
            await expect(page.get_by_text("The connection is lost")).to_be_hidden()


# With many runs


async def test_a_hostile_title_does_nothing_when_it_is_loaded_and_when_it_comes_live(house, viewer):
    house.run(HOSTILE, Phase.ASKING, reason=HOSTILE)
    page = await viewer.open(url(house))
    await expect(lane(page, "asking").get_by_role("link")).to_have_text(HOSTILE)
    house.run(HOSTILE, Phase.REVIEW, reason=HOSTILE)
    await expect(lane(page, "review").get_by_role("link")).to_have_text(HOSTILE)
    assert await page.locator("main img, main svg, main script").count() == 0


async def test_without_a_script_all_is_there_to_be_read_and_done(house, viewer):
    house.run("Add a cart", Phase.ASKING, reason="Which currency?")
    page = await viewer.open(url(house), java_script_enabled=False)
    await expect(lane(page, "asking")).to_contain_text("Which currency?")
    await page.get_by_role("link", name="New work").click()
    await page.get_by_label("What is wanted").fill("Sell tea")
    await page.get_by_role("button", name="File it").click()
    await expect(page.get_by_role("status").first).to_contain_text("shop#2")
    await page.get_by_role("link", name="Board").click()
    await page.get_by_label("Find").fill("cart")
    await page.get_by_role("button", name="Show").click()
    await expect(page.get_by_role("listitem")).to_have_count(1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_nobody_is_kept_from_reading_it(house, viewer, scheme):
    for phase in Phase:
        house.run(f"in {phase}", phase, reason="because", spent_usd=1.0, turn=2)
    for path in ("/", "/new", "/health", "/login", "/nowhere"):
        page = await viewer.open(url(house, path), color_scheme=scheme)
        found = await Axe().run(page)
        assert found.violations_count == 0, f"{path}: {found.generate_report()}"
        await page.context.close()
    viewer.troubles = [one for one in viewer.troubles if "404" not in one]


@pytest.mark.parametrize("path", ["/", "/new", "/health", "/login"])
async def test_on_a_narrow_phone_nothing_has_to_be_pushed_sideways(house, viewer, path):
    house.run("Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 2, reason="x" * 300)
    page = await viewer.open(url(house, path), viewport={"width": 360, "height": 740})
    assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


async def test_whoever_is_at_a_card_stays_there_when_it_changes(house, viewer):
    run = house.run("Add a cart", Phase.QUEUED)
    page = await viewer.open(url(house))
    await page.get_by_role("link", name="Add a cart").focus()
    house.save(run, phase=Phase.WORKING)
    await expect(lane(page, "working").get_by_role("link", name="Add a cart")).to_be_focused()
    await expect(page.locator("#said")).to_have_text("Add a cart: Working")


async def test_what_somebody_looks_for_stays_what_is_shown_when_other_things_change(house, viewer):
    run, other = house.run("Add a cart", Phase.QUEUED), house.run("Sell tea", Phase.QUEUED)
    page = await viewer.open(url(house, "/?q=cart"))
    house.save(other, phase=Phase.WORKING)
    house.save(run, phase=Phase.WORKING)
    await expect(lane(page, "working").get_by_role("link")).to_have_text(["Add a cart"])


async def test_two_hundred_runs_are_shown_and_one_that_changes_is_put_in_its_place(house, viewer):
    runs = [house.run(f"Number {number}", list(Phase)[number % 5]) for number in range(200)]
    page = await viewer.open(url(house))
    await expect(page.locator(".card")).to_have_count(200)
    moved = next(run for run in runs if run.phase is Phase.QUEUED)
    house.save(moved, phase=Phase.REVIEW)
    await expect(lane(page, "review").locator(".count")).to_have_text("41")
    await page.reload()
    order = await lane(page, "review").locator(".card").evaluate_all("cards => cards.map(card => card.dataset.id)")
    assert moved.id in order


async def test_a_person_logs_in_goes_on_where_they_were_going_and_leaves(tmp_path, viewer):
    async with open_house(tmp_path, access=Access("open sesame", operator="ana")) as house:
        house.run("Add a cart")
        viewer.expected = ("401",)
        page = await viewer.open(url(house, "/?q=cart"))
        await page.get_by_label("Token").fill("close sesame")
        await page.get_by_role("button", name="Log in").click()
        await expect(page.get_by_role("alert")).to_have_text("That is not the token.")
        await page.get_by_label("Token").fill("open sesame")
        await page.get_by_label("Your name").fill("Bo <b>")
        await page.get_by_role("button", name="Log in").click()
        await expect(page.get_by_role("link", name="Add a cart")).to_be_visible()
        await expect(page.get_by_role("banner")).to_contain_text("Bo <b>")
        assert page.url.endswith("/?q=cart")
        await page.get_by_role("button", name="Log out").click()
        await page.goto(url(house))
        await expect(page.get_by_label("Token")).to_be_visible()
