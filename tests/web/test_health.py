"""Health page: every dependency, the parts that still work, and the setup reports."""

from html import unescape
from pathlib import Path

from bot.cli.check import check_setup
from bot.domain.health import Health, HealthRecord
from bot.settings.schema import LimitSettings, SandboxSettings
from bot.status.setup_report import report_setup
from bot.store.build import open_store
from tests.web.running_dashboard import commit, open_dashboard


async def test_a_healthy_dependency_is_shown_with_its_detail(web):
    page = (await web.page("/health")).text
    assert all(text in page for text in ("disk", "GB free", "sandbox", "model", "local tracker and forge"))
    assert "Failing" not in page


async def test_a_failing_dependency_comes_first_with_the_parts_that_still_work(tmp_path):
    async with open_dashboard(tmp_path, limits=LimitSettings(free_disk_gb=1e9)) as web:
        page = (await web.page("/health")).text
        assert page.index("Failed") < page.index("sandbox")
        assert "no turn starts before space is free" in page
        assert "disk: only" in (await web.page("/")).text


async def test_the_setup_report_of_each_project_equals_that_of_the_terminal(web):
    folder = Path(web.settings.projects[0].repository)
    commit(folder, "Procfile", "web: ./<b>serve\n")
    commit(folder, "package.json", '{"scripts": {"test": "node --test"}}')
    commit(folder, "package-lock.json", '{"packages": {"": {}, "a": {"resolved": "https://packages.example.com/a"}}}')
    page = (await web.page("/health")).text
    assert "./&lt;b&gt;serve (Procfile)" in page
    assert 'setup_hosts = ["packages.example.com"]' in unescape(page)
    assert "Failed" in page
    found = check_setup(web.settings, web.settings.projects[0])
    assert [one.name for one in found] == ["shop/setup", "shop/versions", "shop/verify", "shop/run", "shop/content"]
    for one in found:
        assert one.detail in unescape(page)


async def test_copied_files_with_tokens_are_named(web):
    commit(Path(web.settings.projects[0].repository), "app.py", "")
    project = web.settings.projects[0].model_copy(update={"copied": (".env", "web/.npmrc")})
    (found,) = [one for one in report_setup(web.settings, project) if one.name == "copy"]
    assert found.ok
    assert found.detail.startswith("agents can read the tokens in web/.npmrc. With `[[registries]]`, a token stays")


async def test_the_state_of_a_pool_is_shown(tmp_path):
    async with open_dashboard(tmp_path, sandbox=SandboxSettings(kind="none")) as web:
        project = web.settings.projects[0].model_copy(update={"pool": 2})
        assert report_setup(web.settings, project)[-1].detail == "0 of 2 worktrees are ready"


async def test_setup_reports_are_made_at_most_once_a_minute(web):
    await web.page("/health")
    commit(Path(web.settings.projects[0].repository), "Procfile", "web: ./serve\n")
    assert "Procfile" not in (await web.page("/health")).text


async def test_health_recorded_by_the_daemon_is_shown(web):
    store = open_store(web.settings)
    store.notifications.save_health(
        [HealthRecord(Health("proxy", ok=True, detail="the model answers agents"), 1.0)], ()
    )
    store.close()
    assert "the model answers agents" in (await web.page("/health")).text
