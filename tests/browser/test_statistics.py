"""Statistics page in a real browser: charts, filters and CSV, at any width, in both colour schemes."""

import csv
import io
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, async_playwright

from bot.control.user_actions import UserActionService
from bot.domain.run import MERGED, Phase, Run
from bot.domain.spend import Spend
from bot.settings.load import load
from bot.status.dashboard_data import DashboardData
from bot.status.run_details import RunDetails
from bot.store.runs import RunStore
from bot.system.clock import DAY, now
from bot.web.app import AppConfig, build_app
from bot.web.dashboard import Dashboard
from bot.web.server import serving

CHROMIUM = "/usr/bin/chromium"
NAMES = ("spend", "throughput", "time-to-pull-request", "merge-rate", "queue", "tokens")
HOSTILE = '=HYPERLINK("x")<img src=x onerror=alert(1)>'
PROJECT = '[[projects]]\nname = "shop"\nrepository = "."\n[[projects]]\nname = "site"\nrepository = "."\n'


def live_through(path: Path) -> None:
    """Makes a history with data for each chart. The name of a deleted project may be anything."""
    store = RunStore.open(path)
    for number, (project, ago) in enumerate([("shop", 0), ("shop", 1), ("site", 2), (HOSTILE, 2), ("shop", 40)], 1):
        at = now() - ago * DAY
        run = Run(f"{project}#{number}", project, phase=Phase.DONE, reason=MERGED, begun_at=at - 600, changed_at=at)
        store.save(run, at=at - 500, notes=["queued → working"])
        store.save(run, at=at - 60, notes=["working → review"], spend=Spend(1, at, 1.25, 1000))
    store.close()


@dataclass
class Visit:
    browser: Browser
    address: str
    problems: list[str]

    async def open(self, path: str = "/statistics", **more) -> Page:
        page = await self.browser.new_page(**more)
        page.on("console", lambda told: self.problems.append(told.text) if told.type == "error" else None)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", lambda dialog: self.problems.append(dialog.message))
        answer = await page.goto(f"{self.address}{path}")
        assert answer
        assert answer.status == 200
        return page


@pytest.fixture
async def visit(tmp_path) -> AsyncIterator[Visit]:
    (tmp_path / "treehand.toml").write_text(f'state_dir = "state"\n{PROJECT}')
    settings = load(tmp_path / "treehand.toml")
    live_through(settings.state_dir / "treehand.db")
    data = DashboardData(settings, dict)
    dashboard = Dashboard(data, UserActionService(settings, lambda _: None), RunDetails(settings, data.find_run))
    config = AppConfig(wake=lambda _: None)
    async with (
        serving(build_app(config, dashboard), "127.0.0.1:0") as port,
        async_playwright() as playwright,
        await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]) as browser,
    ):
        visit = Visit(browser, f"http://127.0.0.1:{port}", [])
        yield visit
        assert visit.problems == []


async def test_every_chart_is_drawn_and_also_given_as_text_and_table(visit):
    page = await visit.open()
    assert await page.locator("nav a[aria-current=page]").inner_text() == "Statistics"
    charts = page.get_by_role("img")
    assert await charts.count() >= len(NAMES)
    for name in ("Spend", "Issues done", "Time to pull request", "Merge rate", "Queue", "Tokens"):
        assert await page.get_by_role("img", name=name, exact=True).count() == 1
        assert await page.get_by_text(f"{name} as a table").count() == 1
    assert "$5.00 in all" in await page.locator("#statistic-spend + p").inner_text()
    assert await page.locator("#statistic-throughput + p").inner_text() == (
        "Finished runs, by result: 4 merged, 0 ended otherwise"
    )
    await page.get_by_text("Spend as a table").click()
    table = page.get_by_role("region", name="Spend, day by day").get_by_role("table")
    assert await table.get_by_role("row").count() == 1 + 30
    assert await page.locator("svg .s0").first.evaluate("one => getComputedStyle(one).fill") == "rgb(26, 95, 168)"


async def test_a_form_selects_period_and_project_without_scripts(visit):
    page = await visit.open(java_script_enabled=False)
    await page.get_by_label("Period").select_option("90")
    await page.get_by_label("Project").select_option("shop")
    await page.get_by_role("button", name="Filter").click()
    await page.wait_for_url("**/statistics?days=90&project=shop")
    assert await page.get_by_label("Period").input_value() == "90"
    assert "$3.75 in all" in await page.locator("#statistic-spend + p").inner_text()


async def test_each_chart_is_saved_as_csv_without_formulas(visit):
    page = await visit.open("/statistics?days=7")
    async with page.expect_download() as waiting:
        await page.get_by_role("link", name="Spend as CSV").click()
    download = await waiting.value
    assert download.suggested_filename == "treehand-spend.csv"
    head, *rows = csv.reader(io.StringIO(Path(await download.path()).read_text()))
    assert sorted(head) == sorted(["from", "shop (usd)", "site (usd)", f"'{HOSTILE} (usd)"])
    assert len(rows) == 7
    assert sum(float(cell) for row in rows for cell in row[1:]) == 5.0
    for name in NAMES:
        answer = await page.request.get(f"{visit.address}/statistics/{name}.csv?days=30")
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        assert len((await answer.text()).splitlines()) == 31
    assert (await page.request.get(f"{visit.address}/statistics/none.csv")).status == 404
    assert (await page.request.get(f"{visit.address}/statistics/spend.csv?days=%00&project=%ff")).status == 200


@pytest.mark.parametrize("light", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
async def test_the_page_is_accessible_at_any_width_in_both_colour_schemes(visit, light, width):
    page = await visit.open(color_scheme=light, viewport={"width": width, "height": 800})
    for summary in await page.locator("summary").all():
        await summary.click()
    found = await Axe().run(page)
    assert found.response["violations"] == [], found.generate_report()
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
