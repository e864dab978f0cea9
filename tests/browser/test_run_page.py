"""A person at the page of a run, in a real browser, with a real daemon: it shows what is so, and does what is said."""

import asyncio
import re

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page, expect

from bot.demo.model import Say, Use, Wait
from tests.browser.run_grounds import House, house  # noqa: F401 - a fixture
from tests.program.conftest import DONE, acts, write

OFFERED = acts((Say("I look."), write("answer = 42")), DONE)
HACK = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
OPEN_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"


def phase(page: Page):
    return page.locator("#run-head .phase")


async def press(page: Page, name: str) -> None:
    await page.get_by_role("button", name=name, exact=True).click()


async def confirm(page: Page, name: str) -> None:
    await page.locator("summary", has_text=f"{name} …").click()
    await press(page, f"{name} now")


async def test_words_and_changes_come_as_they_happen(house: House):  # noqa: F811
    more, done = asyncio.Event(), asyncio.Event()
    await house.begin(
        acts(
            (Say("I will **look** at `app.py`."), write("answer = 42")),
            (Wait(until=more), Say("Now a second file."), write("x = 1", "second.py")),
            (Wait(until=done), Say("All is done.")),
        )
    )
    page = await house.look()
    talk, files = page.locator("#talk"), page.locator("#files")
    await expect(talk.locator("strong")).to_have_text("look")
    await expect(files.locator(".code.add")).to_have_text(re.compile("answer = 42"))
    await expect(files.locator(".code.del")).to_have_text(re.compile("answer = 41"))
    await expect(files).not_to_contain_text("second.py")
    await expect(talk.locator("[data-tool]").first).to_be_visible()
    opened = files.locator("details", has_text="app.py")
    await opened.locator("summary").click()

    more.set()
    await expect(talk).to_contain_text("Now a second file.")
    await expect(files).to_contain_text("second.py")
    assert await opened.get_attribute("open") is None, "what a person closed stays closed"
    done.set()
    await expect(phase(page)).to_have_text("In review")
    await expect(page.locator("#offer")).to_contain_text("Pull request #2")
    await expect(talk).to_contain_text("All is done.")
    assert await talk.get_by_text("Now a second file.").count() == 1
    await page.locator(".given summary").first.click()
    await expect(page.locator(".given pre").first).to_contain_text("Make it 42.")
    await expect(page.locator("#money")).to_contain_text("tokens")


async def test_what_one_says_the_other_sees_and_the_agent_hears(house: House):  # noqa: F811
    heard = asyncio.Event()

    def play(request):
        if "use a set" in request.last_said:
            heard.set()
        return OFFERED(request)

    await house.begin(play)
    one, other = await house.look(), await house.look()
    await expect(phase(one)).to_have_text("In review")
    await one.get_by_label("Say something to the agent").fill("use a set, <b>please</b>")
    await press(one, "Say it")
    await expect(one.locator("#done")).to_contain_text("Said.")
    await expect(other.locator("#said")).to_contain_text("use a set, <b>please</b>")
    await asyncio.wait_for(heard.wait(), 150)
    shown = await house.issue()
    assert "── ana" in shown
    assert "use a set, <b>please</b>" in shown
    await expect(other.locator("#talk h3")).to_have_count(2)


async def test_pause_resume_budget_and_stop(house: House):  # noqa: F811
    go = asyncio.Event()
    await house.begin(acts((write("answer = 42"),), (Wait(until=go), Say("Done."))))
    page = await house.look()
    await expect(phase(page)).to_have_text("Working")
    await press(page, "Pause")
    await expect(phase(page)).to_have_text("Needs you")
    await expect(page.locator("#said")).to_contain_text("Paused.")

    await page.get_by_text("Budget, and taking over").click()
    await page.get_by_label("It may cost so many dollars in all").fill("a lot")
    await press(page, "Set the budget")
    await expect(page.locator("#problem")).to_contain_text("such as 10 or 2.50")
    field = page.get_by_label("It may cost so many dollars in all")
    await expect(field).to_have_value("a lot")
    await field.fill("12")
    await press(page, "Set the budget")
    await expect(page.locator("#said")).to_contain_text("/ai budget 12")

    await press(page, "Resume")
    await expect(phase(page)).to_have_text("Working")
    await confirm(page, "Stop")
    await expect(phase(page)).to_have_text("Done today")
    await expect(page.locator("#steer")).to_contain_text("This run is over")
    shown = await house.issue()
    for order in ("/ai pause", "/ai budget 12", "/ai resume", "/ai stop"):
        assert order in shown
    go.set()


async def test_a_review_with_remarks_on_lines_then_ready_and_merged(house: House):  # noqa: F811
    def play(request):
        steps = ((write("answer = 43" if "forty-three" in request.last_said else "answer = 42"),), DONE)
        return steps[min(request.answers_since_said, 1)]

    await house.begin(play)
    page = await house.look()
    await expect(phase(page)).to_have_text("In review")
    await page.locator("#files td[data-line='1']").first.click()
    row = page.locator(".remark-row").first
    await expect(row.get_by_label("File")).to_have_value("app.py")
    await expect(row.get_by_label("Line")).to_have_value("1")
    await row.get_by_label("Remark").fill("rather forty-three")
    second = page.locator(".remark-row").nth(1)
    await second.get_by_label("File").fill("none.py")
    await second.get_by_label("Line").fill("3")
    await second.get_by_label("Remark").fill("this is not there")
    await page.get_by_label("In general").fill("Nearly.")
    await page.get_by_label("Request changes").check()
    await press(page, "Send the review")

    await expect(page.locator("#problem")).to_contain_text("none.py is not changed")
    await expect(page.get_by_label("In general")).to_have_value("Nearly.")
    await expect(page.get_by_label("Request changes")).to_be_checked()
    row, second = page.locator(".remark-row").first, page.locator(".remark-row").nth(1)
    await expect(row.get_by_label("Remark")).to_have_value("rather forty-three")
    for name in ("File", "Line", "Remark"):
        await second.get_by_label(name).fill("")
    await press(page, "Send the review")
    await expect(page.locator("#done")).to_contain_text("Your review is in.")
    await expect(page.locator("#files .code.add")).to_have_text(re.compile("answer = 43"))
    shown = await house.person.does("pr", "show", "2")
    assert "ana (request changes)" in shown
    assert "app.py:1: rather forty-three" in shown

    await expect(phase(page)).to_have_text("In review")
    await press(page, "Mark ready")
    await expect(page.locator("#run-head")).to_contain_text("(open)")
    await confirm(page, "Merge")
    await expect(phase(page)).to_have_text("Done today")
    assert house.person.git("show", "main:app.py") == "answer = 43"
    await expect(page.locator("#files .code.add")).to_have_text(re.compile("answer = 43"))


async def test_a_pull_request_is_closed(house: House):  # noqa: F811
    await house.begin(OFFERED)
    page = await house.look()
    await expect(phase(page)).to_have_text("In review")
    await confirm(page, "Close")
    await expect(phase(page)).to_have_text("Done today")
    assert "closed" in await house.person.does("pr", "list", "--all")


async def test_a_plan_is_approved_and_done(house: House):  # noqa: F811
    def play(request):
        if "approved" in request.last_said.lower():
            return ((write("answer = 42"),), DONE)[min(request.answers_since_said, 1)]
        return (Say("1. Change app.py"),)

    await house.begin(play, labels=("ai", "ai:plan"))
    page = await house.look()
    await expect(page.get_by_role("button", name="Approve the plan")).to_be_visible()
    await press(page, "Approve the plan")
    await expect(phase(page)).to_have_text("In review")
    assert "/ai approve" in await house.issue()


async def test_a_page_that_was_open_goes_on_after_a_restart(house: House):  # noqa: F811
    go = asyncio.Event()
    await house.begin(acts((Say("Before the restart."), write("answer = 42")), (Wait(until=go), Say("After it."))))
    page = await house.look()
    await expect(page.locator("#talk")).to_contain_text("Before the restart.")
    await page.get_by_label("Say something to the agent").fill("not sent yet")
    await house.kill()
    await expect(page.locator("#line")).to_contain_text("The connection is lost.")
    go.set()
    await house.start()
    await expect(page.locator("#line")).to_be_hidden()
    await expect(page.locator("#talk")).to_contain_text("After it.")
    await expect(phase(page)).to_have_text("In review")
    await expect(page.get_by_label("Say something to the agent")).to_have_value("not sent yet")
    fresh = await house.look()
    told = [await one.locator("#talk > *:not(.earlier)").all_inner_texts() for one in (page, fresh)]
    assert [line.split("\n")[0] for line in told[0]] == [line.split("\n")[0] for line in told[1]], "nothing twice"


async def test_hostile_words_names_and_files_are_only_shown(house: House):  # noqa: F811
    script = f"cat > app.py <<'END'\n{HACK}\nif admin\u202e: pass\nEND\n"
    script += (
        "printf x > '<img src=x onerror=alert(1)>.py'; printf '{{7*7}}' > $'a\\nb\\x1b.txt'; ln -s /etc/passwd link"
    )
    await house.begin(
        acts(
            (Say(HACK), Say(f"```\n</code></pre>{HACK}\n```"), Use("Bash", {"command": script, "description": HACK})),
            (Say(f"[click](javascript:window.hacked=1) {HACK}"),),
        ),
        title=f"{HACK} & more",
    )
    page = await house.look()
    await expect(page.locator("h1")).to_have_text(f"{HACK} & more")
    await expect(page.locator("#talk")).to_contain_text("[click](javascript:window.hacked=1)")
    files = page.locator("#files")
    await expect(files).to_contain_text("<img src=x onerror=alert(1)>.py")
    await expect(files).to_contain_text(r"a\nb\x1b.txt")
    await expect(files).to_contain_text("U+202E")
    await page.evaluate(OPEN_ALL)
    await expect(files).to_contain_text("{{7*7}}")
    await expect(files).to_contain_text("/etc/passwd")
    await expect(phase(page)).to_have_text(re.compile("In review|Needs you"))
    assert await page.evaluate("window.hacked") is None
    assert await page.locator("#run img, #run script, #run a[href^='javascript']").count() == 0
    assert "root:" not in await page.content()


async def test_anybody_can_use_it(house: House):  # noqa: F811
    await house.begin(OFFERED)
    for scheme in ("light", "dark"):
        page = await house.look(color_scheme=scheme)
        await expect(phase(page)).to_have_text("In review")
        await expect(page.locator("#offer")).to_be_visible()
        await page.evaluate(OPEN_ALL)
        found = await Axe().run(page)
        assert found.violations_count == 0, found.generate_report()

    small = await house.look(viewport={"width": 360, "height": 740})
    await expect(small.locator("#files")).to_contain_text("answer = 42")
    assert await small.evaluate("document.documentElement.scrollWidth") <= 360

    page = await house.look()
    await page.get_by_label("Say something to the agent").focus()
    await page.keyboard.type("typed without a mouse")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.locator("#done")).to_contain_text("Said.")
    file = page.locator("#files summary").first
    was_open = await page.locator("#files details").first.get_attribute("open")
    await file.focus()
    await page.keyboard.press("Enter")
    assert await page.locator("#files details").first.get_attribute("open") != was_open


async def test_without_scripts_everything_is_read_and_done(house: House):  # noqa: F811
    go = asyncio.Event()
    await house.begin(
        acts(
            (Say("I look."), write("answer = 42")),
            (Use("Bash", {"command": "seq 1 700 > numbers.txt", "description": "Count"}),),
            (Wait(until=go), Say("Done.")),
        )
    )
    await expect((await house.look()).locator("#files")).to_contain_text("numbers.txt")
    page = await house.look(java_script_enabled=False)
    await expect(page.locator("#talk")).to_contain_text("I look.")
    await expect(page.locator("#files .code.add").first).to_contain_text("answer = 42")
    await page.locator("#files summary", has_text="numbers.txt").click()
    await page.get_by_role("link", name="Show what changed in numbers.txt").click()
    await expect(page.locator("h1")).to_have_text("numbers.txt")
    await expect(page.locator(".code.add").first).to_contain_text("1")
    await page.get_by_role("link", name="The next lines").click()
    await expect(page.locator(".code.add").first).to_contain_text("300")
    await page.get_by_role("link", name="shop#1").click()
    await page.get_by_label("Say something to the agent").fill("no scripts here")
    await press(page, "Say it")
    await expect(page.locator("#done")).to_contain_text("Said.")
    assert "no scripts here" in await house.issue()
    await page.get_by_role("link", name="Given to read").click()
    await expect(page.locator("main")).to_contain_text("Make it 42.")
    go.set()


async def test_a_hundred_thousand_lines_open_a_few_at_a_time(house: House):  # noqa: F811
    await house.begin(acts((Use("Bash", {"command": "seq 1 100000 > big.py", "description": "Count"}),), DONE))
    page = await house.look()
    await expect(page.locator("#changes-sum")).to_contain_text("+100,000")
    await expect(phase(page)).to_have_text("In review")
    html = await (await page.request.get(page.url)).body()
    assert len(html) < 100_000
    assert await page.locator("#files tr").count() == 0
    await page.locator("#files summary", has_text="big.py").click()
    await expect(page.locator("#files .code.add")).to_have_count(299)
    await page.get_by_role("link", name="The next lines").click()
    await expect(page.locator("#files .code.add")).to_have_count(599)


async def test_what_changed_since_a_person_looked_is_said(house: House):  # noqa: F811
    def play(request):
        steps = ((write("answer = 43" if "more" in request.last_said else "answer = 42"),), DONE)
        return steps[min(request.answers_since_said, 1)]

    await house.begin(play)
    page = await house.look()
    await expect(phase(page)).to_have_text("In review")
    await page.get_by_role("checkbox", name="viewed: app.py").check()
    await page.reload()
    await expect(page.get_by_role("checkbox", name="viewed: app.py")).to_be_checked()
    await expect(page.locator("#files .news")).to_be_hidden()
    await house.person.does("say", "1", "one more, please")
    await expect(page.locator("#files .news")).to_be_visible()
    await expect(page.get_by_role("checkbox", name="viewed: app.py")).not_to_be_checked()
