"""Settings for Linear: their effect, and the errors for mistakes."""

from dataclasses import dataclass, field

import pytest

from bot.errors import BadSettings
from bot.secret_scan.scanner import Secrets
from bot.services.linear.connect import LinearService, _may_push, _moves, _routes
from bot.services.linear.team_routing import TeamRoute
from bot.services.linear.workflow_states import WantedMoves
from bot.settings.credentials import known_secrets, linear_authorization, linear_webhook_secret, marker_secrets
from bot.settings.dashboard_access import dashboard_of_pulls
from bot.settings.load import load

VARIABLES = ("LINEAR_API_KEY", "TREEHAND_LINEAR__API_KEY", "TREEHAND_LINEAR__OAUTH_TOKEN", "GITHUB_TOKEN")
SHOP = '[[projects]]\nname = "shop"\nrepository = "acme/shop"\ntracker = "linear"\nteam = "ENG"\n'
BLOG = '[[projects]]\nname = "blog"\nrepository = "acme/blog"\ntracker = "linear"\nteam = "eng"\n'


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)

    def writing(text: str):
        (tmp_path / "treehand.toml").write_text(f'state_dir = "state"\n{text}')
        return load(tmp_path / "treehand.toml")

    return writing


@pytest.mark.parametrize(
    ("more", "address"),
    [
        ("", "http://127.0.0.1:8700"),
        ('notify.link = "https://bot.example.com"', "https://bot.example.com"),
        ('web.bind = ""', ""),
    ],
)
def test_pull_requests_that_are_kept_here_are_linked_from_linear(tmp_path, more, address):
    (tmp_path / "shop").mkdir()
    file = tmp_path / "treehand.toml"
    project = '[[projects]]\nname = "shop"\ntracker = "linear"\nteam = "ENG"\nrepository = "shop"\n'
    file.write_text(f'state_dir = "state"\n{more}\n{project}')
    settings = load(file)
    assert dashboard_of_pulls(settings, settings.projects[0]) == address
    assert dashboard_of_pulls(settings, settings.projects[0].model_copy(update={"tracker": "local"})) == ""


def test_a_key_is_sent_bare_and_an_oauth_token_with_bearer(write, tmp_path, monkeypatch):
    for name in ("key", "token", "hook"):
        (tmp_path / name).write_text(f" {name} of a file\n")
    assert linear_authorization(write(f'[linear]\napi_key_file = "key"\n{SHOP}')) == "key of a file"
    settings = write(
        f'[linear]\napi_key_file = "key"\noauth_token_file = "token"\nwebhook_secret_file = "hook"\n{SHOP}'
    )
    assert linear_authorization(settings) == "Bearer token of a file"
    assert linear_webhook_secret(settings) == "hook of a file"
    monkeypatch.setenv("LINEAR_API_KEY", "theirs")
    assert linear_authorization(write(SHOP)) == "theirs"
    monkeypatch.setenv("TREEHAND_LINEAR__API_KEY", "ours")
    assert linear_authorization(write(SHOP)) == "ours"


def test_a_missing_key_is_reported_with_the_variable_to_set(write):
    with pytest.raises(BadSettings, match=r"There is no key for Linear\. Set LINEAR_API_KEY"):
        linear_authorization(write(SHOP))


def test_the_key_is_redacted_and_the_marker_secret_is_derived_from_it(write, monkeypatch):
    monkeypatch.setenv("LINEAR_API_KEY", "lin_api_0123456789")
    settings = write(SHOP)
    assert known_secrets(settings)["the Linear key"] == "lin_api_0123456789"
    assert marker_secrets(settings)[0].hex() in known_secrets(settings).values()


@pytest.mark.parametrize(
    ("toml", "moves"),
    [
        ("", WantedMoves()),
        (
            'started = "Doing"\nreview = false\ncompleted = "Shipped"\nback = false',
            WantedMoves("Doing", review=False, completed="Shipped", back=False),
        ),
    ],
)
def test_workflow_states_come_from_the_settings(write, toml, moves):
    assert _moves(write(f"[linear]\n{toml}\n{SHOP}")) == moves


def test_a_move_can_be_disabled_by_a_variable(write, monkeypatch):
    monkeypatch.setenv("TREEHAND_LINEAR__REVIEW", "false")
    monkeypatch.setenv("TREEHAND_LINEAR__STARTED", "Doing")
    assert _moves(write(SHOP)) == WantedMoves("Doing", review=False)


def test_the_routes_of_a_team_come_from_the_settings(write):
    settings = write(f'{SHOP}default = true\n{BLOG}linear_projects = ["Website"]\n')
    shop, blog = TeamRoute("shop", "acme/shop", (), default=True), TeamRoute("blog", "acme/blog", ("Website",))
    assert _routes(settings, "ENG") == (shop, blog)


async def test_projects_of_one_team_share_one_poll(write, monkeypatch, tmp_path):
    monkeypatch.setenv("LINEAR_API_KEY", "lin_api_0123456789")
    settings = write(f'[linear]\napi_url = "http://127.0.0.1:1/graphql"\n{SHOP}default = true\n{BLOG}')
    (tmp_path / "state").mkdir()
    async with LinearService().open(settings, secrets=Secrets(), opened={}) as connection:
        assert connection.issues["shop"].team is connection.issues["blog"].team


async def test_the_key_is_not_sent_over_plain_http(write, monkeypatch, tmp_path):
    monkeypatch.setenv("LINEAR_API_KEY", "lin_api_0123456789")
    settings = write(f'[linear]\napi_url = "http://linear.example/graphql"\n{SHOP}')
    (tmp_path / "state").mkdir()
    with pytest.raises(BadSettings, match="must be an https:// address"):
        async with LinearService().open(settings, secrets=Secrets(), opened={}):
            pass


@dataclass
class Hub:
    """A repository with permissions and published addresses."""

    pushers: tuple[str, ...] = ("ana-hub",)
    addresses: dict[str, str] = field(default_factory=dict)

    async def may_push(self, login):
        return login in self.pushers

    async def login_of(self, email):
        return self.addresses.get(email, "")


async def test_people_are_matched_by_settings_or_verified_address_and_never_by_name(write):
    settings = write(f'[linear.people]\n"Ana@acme.example" = "ana-hub"\n"id-of-cem" = "cem-hub"\n{SHOP}')
    hub = Hub(("ana-hub", "ana", "cem-hub", "bob-hub"), {"bob@acme.example": "bob-hub"})
    may_push = _may_push(settings, hub)
    assert await may_push("id-of-ana", "ana@acme.example")
    assert await may_push("id-of-cem", "cem@acme.example")
    assert await may_push("id-of-bob", "bob@acme.example")
    assert not await may_push("ana", "ana@elsewhere.example")
    assert not await may_push("id-of-nobody", "")


async def test_everybody_who_may_steer_may_push_to_the_local_forge(write, tmp_path):
    settings = write(SHOP.replace("acme/shop", "."))
    assert await _may_push(settings, None)("id", "eve@elsewhere.example")


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        (SHOP.replace('team = "ENG"', ""), "needs a `team`"),
        (f"{SHOP}default = true\n{BLOG}default = true\n", "is not the only `default` of team ENG"),
        (SHOP.replace('tracker = "linear"', ""), 'has a `team` but not `tracker = "linear"`'),
        (f'[linear]\napi_key = "lin_api_x"\n{SHOP}', "linear.api_key is a secret and must not be in this file"),
        (f"[linear]\nstarted = 3\n{SHOP}", "linear.started"),
        (f"[linear]\nreviewed = true\n{SHOP}", "linear.reviewed is not a setting. Did you mean `review`?"),
    ],
)
def test_a_mistake_is_reported_with_its_place_and_its_fix(write, toml, said):
    with pytest.raises(BadSettings) as problem:
        write(toml)
    assert said in str(problem.value)
