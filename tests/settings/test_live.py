"""Settings that take effect without a restart: which they are, and that every part of a running daemon follows them."""

import logging
import re
from pathlib import Path
from typing import Any

import pytest

from bot.app import open_app
from bot.daemon import Daemon
from bot.errors import BadSettings
from bot.settings.live import LIVE, NEEDS_RESTART, compare_settings
from bot.settings.load import known_keys, load
from bot.settings.watch_file import SettingsFile
from bot.system.logs import set_level
from tests.settings.test_settings import PROJECT

BASE = f'state_dir = "state"\nlimits.free_disk_gb = 0\n{PROJECT}'
CHANGES = {
    "notify.on": '["failed"]',
    "notify.quiet": '"22:00-07:00"',
    "notify.zone": '"Europe/Berlin"',
    "notify.link": '"https://bot.example.com"',
    "log.level": '"debug"',
    "sandbox.hosts": '["a.example.com"]',
    "sandbox.setup_hosts": '["b.example.com"]',
    "sandbox.private_hosts": '["npm.corp.example"]',
    "sandbox.tools": '["tools"]',
    "sandbox.install_versions": "false",
    "budget.prices": "{ mine = { input = 1, output = 2 } }",
    "agent.model": '"opus"',
    "projects.ci": '"after-approval"',
    "projects.protected": '["deploy/**"]',
    "projects.setup": '["make setup"]',
    "projects.verify": "false",
    "projects.teardown": '["make down"]',
    "projects.services": '["redis"]',
    "projects.run": '{ web = "npm start" }',
    "projects.copy": '[".secrets"]',
    "projects.copy_from": '"elsewhere"',
}
"""Another value than the default; for the others, a number."""


@pytest.fixture(autouse=True)
def _restored_level():
    level = logging.root.level
    yield
    logging.root.setLevel(level)


@pytest.fixture
def write(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("tools", "elsewhere", "code"):
        (tmp_path / name).mkdir()

    def writing(text: str = BASE):
        (tmp_path / "treehand.toml").write_text(text)
        return load(tmp_path / "treehand.toml")

    return writing


def with_change(key: str, value: str) -> str:
    table, _, name = key.rpartition(".")
    if table == "projects":
        return f"{BASE}{name} = {value}\n"
    return f"{key} = {value}\n" + BASE.replace(f"{key} = 0\n", "")


def in_force(app: Any) -> dict[str, object]:
    """What the parts of a daemon were built with."""
    project, sandbox = app.ports.projects["shop"], app.agent._sandbox
    resources = project.setup._resources
    return {
        "settings": app.settings.model_copy(),
        "policy": project.policy,
        "sandbox": (sandbox._rules, sandbox._day.limit_usd, sandbox._proxy.prices, sandbox.tests_have_network),
        "setup": (project.setup._overrides, resources.setup_seconds, resources.verify_seconds, resources.setup_hosts),
        "steps": project.setup._steps.resources.setup_hosts,
        "log": logging.root.level,
        "guard": project.workspaces._guard.rules,
        "pool": app.maintenance.pools.projects["shop"].size,
        "disk": app.maintenance.disk._min_free_gb,
        "notify": app.monitor.notifier.preferences,
    }


def test_every_setting_is_live_or_needs_a_restart():
    assert set(known_keys()) == LIVE | NEEDS_RESTART
    assert not LIVE & NEEDS_RESTART


def test_the_page_lists_what_needs_a_restart():
    page = Path(__file__).parents[2].joinpath("docs/settings.md").read_text()
    part = page.partition("\n## Changes while Treehand runs\n")[2].partition("\n## ")[0]
    listed = part.partition("after a restart:")[2].partition("\n\n")[2].partition("\n\n")[0]
    assert set(re.findall(r"`([\w.]+)`", listed)) == NEEDS_RESTART


@pytest.mark.parametrize("key", sorted(LIVE))
async def test_a_live_setting_counts_as_if_the_daemon_had_started_with_it(write, key):
    """By its effect on everything that was built from the settings."""
    value = CHANGES.get(key, "7")
    before, after = write(), write(with_change(key, value))
    set_level(after.log.level)
    async with open_app(after, {}) as app:
        wanted = in_force(app)
    set_level(before.log.level)
    async with open_app(before, {}) as app:
        started = in_force(app)
        change = app.take_over(after)
        assert in_force(app) == wanted
        assert started != wanted
        assert (len(change.applied), change.waiting) == (1, ())
        assert key.rpartition(".")[2] in change.applied[0]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("state_dir", '"other"'),
        ("label", '"robot"'),
        ("limits.claim_seconds", "0"),
        ("sandbox.kind", '"none"'),
        ("github.api_url", '"https://github.example.com/api/v3"'),
        ("web.bind", '"127.0.0.1:1"'),
        ("notify.urls", '["json://a.example.com"]'),
        ("log.format", '"json"'),
        ("projects.base", '"develop"'),
        ("projects.trusted", '["bea"]'),
        ("projects.repository", '"elsewhere"'),
    ],
)
async def test_what_needs_a_restart_is_named_and_changes_nothing(write, key, value):
    before = write()
    text = with_change(key, value).replace(
        'repository = "code"\n', "" if key == "projects.repository" else 'repository = "code"\n'
    )
    after = write(text.replace('state_dir = "state"\n', "") if key == "state_dir" else text)
    async with open_app(before, {}) as app:
        started = in_force(app)
        change = app.take_over(after)
        assert in_force(app) == started
        assert (change.applied, change.waiting) == ((), (key,))


async def test_an_added_project_needs_a_restart_and_the_rest_of_the_change_counts(write):
    before = write()
    more = BASE.replace("limits.free", "limits.working = 9\nlimits.free") + PROJECT.replace("shop", "cafe")
    async with open_app(before, {}) as app:
        change = app.take_over(write(more))
        assert change.waiting == ("projects",)
        assert app.settings.limits.working == app.ports.projects["shop"].policy.max_working == 9
        assert [one.name for one in app.settings.projects] == ["shop"]


def test_changes_are_told_in_the_words_of_the_settings(write):
    before = write('sandbox.setup_hosts = ["a.example.com", "b.example.com"]\n' + BASE)
    after = write('sandbox.setup_hosts = ["c.example.com", "a.example.com"]\nlimits.working = 6\n' + BASE)
    assert compare_settings(before, after).applied == (
        "limits.working = 6 (was 4)",
        "sandbox.setup_hosts += c.example.com -= b.example.com",
    )


def test_a_registry_counts_after_a_restart(write):
    before = write()
    after = write(f'{BASE}\n[[registries]]\nhost = "npm.corp.example"\ntoken_env = "NPM_TOKEN"\n')
    change = compare_settings(before, after)
    assert (change.applied, change.waiting, change.settings.registries) == ((), ("registries",), ())


async def test_a_sandbox_that_does_not_hold_changes_nothing(write, tmp_path):
    async with open_app(write(), {}) as app:
        daemon = Daemon(app, SettingsFile(tmp_path / "treehand.toml"))
        write(f'limits.working = 9\nsandbox.tools = ["{tmp_path}"]\n{BASE}')
        for _ in range(2):
            await daemon._watch_settings()
        daemon._take_over_settings()
        assert "contains the state_dir" in app.monitor.file.error
        assert (app.settings.limits.working, app.settings.sandbox.tools) == (4, ())


async def test_a_change_is_taken_over_by_the_next_tick(write, tmp_path):
    async with open_app(write(), {}) as app:
        daemon = Daemon(app, SettingsFile(tmp_path / "treehand.toml"))
        write("limits.working = 9\n" + BASE)
        for _ in range(2):
            await daemon._watch_settings()
        assert app.settings.limits.working == 4
        assert app.woken.is_set()
        daemon._take_over_settings()
        assert app.settings.limits.working == 9


def test_a_file_is_read_once_when_it_has_changed_and_rests(write, tmp_path):
    write()
    file = SettingsFile(tmp_path / "treehand.toml")
    assert file.poll() is None
    write("limits.working = 8\n" + BASE)
    assert file.poll() is None, "it may be half written"
    found = file.poll()
    assert found
    assert found.limits.working == 8
    assert file.poll() is None


def test_a_file_with_a_mistake_is_named_once_with_its_line(write, tmp_path):
    write()
    file = SettingsFile(tmp_path / "treehand.toml")
    (tmp_path / "treehand.toml").write_text(f"# mine\n\n[limits]\nworkin = 3\n\n{PROJECT}")
    assert file.poll() is None
    with pytest.raises(BadSettings, match=r"treehand.toml: line 4: limits.workin is not a setting"):
        file.poll()
    assert file.poll() is None
