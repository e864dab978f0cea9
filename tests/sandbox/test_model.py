"""The model route of the proxy: which requests pass, with which key, and how many tokens."""

import asyncio
import contextlib
import json
import logging

import httpx
import pytest

from bot.domain.price import PRICES, Price, TokenCounts
from bot.errors import Retryable
from bot.sandbox.proxy.grant import DayBudget, Grant, ModelUpstream, SandboxUsage, UsedUp
from bot.sandbox.proxy.model import ModelRoute
from bot.sandbox.proxy.model_request import parse_model_request
from tests.sandbox.fake_network import (
    END,
    KEY,
    START,
    STREAM_HEAD,
    TEXT,
    TOKEN,
    Leave,
    answer_of,
    asking,
    event,
    sandbox,
    serving,
    usage,
    whole,
)


async def test_a_message_reaches_the_model_with_the_real_key_and_only_known_headers(tmp_path):
    async with (
        serving() as service,
        sandbox(tmp_path, service) as box,
        box.client(cookie="a=b", authorization=f"Bearer {TOKEN}", x_smuggled="1") as client,
    ):
        answer = await client.post(
            "/v1/messages?beta=true", json=asking(), headers={"anthropic-beta": "effort-2025-11-24"}
        )

    (heard,) = service.heard
    assert answer.json()["type"] == "message"
    assert heard.target == "/v1/messages?beta=true"
    assert heard.header("x-api-key") == [KEY]
    assert heard.header("anthropic-beta") == ["effort-2025-11-24"]
    assert heard.header("host") == [service.url.removeprefix("http://")]
    assert heard.names <= {
        "host", "accept", "user-agent", "content-type", "content-length", "anthropic-beta", "x-api-key",
        "accept-encoding", "connection",
    }  # fmt: skip
    assert TOKEN not in str(heard)
    assert json.loads(heard.body) == asking()


async def test_keys_and_tokens_are_not_in_the_repr_of_proxy_values(tmp_path):
    assert KEY not in repr(ModelUpstream("https://model.test", {"x-api-key": KEY}))
    assert TOKEN not in repr(Grant(TOKEN))


async def test_only_known_headers_of_a_response_are_passed_back(tmp_path):
    async def play(_heard, write):
        await write(
            answer_of(429, b"{}", "set-cookie: a=b", "location: http://other.test/", "retry-after: 7", "via: x")
        )

    async with serving(play) as service, sandbox(tmp_path, service) as box:
        answer = await box.ask()

    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "7"
    assert not answer.headers.keys() & {"set-cookie", "location", "via"}


async def test_a_redirect_by_the_service_is_not_followed(tmp_path):
    async def play(_heard, write):
        await write(answer_of(307, b"", "location: http://127.0.0.1:1/"))

    async with serving(play) as service, sandbox(tmp_path, service) as box:
        assert (await box.ask()).status_code == 502
    assert box.usage.unreachable.startswith(f"A web page answers at {service.url} instead of the model's service (307)")


async def test_a_stream_is_passed_on_piece_by_piece(tmp_path):
    go_on = asyncio.Event()

    async def play(_heard, write):
        await write(STREAM_HEAD + START)
        await go_on.wait()
        await write(TEXT + END)
        return Leave

    async with serving(play) as service, sandbox(tmp_path, service) as box, box.client() as client:
        async with client.stream("POST", "/v1/messages", json=asking(stream=True)) as answer:
            pieces = answer.aiter_bytes()
            assert await anext(pieces) == START
            go_on.set()
            assert b"".join([piece async for piece in pieces]) == TEXT + END

        assert box.usage.tokens == 100 + 7 + 50


async def test_pieces_of_a_stream_may_end_anywhere(tmp_path):
    async def play(_heard, write):
        await write(STREAM_HEAD)
        for byte in START + TEXT + END.replace(b"\n", b"\r\n"):
            await write(bytes([byte]))
        return Leave

    async with serving(play) as service, sandbox(tmp_path, service) as box:
        await box.ask(stream=True)

    assert box.usage.tokens == 157


async def test_a_client_that_disconnects_ends_the_request_to_the_model(tmp_path):
    async def play(_heard, write):
        await write(STREAM_HEAD + START)
        await asyncio.Event().wait()

    async with serving(play) as service, sandbox(tmp_path, service, max_tokens=1_000) as box:
        async with box.client() as client, client.stream("POST", "/v1/messages", json=asking(stream=True)) as answer:
            await anext(answer.aiter_bytes())
        await asyncio.wait_for(service.hung_up.wait(), 5)


async def test_an_unreachable_service_is_reported(tmp_path):
    async with serving() as service:
        pass
    async with sandbox(tmp_path, service) as box:
        answer = await box.ask()

    assert answer.status_code == 502
    assert "does not answer" in answer.json()["error"]["message"]
    assert "x-should-retry" not in answer.headers
    assert box.usage.refusals == ()
    reason = "All connection attempts failed"
    assert box.usage.unreachable == f"The model's service at {service.url} does not answer ({reason})."


@pytest.mark.parametrize("status", [200, 403, 404])
async def test_a_page_of_a_network_that_wants_a_login_is_no_answer_of_the_model(tmp_path, status):
    async def play(_heard, write):
        await write(answer_of(status, b"<html>Log in</html>", kind="text/html"))

    async with serving(play) as service, sandbox(tmp_path, service) as box:
        assert (await box.ask()).status_code == 502
    assert box.usage.unreachable == (
        f"A web page answers at {service.url} instead of the model's service ({status}). "
        "Does the network want a login, or is the address wrong?"
    )
    assert not box.usage.is_key_refused
    assert (box.usage.tokens, box.usage.usd) == (0, 0)


@pytest.mark.parametrize("status", [500, 503, 529])
async def test_a_service_that_does_not_work_is_unreachable_until_it_answers(tmp_path, status):
    states = iter([status, 200])

    async def play(_heard, write):
        await write(answer_of(next(states), b"{}"))

    async with serving(play) as service, sandbox(tmp_path, service) as box:
        assert (await box.ask()).status_code == status
        assert box.usage.unreachable == (
            f"The model's service at {service.url} does not work now (it answers with {status})."
        )
        await box.ask()
    assert box.usage.unreachable == ""


async def test_an_interrupted_response_is_interrupted_for_the_client_too(tmp_path):
    async def play(_heard, write):
        await write(b"HTTP/1.1 200 Fine\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{")
        return Leave

    async with serving(play) as service, sandbox(tmp_path, service, max_tokens=100_000) as box:
        with pytest.raises(httpx.RemoteProtocolError):
            await box.ask()


async def test_one_connection_carries_many_requests(tmp_path):
    async with serving() as service, sandbox(tmp_path, service) as box, box.client() as client:
        for _ in range(3):
            assert (await client.head("/")).status_code == 200
            assert (await client.post("/v1/messages", json=asking())).status_code == 200

    assert box.usage.tokens == 45


@pytest.mark.parametrize("head", ["HEAD / HTTP/1.0\r\n", "HEAD / HTTP/1.1\r\nConnection: close\r\n"])
async def test_a_connection_is_closed_if_the_client_asks_for_it(tmp_path, head):
    async with sandbox(tmp_path) as box:
        assert (await box.raw(f"{head}Host: g\r\n\r\n".encode())).startswith(b"HTTP/1.1 200")


async def test_a_client_that_expects_100_continue_gets_it(tmp_path):
    body = json.dumps(asking()).encode()
    head = f"POST /v1/messages HTTP/1.1\r\nHost: g\r\nx-api-key: {TOKEN}\r\nExpect: 100-continue\r\n"
    async with serving() as service, sandbox(tmp_path, service) as box, box.connection() as (reader, writer):
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode())
        assert b" 100 " in await reader.readuntil(b"\r\n\r\n")
        writer.write(body)
        assert b" 200 " in await reader.readuntil(b"\r\n\r\n")


async def test_requests_and_responses_are_not_logged(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    async with serving() as service, sandbox(tmp_path, service) as box:
        await box.raw(f"HEAD / HTTP/1.1\r\nHost: g\r\nx-api-key: {TOKEN}\r\nConnection: close\r\n\r\n".encode())
        body = json.dumps(asking()).encode()
        head = f"POST /v1/messages HTTP/1.1\r\nHost: g\r\nx-api-key: {TOKEN}\r\nConnection: close\r\n"
        assert b" 200 " in await box.raw(head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    assert {record.name for record in caplog.records} <= {"asyncio"}


# Keys


@pytest.mark.parametrize(
    "shown",
    [
        {},
        {"x-api-key": "other"},
        {"x-api-key": ""},
        {"authorization": "Bearer other"},
        {"authorization": TOKEN + "x"},
        {"x-api-key": TOKEN, "authorization": "Bearer other"},
        {"x-api-key": KEY},
        {"cookie": TOKEN},
    ],
)
async def test_only_requests_with_the_sandboxs_own_token_reach_the_model(tmp_path, shown):
    async with (
        serving() as service,
        sandbox(tmp_path, service) as box,
        httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(uds=str(box.socket), verify=False)) as client,
    ):
        answer = await client.post("http://proxy/v1/messages", json=asking(), headers=shown)

    assert answer.status_code == 403
    assert service.heard == []
    assert len(box.usage.refusals) == 1


@pytest.mark.parametrize("name", ["x-api-key", "authorization"])
async def test_either_header_may_carry_the_token(tmp_path, name):
    async with (
        serving() as service,
        sandbox(tmp_path, service) as box,
        httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(uds=str(box.socket), verify=False)) as client,
    ):
        value = TOKEN if name == "x-api-key" else f"Bearer {TOKEN}"
        answer = await client.post("http://proxy/v1/messages", json=asking(), headers={name: value})

    assert answer.status_code == 200


async def test_the_token_of_one_sandbox_is_refused_by_the_proxy_of_another(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    async with serving() as service, sandbox(tmp_path, service), sandbox(other, service, token="pass-2") as box:
        assert (await box.ask()).status_code == 403


@pytest.mark.parametrize("token", ["", TOKEN])
async def test_without_a_model_no_request_is_forwarded(tmp_path, token):
    async with (
        serving() as service,
        sandbox(tmp_path, service if not token else None, token=token) as box,
        box.client(**{"x-api-key": token}) as client,
    ):
        assert (await client.post("/v1/messages", json=asking())).status_code == 403


# Allowed requests


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/v1/messages"),
        ("PUT", "/v1/messages"),
        ("GET", "/"),
        ("GET", "/v1/models"),
        ("POST", "/v1/files"),
        ("POST", "/v1/messages/batches"),
        ("POST", "/v1/messages/../files"),
        ("POST", "/v1//messages"),
        ("POST", "/v1/messages/"),
        ("POST", "/v1/messages%2fbatches"),
        ("POST", "/v1/messages?beta=true&x=1"),
        ("POST", "/v1/messages?x"),
        ("POST", "/v1/messages#x"),
        ("OPTIONS", "*"),
        ("GET", "http://example.com/"),
        ("POST", "http://proxy/v1/messages"),
        ("GET", "//example.com/"),
    ],
)
async def test_any_endpoint_except_messages_is_refused_and_counted(tmp_path, method, target):
    body = json.dumps(asking())
    head = f"{method} {target} HTTP/1.1\r\nHost: proxy\r\nx-api-key: {TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n"
    async with serving() as service, sandbox(tmp_path, service) as box:
        answer = await box.raw((head + body).encode())

    assert answer.startswith((b"HTTP/1.1 403", b"HTTP/1.1 405"))
    assert service.heard == []
    assert len(box.usage.refusals) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b'{"model": 7}',
        b'{"model": "a", "model": "b"}',
        b'{"model": "a", "Model": "b"}',
        b'{"model": "a", "\\u017ftream": true}',
        b'{"model": "a", "max_tokens": NaN}',
        b'{"model": "a"} {"model": "b"}',
        '{"model": "a"}'.encode("utf-16"),
        b"[" * 100_000,
        b'{"model": "a", "messages": ' + b"[" * 400_000 + b"]" * 400_000 + b"}",
        b'{"model": "a", "messages": [' + b"1," * 600_000 + b"1]}",
        b'{"model": "a\xff"}',
    ],
    ids=range(15),
)
async def test_an_ambiguous_or_invalid_body_is_refused(tmp_path, body):
    async with serving() as service, sandbox(tmp_path, service) as box, box.client() as client:
        answer = await client.post("/v1/messages", content=body)

    assert answer.status_code in {400, 403, 413}
    assert answer.json()["type"] == "error"
    assert service.heard == []


@pytest.mark.attack("T9", "The tokens that a request may cost are written so that the model's service alone reads them")
@pytest.mark.parametrize("most", ["1e5", '"100000"', "100000.0", "true", "null", "-1", "[1]"])
async def test_a_limit_of_tokens_that_is_no_plain_number_is_refused(tmp_path, most):
    body = json.dumps(asking()).replace('"max_tokens": 100', f'"max_tokens": {most}')
    assert most in body
    async with serving() as service, sandbox(tmp_path, service) as box, box.client() as client:
        answer = await client.post("/v1/messages", content=body)

    assert answer.status_code == 400
    assert service.heard == []


@pytest.mark.attack("T9", "A request names a character set in which it says something else")
@pytest.mark.parametrize("kind", ["application/json; charset=utf-7", "text/plain", "multipart/form-data; boundary=a"])
async def test_the_proxy_says_itself_how_a_request_is_to_be_read(tmp_path, kind):
    async with serving() as service, sandbox(tmp_path, service) as box, box.client() as client:
        await client.post("/v1/messages", json=asking(), headers={"content-type": kind})

    (heard,) = service.heard
    assert heard.header("content-type") == ["application/json"]


@pytest.mark.attack("T16", "A request to the model is made to be slow to read")
async def test_t16_a_large_request_is_read_while_the_loop_goes_on():
    route = ModelRoute(ModelUpstream("http://127.0.0.1:9", {}), Grant(TOKEN), SandboxUsage(), httpx.AsyncClient())
    body = json.dumps(asking(system="x" * (1 << 20))).encode()
    steps = 0
    async with route.client, asyncio.TaskGroup() as group:
        parsing = group.create_task(route._parse(body))
        while not parsing.done():
            await asyncio.sleep(0)
            steps += 1

    assert parsing.result().model == asking()["model"]
    assert steps > 1


async def test_a_body_beyond_the_limit_is_refused(tmp_path):
    async def pieces():
        for _ in range(33):
            yield b" " * (1 << 20)

    async with serving() as service, sandbox(tmp_path, service) as box, box.client() as client:
        answer = await client.post("/v1/messages", content=pieces())

    assert answer.status_code == 413


@pytest.mark.parametrize(
    "more",
    [
        {"mcp_servers": [{"type": "url", "url": "https://evil.test/mcp"}]},
        {"container": {"skills": []}, "tools": []} | {"container": "c-1"},
        {"tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}]},
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]},
        {"tools": [{"type": "something_new_20270101", "name": "new"}]},
        {"tools": {"type": "web_fetch_20250910", "name": "web_fetch"}},
        {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "http://e"}}]}]},
        {"messages": [{"role": "system", "content": [{"tool": {"type": "web_fetch_20250910", "name": "f"}}]}]},
    ],
)
async def test_features_of_the_model_that_reach_other_hosts_are_refused(tmp_path, more):
    async with serving() as service, sandbox(tmp_path, service) as box:
        answer = await box.ask(**more)

    assert answer.status_code == 403
    assert service.heard == []
    assert "have the model's service" in box.usage.refusals[0]


_PICTURE = {"type": "base64", "media_type": "image/png", "data": "A" * 64_000}


@pytest.mark.attack("T9", "A request asks for another model, faster or dearer answers, or has an unknown key")
@pytest.mark.parametrize(
    "more",
    [
        {"fallbacks": [{"model": "another", "max_tokens": 128_000}]},
        {"thread": {"type": "continue"}},
        {"speed": "fast"},
        {"service_tier": "auto"},
        {"inference_geo": "us"},
        {"something_new": None},
        {"Fallbacks": []},
    ],
    ids=lambda more: next(iter(more)),
)
async def test_an_unknown_key_in_a_request_is_refused_by_its_name(tmp_path, more):
    async with serving() as service, sandbox(tmp_path, service) as box:
        answer = await box.ask(**more)
    (name,) = more
    assert (answer.status_code, service.heard) == (403, [])
    assert name in answer.json()["error"]["message"]
    assert box.usage.refusals == (f"send the model the key {name}",)


@pytest.mark.attack("T9", "A request switches a beta feature of the model's service on")
@pytest.mark.parametrize(
    "betas",
    [["server-side-fallback-2026-07-01"], ["effort-2025-11-24,fast-mode-2026-02-01"], ["effort-2025-11-24", "new-1"]],
)
async def test_an_unknown_beta_is_refused(tmp_path, betas):
    headers = [("anthropic-beta", one) for one in betas]
    async with serving() as service, sandbox(tmp_path, service) as box, box.client() as client:
        answer = await client.post("/v1/messages", json=asking(), headers=headers)
    assert (answer.status_code, service.heard) == (403, [])
    assert "the beta" in box.usage.refusals[0]


@pytest.mark.attack("T9", "Text that calls itself packed counts for a sixteenth")
@pytest.mark.parametrize(
    ("content", "is_cheap"),
    [
        ([{"type": "image", "source": _PICTURE}], True),
        ([{"type": "tool_result", "content": [{"type": "image", "source": _PICTURE}]}], True),
        ([_PICTURE], False),
        ([{"type": "text", "source": _PICTURE}], False),
        ([{"type": "tool_use", "input": {"type": "image", "source": _PICTURE}}], False),
        ([{"type": "document", "source": {**_PICTURE, "media_type": "text/plain"}}], False),
    ],
)
def test_only_pictures_and_documents_are_counted_at_a_lower_rate(content, is_cheap):
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": content}]}).encode()
    assert (parse_model_request(body).input < 2_000) is is_cheap


async def test_text_about_refused_features_is_allowed(tmp_path):
    said = [{"role": "user", "content": '{"type": "url", "url": "http://e"} "mcp_servers" web_fetch_20250910'}]
    tools = [{"name": "Bash", "input_schema": {"type": "object"}}, {"type": "custom", "name": "Read"}]
    async with serving() as service, sandbox(tmp_path, service) as box:
        assert (await box.ask(messages=said, tools=tools)).status_code == 200


# The model


@pytest.mark.parametrize(
    ("given", "asked", "statuses"),
    [
        ("claude-opus-5-5", ["claude-opus-5-5", "claude-sonnet-5-5"], [200, 403]),
        ("claude-opus-5-5", ["claude-opus-5", "claude-opus-5-5-x"], [403, 403]),
        ("claude-opus-5-5[1m]", ["claude-opus-5-5"], [200]),
        ("sonnet", ["gpt-4", "claude-sonnet-5-5", "claude-sonnet-4-5", "claude-sonnet-5-5"], [403, 200, 403, 200]),
        ("Sonnet[1m]", ["claude-sonnet-5-5"], [200]),
        ("", ["anything", "claude-opus-5-5", "anything"], [200, 403, 200]),
        ("default", ["claude-opus-5-5", "claude-haiku-4-5"], [200, 403]),
        ("deepseek-chat", ["deepseek-chat", "deepseek-chat-2"], [200, 403]),
        ("gpt-4", ["gpt-4", "gpt-4o"], [200, 403]),
    ],
)
async def test_a_run_with_a_chosen_model_can_use_no_other(tmp_path, given, asked, statuses):
    async with serving() as service, sandbox(tmp_path, service, model=given) as box:
        answers = [await box.ask(model=name) for name in asked]
        counted = await box.ask("/v1/messages/count_tokens", model="another")

    assert [answer.status_code for answer in answers] == statuses
    assert counted.status_code == 403
    assert "ask for the model another" in box.usage.refusals
    assert all(answer.json()["type"] == "error" for answer in answers if answer.status_code == 403)


# The budget


async def test_tokens_of_every_kind_count(tmp_path):
    async def play(_heard, write):
        await write(whole(usage=usage(1, 2) | {"cache_creation_input_tokens": 30, "cache_read_input_tokens": 400}))

    async with serving(play) as service, sandbox(tmp_path, service) as box:
        await box.ask()

    assert box.usage.tokens == 433


async def test_a_run_ends_when_its_token_budget_is_exhausted(tmp_path):
    async def play(_heard, write):
        await write(whole(usage=usage(400, 200)))

    async with serving(play) as service, sandbox(tmp_path, service, max_tokens=1_000) as box:
        answers = [await box.ask(max_tokens=128_000) for _ in range(4)]

    assert [answer.status_code for answer in answers] == [200, 200, 429, 429]
    assert answers[2].headers["x-should-retry"] == "false"
    assert answers[2].json() == {
        "type": "error",
        "error": {"type": "rate_limit_error", "message": "The token budget of this run is used up."},
    }
    assert box.usage.used_up is UsedUp.TOKENS
    assert box.usage.tokens == 1_200
    assert len(service.heard) == 2


async def test_a_run_within_its_tokens_is_not_exhausted(tmp_path):
    async with serving() as service, sandbox(tmp_path, service, max_tokens=1_000) as box:
        await box.ask()

    assert not box.usage.used_up


async def test_parallel_requests_do_not_exceed_the_budget_together(tmp_path):
    async def play(_heard, write):
        await asyncio.sleep(0.02)
        await write(whole(usage=usage(10, 500)))

    async with serving(play) as service, sandbox(tmp_path, service, max_tokens=1_200) as box:
        answers = await asyncio.gather(*(box.ask(max_tokens=500) for _ in range(8)))

    assert sorted(answer.status_code for answer in answers) == [200] * 3 + [429] * 5
    assert box.usage.tokens == 1_530


async def test_a_request_that_is_cut_off_before_its_usage_is_charged(tmp_path):
    async def play(_heard, write):
        await write(STREAM_HEAD + START + TEXT)
        await asyncio.Event().wait()

    async with serving(play) as service, sandbox(tmp_path, service, max_tokens=4_900) as box:
        for _ in range(3):
            async with box.client() as client:
                request = client.build_request("POST", "/v1/messages", json=asking(stream=True, max_tokens=2_450))
                answer = await client.send(request, stream=True)
                if answer.status_code == 200:
                    await anext(answer.aiter_bytes())
                await answer.aclose()

    assert answer.status_code == 429
    assert 2 * 108 < box.usage.tokens < 2 * 130, "what was reported, and about as much as came"


@pytest.mark.parametrize(("length", "then"), [(10, 200), (2_000, 429)])
async def test_a_response_without_usage_is_charged_by_its_length(length, then, tmp_path):
    async def play(_heard, write):
        await write(answer_of(200, b"{" + b" " * length + b"}"))

    async with serving(play) as service, sandbox(tmp_path, service, max_tokens=1_000) as box:
        answers = [await box.ask(max_tokens=1_000) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, then]


OPUS = PRICES["claude-opus-5-5"]


async def test_money_is_counted_by_the_class_of_the_tokens_as_they_come(tmp_path):
    go_on = asyncio.Event()
    written = {"cache_creation_input_tokens": 300, "cache_creation": {"ephemeral_1h_input_tokens": 100}}
    start = event("message_start", message={"usage": usage(1_000, 1) | written | {"cache_read_input_tokens": 7_000}})

    async def play(_heard, write):
        await write(STREAM_HEAD + start)
        await go_on.wait()
        await write(TEXT + END)
        return Leave

    async with (
        serving(play) as service,
        sandbox(tmp_path, service) as box,
        box.client() as client,
        client.stream("POST", "/v1/messages", json=asking(stream=True)) as answer,
    ):
        pieces = answer.aiter_bytes()
        await anext(pieces)
        prompt = 1_000 * 4 + 7_000 * 0.2 + 200 * 5 + 100 * 8
        assert box.usage.usd == pytest.approx((prompt + 20) / 1e6)
        go_on.set()
        [_ async for _ in pieces]

    assert box.usage.usd == pytest.approx((prompt + 50 * 20) / 1e6)


async def test_money_is_told_before_the_answer_goes_on(tmp_path):
    told = []

    async with serving() as service, sandbox(tmp_path, service, on_usage=told.append) as box:
        await box.ask()

    cost = pytest.approx(OPUS.cost(TokenCounts(10, 5)))
    assert [(usage.tokens, usage.usd) for usage in told] == [(0, 0.0), (15, cost)]
    assert [usage.reserved_usd > 0 for usage in told] == [True, False], "until the answer"


async def test_the_model_is_asked_nothing_while_its_cost_could_not_be_saved(tmp_path):
    full = True

    def save(change):
        if full and change.reserved_usd:
            raise Retryable("The disk is full.")

    async with serving() as service, sandbox(tmp_path, service, on_usage=save) as box:
        refused = await box.ask()
        assert (refused.status_code, service.heard, box.usage.reserved_usd) == (503, [], 0.0)
        assert box.usage.unsaved == "The disk is full."
        full = False
        assert (await box.ask()).status_code == 200
        assert (box.usage.unsaved, box.usage.reserved_usd) == ("", 0.0)


async def test_an_answer_that_is_cut_off_keeps_nothing_reserved(tmp_path):
    told = []

    async def play(_heard, write):
        await write(STREAM_HEAD + START)
        return Leave

    async with serving(play) as service, sandbox(tmp_path, service, on_usage=told.append) as box:
        with contextlib.suppress(httpx.HTTPError):
            await box.ask(stream=True)
    assert told[0].reserved_usd > told[1].reserved_usd > 0, "the prompt is counted, the answer is not known yet"
    assert told[-1].reserved_usd == box.usage.reserved_usd == 0.0


async def test_what_an_answer_cost_that_was_cut_off_is_estimated_by_what_came(tmp_path):
    said = event("content_block_delta", index=0, delta={"type": "text_delta", "text": "word " * 80})

    async def play(_heard, write):
        await write(STREAM_HEAD + START + said * 10)
        await asyncio.Event().wait()

    async with serving(play) as service:
        async with (
            sandbox(tmp_path, service) as box,
            box.client() as client,
            client.stream("POST", "/v1/messages", json=asking(stream=True)) as answer,
        ):
            received = 0
            async for piece in answer.aiter_bytes():
                received += len(piece)
                if received == len(START + said * 10):
                    break
        assert 900 < box.usage.tokens - 107 < 1_100, "400 letters ten times: a thousand tokens"


async def test_a_question_that_nobody_waited_for_costs_its_prompt(tmp_path):
    heard = asyncio.Event()

    async def play(_heard, _write):
        heard.set()
        await asyncio.Event().wait()

    async with serving(play) as service, asyncio.TaskGroup() as group:
        async with sandbox(tmp_path, service) as box, box.client() as client:
            asked = group.create_task(_asked_in_vain(client))
            await heard.wait()
        await asked
    assert box.usage.tokens == len(json.dumps(asking(), separators=(",", ":"))) // 4


async def _asked_in_vain(client: httpx.AsyncClient) -> None:
    with pytest.raises(httpx.TransportError):
        await client.post("/v1/messages", json=asking())


async def test_a_run_ends_with_its_money(tmp_path):
    async def play(_heard, write):
        await write(whole(usage=usage(0, 100_000)))

    async with serving(play) as service, sandbox(tmp_path, service, max_usd=3.0) as box:
        answers = [await box.ask() for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2].headers["x-should-retry"] == "false"
    assert box.usage.used_up is UsedUp.MONEY
    assert box.usage.usd == pytest.approx(4.0), "one request more than the limit, and no other"


async def test_agents_side_by_side_overrun_a_day_by_one_request_each_at_most(tmp_path):
    """Each asks eight times at once, as often as it is answered."""
    boxes, most = [], 3.0
    day = DayBudget(most, lambda: sum(box.usage.usd for box in boxes))

    async def play(_heard, write):
        await asyncio.sleep(0.01)
        await write(whole(usage=usage(0, 10_000)))

    async def spend(box) -> None:
        while any(
            answer.status_code == 200
            for answer in await asyncio.gather(*(box.ask(max_tokens=10_000) for _ in range(8)))
        ):
            pass

    async with serving(play) as service, contextlib.AsyncExitStack() as stack:
        for number in range(3):
            (folder := tmp_path / str(number)).mkdir()
            boxes.append(await stack.enter_async_context(sandbox(folder, service, day=day)))
        await asyncio.gather(*map(spend, boxes))

    assert {box.usage.used_up for box in boxes} == {UsedUp.DAY}
    assert most <= day.read_spent_usd() <= most + 3 * 0.2 + 1e-9


async def test_a_day_without_money_left_asks_the_model_nothing(tmp_path):
    async with serving() as service, sandbox(tmp_path, service, day=DayBudget(1.0, lambda: 1.0)) as box:
        answer = await box.ask()
    assert (answer.status_code, service.heard, box.usage.used_up) == (429, [], UsedUp.DAY)


async def test_the_operators_own_price_counts(tmp_path):
    own = {"gateway-model": Price(1, 2, 0, 0, 0)}
    async with serving() as service, sandbox(tmp_path, service, prices=own) as box:
        await box.ask(model="gateway-model")
    assert box.usage.usd == pytest.approx(20 / 1e6)


async def test_the_name_of_a_model_without_a_price_is_told_with_its_cost(tmp_path):
    told = []
    async with serving() as service, sandbox(tmp_path, service, on_usage=told.append) as box:
        await box.ask(model="claude-nova-9")
    assert {change.unpriced for change in told} == {"claude-nova-9"}
    own = {"claude-nova-9": PRICES["claude-haiku-5-5"]}
    async with serving() as service, sandbox(tmp_path, service, on_usage=told.append, prices=own) as box:
        await box.ask(model="claude-nova-9")
    assert told[-1].unpriced == ""


async def test_an_error_of_the_service_costs_nothing(tmp_path):
    async def play(_heard, write):
        await write(answer_of(529, b"{}"))

    async with serving(play) as service, sandbox(tmp_path, service, max_tokens=1_000) as box:
        assert [(await box.ask(max_tokens=900)).status_code for _ in range(4)] == [529] * 4


async def test_counting_tokens_is_free_but_limited(tmp_path):
    async with serving() as service, sandbox(tmp_path, service, max_tokens=100) as box, box.client() as client:
        path = "/v1/messages/count_tokens"
        statuses = [(await client.post(path, json=asking())).status_code for _ in range(501)]

    assert (set(statuses[:-1]), statuses[-1]) == ({200}, 429)
    assert box.usage.tokens == 0
    assert not box.usage.used_up


async def test_eight_requests_run_at_once_and_others_wait(tmp_path):
    go_on = asyncio.Event()

    async def play(_heard, write):
        await go_on.wait()
        await write(whole())

    async with serving(play) as service, sandbox(tmp_path, service) as box, asyncio.TaskGroup() as group:
        asked = [group.create_task(box.ask()) for _ in range(12)]
        await asyncio.wait(asked, timeout=0.3)  # nothing tells that more do not come
        assert len(service.heard) == 8
        go_on.set()

    assert {task.result().status_code for task in asked} == {200}
    assert len(service.heard) == 12


async def test_malformed_events_in_a_stream_are_tolerated(tmp_path):
    odd = b'data: {"usage"\n\ndata: []"usage"\n\ndata: 7 "usage"\n\n' + event("message_delta", usage=[1], x="usage")
    odd += event("message_start", message=7, usage={}) + event("message_delta", usage={"output_tokens": "many"})

    async def play(_heard, write):
        await write(STREAM_HEAD + odd + START + END)
        return Leave

    async with serving(play) as service, sandbox(tmp_path, service) as box:
        assert (await box.ask(stream=True)).status_code == 200

    assert box.usage.tokens == 157
