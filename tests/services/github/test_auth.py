"""Authentication: one token for everything, or tokens of an App, each for one repository."""

import asyncio
import datetime as dt
from email.utils import formatdate

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from bot.errors import NeedsHuman, Retryable
from bot.services.github.auth import AppCredential, TokenCredential
from bot.services.github.client import GitHubClient
from bot.services.http.availability import read_availability
from tests.services.github.scripted_server import Asked, FakeClock, Says, served

HOUR = 3600


@pytest.fixture(scope="module")
def key() -> str:
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = serialization.PrivateFormat.PKCS8
    return private.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


class Installation:
    """GitHub's API for Apps: checks signatures, creates tokens and remembers them."""

    def __init__(self, key: str, clock: FakeClock) -> None:
        private = serialization.load_pem_private_key(key.encode(), None)
        self.public = private.public_key()
        self.clock, self.ahead = clock, 0.0
        self.minted: list[dict] = []
        self.good: set[str] = set()
        self.permissions = {"contents": "write", "issues": "write", "pull_requests": "admin", "metadata": "read"}
        self.mint_says: Says | None = None

    @property
    def now(self) -> float:
        return self.clock.now + self.ahead

    def __call__(self, asked: Asked) -> Says:
        says = self._answer(asked)
        return Says(says.status, says.data, {"Date": formatdate(self.now, usegmt=True), **says.headers})

    def _answer(self, asked: Asked) -> Says:
        kind, _, secret = asked.headers["authorization"].partition(" ")
        if kind == "Bearer":
            return self._as_app(asked, secret)
        if secret not in self.good:
            return Says(401, {"message": "Bad credentials"})
        return Says(data={"login": "treehand[bot]", "id": 9, "asked": asked.path})

    def _as_app(self, asked: Asked, signed: str) -> Says:
        claims = jwt.decode(
            signed, self.public, ["RS256"], options={"verify_exp": False, "verify_iat": False, "verify_nbf": False}
        )
        if not claims["iat"] <= self.now < claims["exp"] <= self.now + 600:
            return Says(401, {"message": "'Issued at' claim ('iat') must be an Integer"})
        assert claims["iss"] == "42"
        if asked.path == "/app":
            return Says(data={"slug": "treehand", "permissions": self.permissions})
        if asked.verb == "GET":
            found = {"id": 77, "permissions": self.permissions}
            return Says(data=[found] if asked.path == "/app/installations" else found)
        assert asked.path == "/app/installations/77/access_tokens"
        return self.mint_says or self._mint(asked)

    def _mint(self, asked: Asked) -> Says:
        self.minted.append(asked.body)
        token = f"ghs_{len(self.minted):08}"
        self.good.add(token)
        ends = dt.datetime.fromtimestamp(self.now + HOUR, dt.UTC)
        return Says(201, {"token": token, "expires_at": ends.strftime("%Y-%m-%dT%H:%M:%SZ")})


@pytest.fixture
def installation(key, clock) -> Installation:
    return Installation(key, clock)


@pytest.fixture
def app(installation, key, db, clock):
    with served(installation) as server:
        github = GitHubClient(server.url, AppCredential(42, key), db, clock=clock, sleep=clock.sleep)
        github.server = server
        yield github
        asyncio.run(github.aclose())


async def test_each_repository_gets_its_own_token_with_the_least_permissions(app, installation):
    for repository in ("acme/shop", "acme/site", "acme/shop"):
        await app.get(f"/repos/{repository}", repository=repository)

    least = {"contents": "write", "issues": "write", "pull_requests": "write", "metadata": "read"}
    assert installation.minted == [
        {"repositories": ["shop"], "permissions": least},
        {"repositories": ["site"], "permissions": least},
    ]


async def test_simultaneous_requests_create_one_token(app, installation):
    await asyncio.gather(*(app.get(f"/repos/acme/shop/issues/{n}", repository="acme/shop") for n in range(5)))
    assert len(installation.minted) == 1


async def test_every_new_token_is_added_to_the_secret_scan(installation, key, db, clock):
    told: list[str] = []
    with served(installation) as server:
        credential = AppCredential(42, key, on_mint=told.append)
        async with GitHubClient(server.url, credential, db, clock=clock, sleep=clock.sleep) as github:
            tokens = {await github.token_for(name) for name in ("acme/shop", "acme/site", "acme/shop")}
    assert set(told) == tokens
    assert len(told) == 2


async def test_a_token_is_renewed_before_its_last_ten_minutes_and_for_every_push(app, installation, clock):
    first = await app.token_for("acme/shop")
    clock.now += 49 * 60
    assert await app.token_for("acme/shop") == first
    clock.now += 2 * 60
    second = await app.token_for("acme/shop")
    assert second != first
    pushed = await app.token_for("acme/shop", for_push=True)
    assert pushed != second
    assert await app.token_for("acme/shop") == pushed


async def test_a_token_that_expired_early_is_replaced_once(app, installation):
    await app.get("/repos/acme/shop", repository="acme/shop")
    installation.good.clear()
    assert (await app.get("/repos/acme/shop", repository="acme/shop")).status == 200
    assert len(installation.minted) == 2


async def test_requests_stop_when_new_tokens_are_refused_too(app, installation, db, clock):
    await app.get("/repos/acme/shop", repository="acme/shop")
    installation.good = frozenset()
    installation._mint = lambda asked: Says(201, {"token": "ghs_dead", "expires_at": "2099-01-01T00:00:00Z"})
    for _ in range(120):
        with pytest.raises(Retryable, match="rejects the token"):
            await app.get("/repos/acme/shop", repository="acme/shop")
        clock.now += 0.5
    asked = [path for path in app.server.paths if path == "GET /repos/acme/shop"]
    assert len(asked) <= 1 + 2 + 2  # the good one, the first refusal and its second try, and one more try
    assert not read_availability(db)[""][0]


async def test_requests_continue_when_the_token_is_accepted_again(app, installation, clock):
    installation.mint_says = Says(401, {"message": "A JSON web token could not be decoded"})
    for _ in range(5):
        with pytest.raises(Retryable):
            await app.get("/repos/acme/shop", repository="acme/shop")
    assert len(app.server.asked) == 3  # where it is installed, and two tries to mint
    installation.mint_says = None
    clock.now += 61
    assert (await app.get("/repos/acme/shop", repository="acme/shop")).status == 200


@pytest.mark.parametrize("ahead", [-600, 600, -86400])
async def test_a_wrong_clock_still_signs_in_time(app, installation, ahead):
    installation.ahead = ahead
    assert (await app.get("/repos/acme/shop", repository="acme/shop")).status == 200
    await app.get("/repos/acme/shop", repository="acme/shop")
    assert len(installation.minted) == 1  # an hour is an hour, by either clock


async def test_a_failed_token_request_is_retried_later(app, installation):
    installation.mint_says = Says(500, {"message": "oops"})
    with pytest.raises(Retryable) as caught:
        await app.write("POST", "/repos/acme/shop/labels", {}, repository="acme/shop")
    assert type(caught.value) is Retryable  # nothing can have been written
    installation.mint_says = None
    await app.write("POST", "/repos/acme/shop/labels", {}, repository="acme/shop")


async def test_a_repository_without_the_app_needs_a_person_and_others_continue(app, installation, db):
    answer = installation._as_app

    def gone(asked, signed):
        return Says(404, {"message": "Not Found"}) if "acme/gone" in asked.path else answer(asked, signed)

    installation._as_app = gone
    with pytest.raises(NeedsHuman, match="not installed on acme/gone") as caught:
        await app.get("/repos/acme/gone/issues/1", repository="acme/gone")
    assert type(caught.value) is NeedsHuman  # not as if the issue were gone
    await app.get("/repos/acme/shop", repository="acme/shop")
    assert read_availability(db)["acme/gone"][0] is False
    assert "acme/shop" not in read_availability(db)


async def test_a_renamed_repository_continues_under_its_number(app, installation):
    mint, answer = installation._mint, installation._answer

    def by_number(asked):
        if "repositories" in asked.body:
            return Says(422, {"message": "There is at least one repository that does not exist"})
        return mint(asked)

    installation._mint = by_number
    installation._answer = lambda asked: (
        Says(301, headers={"Location": "/repositories/31"}) if asked.path == "/repos/acme/old" else answer(asked)
    )
    assert (await app.get("/repos/acme/old", repository="acme/old")).moved == "/repositories/31"
    assert [sorted(body) for body in installation.minted] == [["permissions"], ["permissions", "repository_ids"]]
    assert installation.minted[0]["permissions"] == {"metadata": "read"}


async def test_an_app_knows_its_account(app):
    me = await app.account()
    assert (me.login, me.id, me.kind) == ("treehand[bot]", 9, "app")
    assert "issues:write" in me.scopes


async def test_an_invalid_private_key_is_reported(installation, db, clock):
    with served(installation) as server:
        async with GitHubClient(server.url, AppCredential(42, "no key"), db, clock=clock, sleep=clock.sleep) as app:
            with pytest.raises(NeedsHuman, match="private_key_file"):
                await app.get("/repos/acme/shop", repository="acme/shop")


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        ("ghp_x", "classic token"),
        ("github_pat_x", "fine-grained token"),
        ("gho_x", "OAuth token"),
        ("ghs_x", "installation token"),
        ("0123456789abcdef", "token"),
    ],
)
def test_kinds_of_tokens_are_distinguished(token, kind):
    assert TokenCredential(token).kind == kind
