"""Authentication: who may log in, and under which name."""

import re

import pytest

from bot.web.auth import Authenticator, own_path
from tests.web.running_dashboard import PAGE, open_dashboard

TOKEN = "a token that nobody guesses"


@pytest.fixture
async def locked(tmp_path):
    async with open_dashboard(tmp_path, access=Authenticator(TOKEN, operator="ana")) as web:
        yield web


@pytest.fixture
async def behind_proxy(tmp_path):
    async with open_dashboard(tmp_path, access=Authenticator("", "X-Forwarded-User", ("127.0.0.1",), "ana")) as web:
        yield web


PLACES = (
    "/",
    "/new",
    "/health",
    "/events",
    "/api/v1/state",
    "/api/v1/events",
    "/api/v1/openapi.json",
    "/runs/shop%231",
)


async def test_without_a_token_every_local_user_is_the_operator(web):
    run = web.run("Add a cart")
    answer = await web.client.post(f"/api/v1/runs/{run.key.replace('#', '%23')}/say", json={"text": "Please hurry."})
    assert (answer.status_code, web.comments(run.key)) == (202, [("ana", "Please hurry.")])


@pytest.mark.parametrize("path", PLACES)
async def test_with_a_token_set_every_page_requires_it(locked, path):
    locked.run("A secret plan")
    page = await locked.page(path)
    assert (page.status_code, page.headers["location"]) == (
        303,
        f"/login?next={path.replace('/', '%2F').replace('%23', '%2523')}",
    )
    assert (await locked.client.get(path)).status_code == 401
    assert (await locked.client.post("/new", data={"work": "x"})).status_code == 401
    assert "secret" not in page.text


@pytest.mark.parametrize("path", ["/healthz#/../runs/x", "/login?/../", "/static/../", "//login", "/login/../"])
async def test_no_spelling_of_an_address_bypasses_the_login(locked, path):
    raw = path.replace("#", "%23").replace("?", "%3F")
    answer = await locked.client.get(raw, headers={"Accept": "application/json"})
    assert answer.status_code in {401, 404}


async def test_a_person_with_the_token_logs_in_under_their_name(locked):
    run = locked.run("Add a cart")
    entered = await locked.post("/login", token=TOKEN, name="Bo", next="/?q=cart")
    assert (entered.status_code, entered.headers["location"]) == (303, "/?q=cart")
    cookie = entered.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=strict", "max-age="))
    assert "Bo</span>" in (await locked.page("/")).text
    await locked.client.post(f"/api/v1/runs/{run.key.replace('#', '%23')}/say", json={"text": "Hello."})
    assert locked.comments(run.key) == [("Bo", "Hello.")]


async def test_a_person_who_logs_out_needs_the_token_again(locked):
    await locked.post("/login", token=TOKEN)
    assert (await locked.page("/")).status_code == 200
    assert (await locked.post("/logout")).status_code == 303
    assert (await locked.page("/")).status_code == 303


@pytest.mark.parametrize("token", ["", "a token", TOKEN.upper(), f"{TOKEN}x", "é"])
async def test_another_token_is_refused(locked, token):
    answer = await locked.post("/login", token=token)
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


async def test_a_program_sends_the_token_with_every_request(locked):
    assert (await locked.client.get("/api/v1/state", headers={"Authorization": f"Bearer {TOKEN}"})).status_code == 200
    assert (await locked.client.get("/api/v1/state", headers={"Authorization": "Bearer no"})).status_code == 401


async def test_a_changed_cookie_is_refused(locked):
    cookie = Authenticator(TOKEN).cookie_for("Bo")
    words, _, seal = cookie.partition(".")
    for forged in (f"{words}.", f"{words}.{seal[:-1]}0x", f"{words[:-4]}AAAA.{seal}", ".", "x", "%00.%00", f"é.{seal}"):
        assert await _status_with(locked, forged) == 401, forged
    assert await _status_with(locked, cookie) == 200


async def _status_with(web, cookie: str) -> int:
    answer = await web.client.get("/api/v1/state", headers=[(b"Cookie", f"treehand={cookie}".encode())])
    return answer.status_code


async def test_a_cookie_expires_and_is_invalid_for_another_token(tmp_path):
    time = [1000.0]
    access = Authenticator(TOKEN, clock=lambda: time[0])
    cookie = {"treehand": access.cookie_for("Bo")}
    async with open_dashboard(tmp_path, access=access) as web:
        assert access.find_person(web.client.headers, "127.0.0.1", cookie) == "Bo"
        assert Authenticator("another", clock=lambda: time[0]).find_person(web.client.headers, "", cookie) == ""
        time[0] += 15 * 86400
        assert access.find_person(web.client.headers, "127.0.0.1", cookie) == ""


async def test_a_link_from_another_site_redirects_so_that_the_cookie_is_sent(locked):
    answer = await locked.page("/runs/shop%231", Sec_Fetch_Site="cross-site")
    assert (answer.status_code, answer.headers.get("location")) == (200, None)
    assert 'content="0;url=/runs/shop%231"' in answer.text


@pytest.mark.parametrize(
    "there",
    [
        "https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example", "javascript:alert(1)", "evil",
        "/\t/evil.example", "http:evil", "///evil.example", "/\n/evil.example", "http://[", "",
    ],
)  # fmt: skip
async def test_a_login_redirects_only_to_our_own_pages(locked, there):
    assert own_path(there) == "/"
    answer = await locked.post("/login", token=TOKEN, next=there)
    assert answer.headers["location"] == "/"


async def test_a_page_of_another_site_cannot_log_in_log_out_or_post(locked):
    await locked.post("/login", token=TOKEN)
    for path in ("/login", "/logout", "/new", "/api/v1/runs/shop%231/stop", "/api/v1/issues"):
        headers = {**PAGE, "Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
        assert (await locked.client.post(path, headers=headers)).status_code == 403
    assert (await locked.page("/")).status_code == 200


async def test_behind_a_proxy_people_get_the_name_from_its_header(behind_proxy):
    run = behind_proxy.run("Add a cart")
    path = f"/api/v1/runs/{run.key.replace('#', '%23')}/say"
    await behind_proxy.client.post(path, json={"text": "Hi."}, headers={"X-Forwarded-User": "eve@example.com"})
    await behind_proxy.client.post(path, json={"text": "Ho."}, headers=[(b"X-Forwarded-User", "Zoë".encode())])
    assert behind_proxy.comments(run.key) == [("eve@example.com", "Hi."), ("Zoë", "Ho.")]


@pytest.mark.parametrize(
    "headers", [[], [("X-Forwarded-User", "")], [("X-Forwarded-User", "eve"), ("X-Forwarded-User", "ana")]]
)
async def test_behind_a_proxy_a_request_without_exactly_one_name_is_refused(behind_proxy, headers):
    assert (await behind_proxy.client.get("/api/v1/state", headers=headers)).status_code == 401


async def test_a_program_with_the_token_need_not_use_the_proxy(tmp_path):
    access = Authenticator("sesame", "X-Forwarded-User", ("127.0.0.2",), "operator")
    async with open_dashboard(tmp_path, access=access) as web:
        for given, status in ((None, 401), ("Bearer wrong", 401), ("Bearer sesame", 200)):
            answer = await web.client.get("/metrics", headers={"Authorization": given} if given else {})
            assert answer.status_code == status


async def test_only_the_proxy_may_name_the_person(tmp_path):
    async with open_dashboard(tmp_path, access=Authenticator("", "X-Forwarded-User", ("10.0.0.2",), "ana")) as web:
        told = {"X-Forwarded-User": "eve", "X-Forwarded-For": "10.0.0.2", "Forwarded": "for=10.0.0.2"}
        assert (await web.client.get("/api/v1/state", headers=told)).status_code == 401


async def test_without_user_header_a_name_in_the_request_is_ignored(web):
    page = await web.page("/", X_Forwarded_User="eve")
    assert re.findall(r'class="person">(.*?)<', page.text) == ["ana"]


async def test_get_requests_change_nothing(web):
    run = web.run("Add a cart")
    key = run.key.replace("#", "%23")
    for path in ("/logout", f"/api/v1/runs/{key}/stop", "/api/v1/wake", "/api/v1/issues"):
        assert (await web.client.get(path)).status_code in {404, 405}
    assert (web.comments(run.key), web.woken, web.notified_projects) == ([], [], [])
