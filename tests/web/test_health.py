"""Health: all we depend on, and what still works."""

from html import unescape
from pathlib import Path

from bot.app import store_of
from bot.cli.check import _outlook_of
from bot.domain.health import Ailment, Health
from bot.settings import Limits
from bot.settings.schema import Sandbox
from bot.status.setup_report import outlook_of
from tests.web.house import commit, open_house


async def test_what_is_well_is_shown_with_how_it_is(house):
    page = (await house.page("/health")).text
    assert all(text in page for text in ("disk", "GB free", "sandbox", "model", "embedded tracker and forge"))
    assert "not well" not in page


async def test_what_is_not_well_comes_first_and_says_what_still_works(tmp_path):
    async with open_house(tmp_path, limits=Limits(free_disk_gb=1e9)) as house:
        page = (await house.page("/health")).text
        assert page.index("not well") < page.index("sandbox")
        assert "nothing new starts before there is room" in page
        assert "disk: only" in (await house.page("/")).text


async def test_what_each_project_needs_is_said_in_the_words_of_the_terminal(house):
    folder = Path(house.settings.projects[0].repository)
    commit(folder, "Procfile", "web: ./<b>serve\n")
    commit(folder, "package.json", '{"scripts": {"test": "node --test"}}')
    commit(folder, "package-lock.json", '{"packages": {"": {}, "a": {"resolved": "https://packages.example.com/a"}}}')
    page = (await house.page("/health")).text
    assert "./&lt;b&gt;serve (Procfile)" in page
    assert 'setup_hosts = ["packages.example.com"]' in unescape(page)
    assert "in the way" in page
    found = _outlook_of(house.settings, house.settings.projects[0])
    assert [one.name for one in found] == ["shop/setup", "shop/verify", "shop/run"]
    for one in found:
        assert one.detail in unescape(page)


async def test_a_pool_is_told_of_as_well(tmp_path):
    async with open_house(tmp_path, sandbox=Sandbox(kind="none")) as house:
        project = house.settings.projects[0].model_copy(update={"pool": 2})
        assert outlook_of(house.settings, project)[-1].detail == "0 of 2 worktrees wait for runs"


async def test_projects_are_looked_at_once_a_minute_at_most(house):
    await house.page("/health")
    commit(Path(house.settings.projects[0].repository), "Procfile", "web: ./serve\n")
    assert "Procfile" not in (await house.page("/health")).text


async def test_what_only_the_daemon_knows_is_shown_by_it(house):
    store = store_of(house.settings)
    store.tidings.note([Ailment(Health("gate", ok=True, detail="the model answers agents"), 1.0)], ())
    store.close()
    assert "the model answers agents" in (await house.page("/health")).text
