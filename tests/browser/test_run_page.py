"""Run page in a real browser with a real daemon: shows the run and performs its actions."""

import asyncio
import re

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page, expect

from bot.demo.scripted_model import Pause, SayText, UseTool
from tests.browser.dashboard_daemon import DashboardDaemon, daemon  # noqa: F401 - a fixture
from tests.program.conftest import DONE, script_of, write

OFFERED = script_of((SayText("I look."), write("answer = 42")), DONE)
HACK = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
OPEN_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"


def phase(page: Page):
    return page.locator("#run-head .phase")


async def press(page: Page, name: str) -> None:
    await page.get_by_role("button", name=name, exact=True).click()


async def confirm(page: Page, name: str) -> None:
    await page.locator("summary", has_text=f"{name} …").click()
    await press(page, f"{name} now")


async def test_text_and_changes_are_shown_live(daemon: DashboardDaemon):  # noqa: F811
    more, done = asyncio.Event(), asyncio.Event()
    await daemon.start_run(
        script_of(
            (SayText("I will **look** at `app.py`."), write("answer = 42")),
            (Pause(until=more), SayText("Now a second file."), write("x = 1", "second.py")),
            (Pause(until=done), SayText("All is done.")),
        )
    )
    page = await daemon.open_run()
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
    await expect(page.locator("#pull-request")).to_contain_text("Pull request #2")
    await expect(talk).to_contain_text("All is done.")
    assert await talk.get_by_text("Now a second file.").count() == 1
    await page.locator(".prompt summary").first.click()
    await expect(page.locator(".prompt pre").first).to_contain_text("Make it 42.")
    await expect(page.locator("#cost")).to_contain_text("tokens")


async def test_a_message_reaches_other_open_pages_and_the_agent(daemon: DashboardDaemon):  # noqa: F811
    heard = asyncio.Event()

    def play(request):
        if "use a set" in request.last_user_text:
            heard.set()
        return OFFERED(request)

    await daemon.start_run(play)
    one, other = await daemon.open_run(), await daemon.open_run()
    await expect(phase(one)).to_have_text("In review")
    await one.get_by_label(re.compile("Message|Your answer")).fill("use a set, <b>please</b>")
    await press(one, "Send")
    await expect(one.locator("#done")).to_contain_text("Sent.")
    await expect(other.locator("#discussion")).to_contain_text("use a set, <b>please</b>")
    await asyncio.wait_for(heard.wait(), 150)
    shown = await daemon.issue()
    assert "── ana" in shown
    assert "use a set, <b>please</b>" in shown
    await expect(other.locator("#talk h3")).to_have_count(2)


async def test_pause_resume_budget_and_stop(daemon: DashboardDaemon):  # noqa: F811
    go = asyncio.Event()
    await daemon.start_run(script_of((write("answer = 42"),), (Pause(until=go), SayText("Done."))))
    page = await daemon.open_run()
    await expect(phase(page)).to_have_text("Working")
    await press(page, "Pause")
    await expect(phase(page)).to_have_text("Needs you")
    await expect(page.locator("#discussion")).to_contain_text("Paused.")

    await page.get_by_text("Budget and takeover").click()
    await page.get_by_label("Budget for the issue (USD, all its runs)").fill("a lot")
    await press(page, "Set budget")
    await expect(page.locator("#problem")).to_contain_text("such as 10 or 2.50")
    field = page.get_by_label("Budget for the issue (USD, all its runs)")
    await expect(field).to_have_value("a lot")
    await field.fill("12")
    await press(page, "Set budget")
    await expect(page.locator("#discussion")).to_contain_text("/ai budget 12")

    await press(page, "Resume")
    await expect(phase(page)).to_have_text("Working")
    await confirm(page, "Stop")
    await expect(phase(page)).to_have_text("Done today")
    await expect(page.locator("#actions")).to_contain_text("This run is over")
    shown = await daemon.issue()
    for order in ("/ai pause", "/ai budget 12", "/ai resume", "/ai stop"):
        assert order in shown
    go.set()


async def test_a_review_with_remarks_on_lines_then_ready_and_merged(daemon: DashboardDaemon):  # noqa: F811
    def play(request):
        steps = ((write("answer = 43" if "forty-three" in request.last_user_text else "answer = 42"),), DONE)
        return steps[min(request.answers_since_user_text, 1)]

    await daemon.start_run(play)
    page = await daemon.open_run()
    await expect(phase(page)).to_have_text("In review")
    await page.locator("#files td[data-line='1']").first.click()
    row = page.locator(".remark-row").first
    await expect(row.get_by_label("File")).to_have_value("app.py")
    await expect(row.get_by_label("Line")).to_have_value("1")
    await row.get_by_label("Comment").fill("rather forty-three")
    second = page.locator(".remark-row").nth(1)
    await second.get_by_label("File").fill("none.py")
    await second.get_by_label("Line").fill("3")
    await second.get_by_label("Comment").fill("this is not there")
    await page.get_by_label("Summary").fill("Nearly.")
    await page.get_by_label("Request changes").check()
    await press(page, "Send review")

    await expect(page.locator("#problem")).to_contain_text("none.py is not changed")
    await expect(page.get_by_label("Summary")).to_have_value("Nearly.")
    await expect(page.get_by_label("Request changes")).to_be_checked()
    row, second = page.locator(".remark-row").first, page.locator(".remark-row").nth(1)
    await expect(row.get_by_label("Comment")).to_have_value("rather forty-three")
    for name in ("File", "Line", "Comment"):
        await second.get_by_label(name).fill("")
    await press(page, "Send review")
    await expect(page.locator("#done")).to_contain_text("Review sent.")
    await expect(page.locator("#files .code.add")).to_have_text(re.compile("answer = 43"))
    shown = await daemon.person.does("pr", "show", "2")
    assert "ana (request changes)" in shown
    assert "app.py:1: rather forty-three" in shown

    await expect(phase(page)).to_have_text("In review")
    await press(page, "Mark ready")
    await expect(page.locator("#run-head")).to_contain_text("(open)")
    await confirm(page, "Merge")
    await expect(phase(page)).to_have_text("Done today")
    assert daemon.person.git("show", "main:app.py") == "answer = 43"
    await expect(page.locator("#files .code.add")).to_have_text(re.compile("answer = 43"))


async def test_a_pull_request_can_be_closed(daemon: DashboardDaemon):  # noqa: F811
    await daemon.start_run(OFFERED)
    page = await daemon.open_run()
    await expect(phase(page)).to_have_text("In review")
    await confirm(page, "Close")
    await expect(phase(page)).to_have_text("Done today")
    assert "closed" in await daemon.person.does("pr", "list", "--all")


async def test_a_plan_is_approved_and_carried_out(daemon: DashboardDaemon):  # noqa: F811
    def play(request):
        if "approved" in request.last_user_text.lower():
            return ((write("answer = 42"),), DONE)[min(request.answers_since_user_text, 1)]
        return (SayText("1. Change app.py"),)

    await daemon.start_run(play, labels=("ai", "ai:plan"))
    page = await daemon.open_run()
    await expect(page.get_by_role("button", name="Approve the plan")).to_be_visible()
    await press(page, "Approve the plan")
    await expect(phase(page)).to_have_text("In review")
    assert "/ai approve" in await daemon.issue()


async def test_an_open_page_continues_after_a_restart(daemon: DashboardDaemon):  # noqa: F811
    go = asyncio.Event()
    await daemon.start_run(
        script_of((SayText("Before the restart."), write("answer = 42")), (Pause(until=go), SayText("After it.")))
    )
    page = await daemon.open_run()
    await expect(page.locator("#talk")).to_contain_text("Before the restart.")
    await page.get_by_label(re.compile("Message|Your answer")).fill("not sent yet")
    await daemon.kill()
    await expect(page.locator("#connection")).to_contain_text("Connection lost.")
    go.set()
    await daemon.start()
    await expect(page.locator("#connection")).to_be_hidden()
    await expect(page.locator("#talk")).to_contain_text("After it.")
    await expect(phase(page)).to_have_text("In review")
    await expect(page.get_by_label(re.compile("Message|Your answer"))).to_have_value("not sent yet")
    fresh = await daemon.open_run()
    told = [await one.locator("#talk > *:not(.earlier)").all_inner_texts() for one in (page, fresh)]
    assert [line.split("\n")[0] for line in told[0]] == [line.split("\n")[0] for line in told[1]], "nothing twice"


async def test_hostile_text_names_and_files_are_only_shown(daemon: DashboardDaemon):  # noqa: F811
    script = f"cat > app.py <<'END'\n{HACK}\nif admin\u202e: pass\nEND\n"
    script += (
        "printf x > '<img src=x onerror=alert(1)>.py'; printf '{{7*7}}' > $'a\\nb\\x1b.txt'; ln -s /etc/passwd link"
    )
    await daemon.start_run(
        script_of(
            (
                SayText(HACK),
                SayText(f"```\n</code></pre>{HACK}\n```"),
                UseTool("Bash", {"command": script, "description": HACK}),
            ),
            (SayText(f"[click](javascript:window.hacked=1) {HACK}"),),
        ),
        title=f"{HACK} & more",
    )
    page = await daemon.open_run()
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


async def test_the_run_page_is_accessible_and_usable_by_keyboard(daemon: DashboardDaemon):  # noqa: F811
    await daemon.start_run(OFFERED)
    for scheme in ("light", "dark"):
        page = await daemon.open_run(color_scheme=scheme)
        await expect(phase(page)).to_have_text("In review")
        await expect(page.locator("#pull-request")).to_be_visible()
        await page.evaluate(OPEN_ALL)
        found = await Axe().run(page)
        assert found.violations_count == 0, found.generate_report()

    small = await daemon.open_run(viewport={"width": 360, "height": 740})
    await expect(small.locator("#files")).to_contain_text("answer = 42")
    assert await small.evaluate("document.documentElement.scrollWidth") <= 360

    page = await daemon.open_run()
    await page.get_by_label(re.compile("Message|Your answer")).focus()
    await page.keyboard.type("typed without a mouse")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.locator("#done")).to_contain_text("Sent.")
    file = page.locator("#files summary").first
    was_open = await page.locator("#files details").first.get_attribute("open")
    await file.focus()
    await page.keyboard.press("Enter")
    assert await page.locator("#files details").first.get_attribute("open") != was_open


async def test_without_scripts_every_part_can_be_read_and_used(daemon: DashboardDaemon):  # noqa: F811
    go = asyncio.Event()
    await daemon.start_run(
        script_of(
            (SayText("I look."), write("answer = 42")),
            (UseTool("Bash", {"command": "seq 1 700 > numbers.txt", "description": "Count"}),),
            (Pause(until=go), SayText("Done.")),
        )
    )
    await expect((await daemon.open_run()).locator("#files")).to_contain_text("numbers.txt")
    page = await daemon.open_run(java_script_enabled=False)
    await expect(page.locator("#talk")).to_contain_text("I look.")
    await expect(page.locator("#files .code.add").first).to_contain_text("answer = 42")
    await page.locator("#files summary", has_text="numbers.txt").click()
    await page.get_by_role("link", name="Show changes in numbers.txt").click()
    await expect(page.locator("h1")).to_have_text("numbers.txt")
    await expect(page.locator(".code.add").first).to_contain_text("1")
    await page.get_by_role("link", name="Show more lines").click()
    await expect(page.locator(".code.add").first).to_contain_text("300")
    await page.get_by_role("link", name="shop#1").click()
    await page.get_by_label(re.compile("Message|Your answer")).fill("no scripts here")
    await press(page, "Send")
    await expect(page.locator("#done")).to_contain_text("Sent.")
    assert "no scripts here" in await daemon.issue()
    await page.get_by_role("link", name="Prompt").click()
    await expect(page.locator("main")).to_contain_text("Make it 42.")
    go.set()


async def test_a_diff_of_a_hundred_thousand_lines_opens_in_parts(daemon: DashboardDaemon):  # noqa: F811
    await daemon.start_run(
        script_of((UseTool("Bash", {"command": "seq 1 100000 > big.py", "description": "Count"}),), DONE)
    )
    page = await daemon.open_run()
    await expect(page.locator("#changes-sum")).to_contain_text("+100,000")
    await expect(phase(page)).to_have_text("Needs you")  # GitHub does not show so many lines: a person has to approve
    html = await (await page.request.get(page.url)).body()
    assert len(html) < 100_000
    assert await page.locator("#files tr").count() == 0
    await page.locator("#files summary", has_text="big.py").click()
    await expect(page.locator("#files .code.add")).to_have_count(299)
    await page.get_by_role("link", name="Show more lines").click()
    await expect(page.locator("#files .code.add")).to_have_count(599)


async def test_changes_since_the_last_view_are_marked(daemon: DashboardDaemon):  # noqa: F811
    def play(request):
        steps = ((write("answer = 43" if "more" in request.last_user_text else "answer = 42"),), DONE)
        return steps[min(request.answers_since_user_text, 1)]

    await daemon.start_run(play)
    page = await daemon.open_run()
    await expect(phase(page)).to_have_text("In review")
    await page.get_by_role("checkbox", name="viewed: app.py").check()
    await page.reload()
    await expect(page.get_by_role("checkbox", name="viewed: app.py")).to_be_checked()
    await expect(page.locator("#files .news")).to_be_hidden()
    await daemon.person.does("say", "1", "one more, please")
    await expect(page.locator("#files .news")).to_be_visible()
    await expect(page.get_by_role("checkbox", name="viewed: app.py")).not_to_be_checked()
