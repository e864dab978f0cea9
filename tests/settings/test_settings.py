"""Settings: their effect, and the errors for mistakes."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from bot.app import open_app
from bot.daemon import Daemon
from bot.domain.price import price_from
from bot.engine.build import CapacityReader, policy_for
from bot.errors import BadSettings
from bot.publish_guard.protected_paths import PublishRules
from bot.sandbox.build import sandbox_rules
from bot.secret_scan.scanner import Secrets
from bot.services.local.connect import open_local_server
from bot.settings.credentials import (
    KEY_VARIABLES,
    daemon_id,
    ensure_key,
    github_app_key,
    github_token,
    known_secrets,
    marker_secrets,
    model_environment,
    webhook_secret,
)
from bot.settings.dashboard_access import web_token
from bot.settings.load import known_keys, load
from bot.setup.build import build_installer, overrides_of
from bot.setup.plan import SetupOverrides
from bot.system.disk import Disk
from bot.workspace.build import build_workspaces


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def writing(text: str):
        (tmp_path / "treehand.toml").write_text(text)
        return load(tmp_path / "treehand.toml")

    return writing


PROJECT = '[[projects]]\nname = "shop"\nrepository = "code"\n'


def policy_of(settings):
    return policy_for(settings.projects[0], settings)


@pytest.mark.parametrize(
    ("toml", "seen"),
    [
        ('label = "robot"', {"label": "robot"}),
        ("limits.working = 7", {"max_working": 7}),
        ("limits.working_per_project = 2", {"max_working_per_project": 2}),
        ("limits.turn_minutes = 1.5", {"turn_seconds": 90.0}),
        ("limits.stall_minutes = 2", {"stall_seconds": 120.0}),
        ("limits.failures = 9", {"max_failures": 9}),
        ("limits.ci_fixes = 5", {"ci_fixes": 5}),
        ("limits.quiet_seconds = 4", {"review_quiet_seconds": 4.0}),
        ("limits.verify_rounds = 5", {"verify_rounds": 5}),
        ("budget.per_issue_usd = 1.25", {"per_issue_usd": 1.25}),
        ("budget.per_issue_tokens = 5000", {"per_issue_tokens": 5000}),
        ("budget.per_issue_turns = 7", {"per_issue_turns": 7}),
        ("budget.per_issue_hours = 1.5", {"per_issue_seconds": 5400.0}),
        ('agent.model = "small"', {"model": "small"}),
        ('sandbox.kind = "none"', {"sandboxed": False}),
    ],
)
def test_the_policy_comes_from_the_settings(write, toml, seen):
    policy = policy_of(write(f"{toml}\n{PROJECT}"))
    assert {name: getattr(policy, name) for name in seen} == seen


def test_publish_limits_come_from_the_settings(write):
    settings = write(f'limits.changed_files = 3\nlimits.changed_mb = 1.5\n{PROJECT}protected = ["deploy/**"]\n')
    guard = build_workspaces(settings, settings.projects[0], Secrets())._guard
    assert guard.rules == PublishRules(("deploy/**",), 3, 1.5)


@pytest.mark.parametrize("allowed", [True, False])
def test_versions_are_installed_if_the_settings_allow_it(write, allowed):
    settings = write(f"sandbox.install_versions = {str(allowed).lower()}\n{PROJECT}")
    assert build_installer(settings).is_allowed is allowed


@pytest.mark.parametrize(
    ("toml", "shown"),
    [
        (
            'hosts = ["Example.com", "example.com:8443"]',
            lambda rules: rules.hosts == {"example.com", "example.com:8443"},
        ),
        (
            'setup_hosts = ["Registry.example"]',
            lambda rules: (rules.setup_hosts, rules.hosts) == ({"registry.example"}, frozenset()),
        ),
        (
            'private_hosts = ["npm.example"]',
            lambda rules: (
                (rules.setup_hosts, rules.private_hosts, rules.hosts) == ({"npm.example"}, {"npm.example"}, frozenset())
            ),
        ),
        ('tools = ["node"]', lambda rules: [tool.name for tool in rules.tools] == ["node"]),
        (
            "memory_gb = 2",
            lambda rules: rules.process_limits.memory_bytes == rules.resource_limits.memory_bytes == 2_000_000_000,
        ),
        ("processes = 20", lambda rules: rules.process_limits.processes == 20),
        ("file_gb = 0.5", lambda rules: rules.process_limits.file_bytes == 500_000_000),
    ],
)
def test_sandbox_rules_come_from_the_settings(write, toml, shown):
    """The effect of each on an agent is tested in `tests/sandbox` and `tests/escape`."""
    assert shown(sandbox_rules(write(f"[sandbox]\n{toml}\n{PROJECT}")))


def test_a_models_own_price_comes_from_the_settings(write):
    toml = 'prices."my-model" = { input = 3, output = 15 }'
    assert sandbox_rules(write(f"[budget]\n{toml}\n{PROJECT}")).prices == {"my-model": price_from(3, 15)}


@pytest.mark.parametrize(
    ("toml", "seen"),
    [
        ("", SetupOverrides(copy_from=Path("code"), is_repository=True)),
        ('setup = ["make x"]', SetupOverrides(("make x",), copy_from=Path("code"), is_repository=True)),
        ("setup = false", SetupOverrides(None, copy_from=Path("code"), is_repository=True)),
        ('verify = ["make z"]', SetupOverrides(verify=("make z",), copy_from=Path("code"), is_repository=True)),
        ("verify = false", SetupOverrides(verify=None, copy_from=Path("code"), is_repository=True)),
        (
            'teardown = ["make y"]',
            SetupOverrides(teardown=("make y",), copy_from=Path("code"), is_repository=True),
        ),
        (
            'copy = ["a", "b/*.local"]',
            SetupOverrides(copy=("a", "b/*.local"), copy_from=Path("code"), is_repository=True),
        ),
        (
            'run = {web = "npm start"}',
            SetupOverrides(copy_from=Path("code"), is_repository=True, servers={"web": "npm start"}),
        ),
        ('copy_from = "own"', SetupOverrides(copy_from=Path("own"))),
    ],
)
def test_setup_commands_come_from_the_settings(write, tmp_path, toml, seen):
    """The effect of each is tested in `tests/setup` and `tests/program/test_setup.py`."""
    settings = write(f"{PROJECT}{toml}\n")
    assert overrides_of(settings.projects[0]) == replace(seen, copy_from=tmp_path / seen.copy_from)


async def test_time_limits_for_setup_and_verification_come_from_the_settings(write, tmp_path):
    settings = write(
        f'state_dir = "{tmp_path}/state"\nlimits.setup_minutes = 0.5\nlimits.verify_minutes = 2\n{PROJECT}'
    )
    async with open_app(settings, {}) as app:
        resources = app.ports.projects["shop"].setup._resources
        assert (resources.setup_seconds, resources.verify_seconds) == (30, 120)


async def test_the_size_of_the_pool_comes_from_the_settings(write, tmp_path):
    """Its use is tested in `tests/setup/test_pool.py`."""
    async with open_app(write(f'state_dir = "{tmp_path}/state"\n{PROJECT}pool = 3\n'), {}) as app:
        assert app.maintenance.pools.projects["shop"].size == 3


async def test_secrets_in_copied_files_are_known_from_the_start(write, tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / ".env").write_text("API_TOKEN=s3cret-of-ana\n")
    async with open_app(write(f'state_dir = "{tmp_path}/state"\n{PROJECT}'), {}) as app:
        assert app.ports.projects["shop"].find_secrets("s3cret-of-ana") == ("API_TOKEN of .env",)


def test_for_a_github_project_nothing_is_copied_without_a_source_folder(write):
    settings = write(GITHUB)
    assert overrides_of(settings.projects[0]).copy_from is None


def test_treehands_own_variables_of_a_worktree_are_no_settings(write, monkeypatch):
    monkeypatch.setenv("TREEHAND_PORT_7", "20007")
    assert write(PROJECT).projects[0].name == "shop"


def test_the_base_of_the_project_is_used(write):
    assert policy_of(write(f'{PROJECT}base = "develop"\n')).base == "develop"


def test_relative_paths_are_resolved_from_the_settings_file(write, tmp_path):
    settings = write(f'state_dir = "state"\n{PROJECT}')
    assert settings.state_dir == tmp_path / "state"
    assert settings.projects[0].folder == tmp_path / "code"


def test_issue_keys_begin_with_the_name_of_the_project(write):
    desk = open_local_server(write(f'state_dir = "state"\n{PROJECT}'))
    assert desk.issues("shop").open("t", by="ana").key == "shop#1"
    desk.close()


def test_disk_space_and_daily_budget_are_compared_with_their_limits(write, store, tmp_path):
    settings = write(
        "limits.free_disk_gb = 7\nbudget.per_day_usd = 3\nlimits.working = 2\n" + f'state_dir = "{tmp_path}"'
    )
    capacity = CapacityReader(settings, store, Disk(tmp_path, 1e6))()
    assert (capacity.per_day_usd, capacity.working) == (3, 2)
    assert capacity.disk.endswith("GB of disk are free (1e+06 are required)")
    assert settings.limits.free_disk_gb == 7


GITHUB = PROJECT.replace('"code"', '"acme/shop"') + 'tracker = "github"\n'


@pytest.mark.parametrize(("seconds", "known"), [("0", 0), ("45.5", 45.5)])
async def test_the_duration_of_a_lease_comes_from_the_settings(write, monkeypatch, tmp_path, seconds, known):
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_" + "x" * 30)
    settings = write(f'state_dir = "{tmp_path}/state"\nlimits.claim_seconds = {seconds}\n{GITHUB}')
    async with open_app(settings, {}) as app:
        project = app.ports.projects["shop"]
        assert (project.lease._seconds if project.lease else 0) == known
        assert (project.workspaces.mirror.check_lease == project.lease.check) if project.lease else True


async def test_a_local_project_needs_no_lease(write, tmp_path):
    async with open_app(write(f'state_dir = "{tmp_path}/state"\n{PROJECT}'), {}) as app:
        assert app.ports.projects["shop"].lease is None


def test_the_id_of_a_daemon_survives_restarts_and_differs_for_a_copy(tmp_path, monkeypatch):
    first = daemon_id(tmp_path / "one")
    assert daemon_id(tmp_path / "one") == first != daemon_id(tmp_path / "two")
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "another-host", "", "", "")))
    assert daemon_id(tmp_path / "one") != first
    assert list((tmp_path / "one").iterdir()) == [tmp_path / "one" / "daemon.id"]


async def test_the_poll_interval_comes_from_the_settings(write, monkeypatch):
    seconds = []
    monkeypatch.setattr(AsyncIOScheduler, "add_job", lambda self, job, kind, args, seconds, **_: found.append(seconds))
    found = seconds
    app = type("App", (), {"settings": write("poll.interval = 77")})
    with Daemon(app)._clocks():
        assert 77 in seconds


def test_the_environment_wins_over_the_file(write, monkeypatch):
    monkeypatch.setenv("TREEHAND_LIMITS__WORKING", "9")
    settings = write("limits.working = 2\nlimits.failures = 5")
    assert (settings.limits.working, settings.limits.failures) == (9, 5)


@pytest.mark.parametrize(
    ("tracker", "repository", "forge"),
    [("github", "acme/shop", "github"), ("local", "acme/shop", "github"), ("local", "./shop", "local")],
)
def test_owner_and_name_is_a_github_repository_and_a_path_is_local(write, tracker, repository, forge):
    (project,) = write(
        f'[[projects]]\nname = "shop"\ntracker = "{tracker}"\nrepository = "{repository}"\n'
        'remote = "git@example.com:shop"\ntrusted = ["bea"]\n'
    ).projects
    assert (project.forge, project.remote, project.trusted) == (forge, "git@example.com:shop", ("bea",))
    assert (project.folder is None) == (forge == "github")


def test_an_existing_folder_is_a_path_even_if_it_looks_like_a_github_name(write, tmp_path):
    (tmp_path / "acme" / "shop").mkdir(parents=True)
    (project,) = write('[[projects]]\nname = "shop"\nrepository = "acme/shop"\n').projects
    assert project.folder == tmp_path / "acme" / "shop"


def test_secrets_come_from_the_environment_or_from_separate_files(write, tmp_path, monkeypatch):
    for name in ("GITHUB_TOKEN", "TREEHAND_GITHUB__TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("token", "hook", "key", "door"):
        (tmp_path / name).write_text(f"  {name} of a file\n")
    settings = write(
        '[github]\napi_url = "https://git.example.com/api/v3"\ntoken_file = "token"\nwebhook_secret_file = "hook"\n'
        'app_id = 7\ninstallation_id = 8\nprivate_key_file = "key"\n[web]\nbind = "0.0.0.0:80"\ntoken_file = "door"\n'
    )
    assert (github_token(settings), webhook_secret(settings)) == ("token of a file", "hook of a file")
    assert (github_app_key(settings), web_token(settings)) == ("key of a file", "door of a file")
    monkeypatch.setenv("GITHUB_TOKEN", "theirs")
    assert github_token(load(tmp_path / "treehand.toml")) == "token of a file"
    monkeypatch.setenv("TREEHAND_GITHUB__TOKEN", "ours")
    monkeypatch.setenv("TREEHAND_GITHUB__WEBHOOK_SECRET", "of the environment")
    settings = load(tmp_path / "treehand.toml")
    assert (github_token(settings), webhook_secret(settings)) == ("ours", "of the environment")


def test_the_marker_secret_is_set_or_derived_and_older_ones_stay_valid(write, tmp_path, monkeypatch):
    for name in ("GITHUB_TOKEN", "TREEHAND_GITHUB__TOKEN", "TREEHAND_GITHUB__MARKER_SECRET"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "marker").write_text("of a file\n")

    def signing(where, **env):
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        return marker_secrets(write(f'state_dir = "{where}"\n[github]\n{given}'))

    given = ""
    assert signing("here") == ()
    (first,) = signing("here", GITHUB_TOKEN="one")
    assert signing("here") == (first,)
    second, older = signing("here", GITHUB_TOKEN="two")
    assert older == first != second
    assert signing("elsewhere") == (second,), "whoever has the token knows it"
    given = 'marker_secret_file = "marker"'
    chosen = signing("here")[0]
    assert signing("there", GITHUB_TOKEN="three") == (chosen,)
    assert signing("there", TREEHAND_GITHUB__MARKER_SECRET="of a variable")[0] != chosen
    assert ((tmp_path / "here" / "markers").stat().st_mode & 0o777) == 0o600


def test_behind_a_proxy_with_user_names_no_token_is_needed(write, monkeypatch):
    monkeypatch.delenv("TREEHAND_WEB__TOKEN", raising=False)
    assert web_token(write('[web]\nbind = "0.0.0.0:8700"\nuser_header = "X-Forwarded-User"')) == ""


@pytest.mark.parametrize(
    ("toml", "ask", "said"),
    [
        ('[github]\ntoken_file = "nowhere"', github_token, "github.token_file: .*nowhere cannot be read: No such file"),
        ('[github]\ntoken_file = "empty"', github_token, "github.token_file: .*empty is empty"),
        ("[github]\napp_id = 7", github_app_key, "Set it to the file with the App's private key"),
        ('[web]\nbind = "0.0.0.0:8700"', web_token, "accepts other machines and needs a token"),
    ],
)
def test_a_missing_secret_is_reported_when_it_is_needed(write, tmp_path, monkeypatch, toml, ask, said):
    monkeypatch.delenv("TREEHAND_GITHUB__TOKEN", raising=False)
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(BadSettings, match=said):
        ask(write(toml))


def test_only_the_models_address_and_key_are_passed_to_the_agent(write, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("GITHUB_TOKEN", "t")
    assert model_environment(write(PROJECT)).get("ANTHROPIC_API_KEY") == "k"
    assert "GITHUB_TOKEN" not in model_environment(write(PROJECT))


@pytest.mark.parametrize(
    ("content", "variable"),
    [("sk-ant-api-0123456789", "ANTHROPIC_API_KEY"), ("sk-ant-oat-0123456789", "CLAUDE_CODE_OAUTH_TOKEN")],
)
def test_the_models_key_may_come_from_a_file_and_is_redacted(write, tmp_path, monkeypatch, content, variable):
    for name in KEY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "key").write_text(f"{content}\n")
    settings = write(f'agent.key_file = "key"\n{PROJECT}')
    assert {variable: content}.items() <= model_environment(settings).items()
    assert known_secrets(settings)["the model's key"] == content
    ensure_key(settings)

    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "of the environment")
    assert content not in model_environment(settings).values()
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN")
    with pytest.raises(BadSettings, match="no key for its model"):
        ensure_key(write(PROJECT))


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ('lable = "x"', "lable is not a setting. Did you mean `label`?"),
        ("[limits]\nworkin = 3", "limits.workin is not a setting. Did you mean `working`?"),
        ("[limts]\nworking = 3", "limts is not a setting. Did you mean `limits`?"),
        (
            '[[projects]]\nname = "a"\nrepositry = "."',
            "projects.0.repositry is not a setting. Did you mean `repository`?",
        ),
        ('verify = ["make test"]', "verify is not a setting. It belongs under `[[projects]]`."),
        ("[limits]\npool = 1", "limits.pool is not a setting. It belongs under `[[projects]]`."),
        ('[budget]\nstate_dir = "/var"', "budget.state_dir is not a setting. It belongs at the top of the file."),
        ("hosts = []\nworking = 3", "working is not a setting. It belongs under `[limits]`."),
        ('[[projects]]\nname = "a"', "projects.0.repository is missing."),
        ('[[projects]]\nname = "a/b"\nrepository = "."', "use letters, digits, '-', '_' and '.'"),
        ('limits.working = "many"', "limits.working = 'many': use a whole number."),
        (PROJECT + 'run = "npm start"', "run = 'npm start': use a table, such as {name ="),
        ("poll = 3", "poll = 3: use a table of settings."),
        ("limits.working = 0", "limits.working = 0: Input should be greater than or equal to 1."),
        ('limits.working = "many"', "limits.working = 'many'"),
        ("label = ", "is not valid TOML"),
        (PROJECT + 'protected = ["!src"]', "use a path or a pattern"),
        (PROJECT + 'copy = ["!src"]', "use a path or a pattern"),
        (PROJECT + 'setup = "make"', "projects.0.setup = 'make': use a list, such as"),
        (PROJECT + "verify = true", "projects.0.verify = True: use a list, such as"),
        ("limits.verify_rounds = -1", "limits.verify_rounds = -1: Input should be greater than or equal to 0."),
        (PROJECT + "setup = true", "projects.0.setup = True: use a list, such as"),
        (PROJECT + 'copied = ["a"]', "projects.0.copied is not a setting. Did you mean `copy`?"),
        ('[sandbox]\nsetup_hosts = ["https://packages.example.com/"]', "use NAME or NAME:PORT"),
        ("limits.setup_minutes = 0", "limits.setup_minutes = 0: Input should be greater than 0."),
        (PROJECT + PROJECT.replace("shop", "Shop"), "two projects have the name 'shop'"),
        (
            "".join(
                f'[[projects]]\nname = "{name}"\ntracker = "github"\nrepository = "{repository}"\n'
                for name, repository in (("a", "acme/shop"), ("b", "Acme/Shop"))
            ),
            "two projects take issues from acme/shop",
        ),
        ('[sandbox]\nkind = "docker"', "sandbox.kind = 'docker'"),
        ('[sandbox]\nhosts = ["https://example.com"]', "use NAME or NAME:PORT"),
        ('[sandbox]\nprivate_hosts = ["*.corp.example"]', "use NAME or NAME:PORT"),
        ('[sandbox]\nprivate_hosts = ["10.0.0.1"]', "use the name of the host, not its address"),
        ('[[registries]]\nhost = "a.example"', "set either `token_env` or `token_file`"),
        (
            '[[registries]]\nhost = "a.example"\ntoken_env = "A"\ntoken_file = "b"',
            "set either `token_env` or `token_file`",
        ),
        ('[[registries]]\nhost = "a.example"\ntoken_env = "npm_4711-abc"', "use the name of a variable"),
        ('[[registries]]\nhost = "a.example"\ntoken_env = "A"\nauth = "digest"', "use `bearer`, `basic`, or the name"),
        ('[[registries]]\nhost = "a.example"\ntoken_env = "A"\nauth = "Cookie"', "use `bearer`, `basic`, or the name"),
        ('[[registries]]\nhost = "a.example"\ntoken_env = "A"\npath = "/npm/../"', "use a path, such as `/npm/`"),
        ('[[registries]]\nhost = "a.example"\ntoken = "A"', "registries.0.token is not a setting. Did you mean"),
        (
            2 * '[[registries]]\nhost = "a.example"\ntoken_env = "A"\n',
            "two registries have the host a.example. Remove one of them.",
        ),
        ('[agent]\nkind = "acp"', "agent.kind = 'acp': Input should be 'claude'."),
        (PROJECT + 'tracker = "jira"', "projects.0.tracker = 'jira': Input should be 'github', 'linear' or 'local'."),
        (PROJECT + 'tracker = "github"', "its repository must be `owner/name`, not 'code'."),
        (
            '[github]\ntoken = "ghp_x"',
            "github.token is a secret and must not be in this file. Set TREEHAND_GITHUB__TOKEN",
        ),
        ('[web]\ntoken = "x"', "web.token is a secret"),
        ('web.bind = "8700"', "web.bind = '8700': use HOST:PORT, or \"\" for no dashboard."),
        ('web.bind = "here:99999"', "use HOST:PORT"),
        ('web.hosts = ["https://bot.example.com"]', "use a host name"),
        ('web.user_header = "X-User: "', "use a header name"),
        ('web.proxies = ["proxy.example.com"]', "use an IP address"),
    ],
)
def test_a_mistake_is_reported_with_its_place_and_its_fix(write, toml, said):
    with pytest.raises(BadSettings) as caught:
        write(toml)
    assert said in str(caught.value)
    assert "treehand.toml: " in str(caught.value)


def test_an_invalid_variable_is_reported_by_its_name(write, monkeypatch):
    monkeypatch.setenv("TREEHAND_LIMITS__WORKING", "many")
    with pytest.raises(BadSettings) as caught:
        write("")
    assert str(caught.value) == "The variable TREEHAND_LIMITS__WORKING = 'many': use a whole number."


def test_a_file_that_is_not_utf_8_is_reported(tmp_path):
    (tmp_path / "treehand.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BadSettings, match="UTF-8"):
        load(tmp_path / "treehand.toml")


def test_every_key_has_a_test():
    here = Path(__file__)
    text = "".join(one.read_text() for one in here.parent.glob("*.py"))
    for key in known_keys():
        assert key.rpartition(".")[2] in text, key
