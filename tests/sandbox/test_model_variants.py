"""T9: requests to the model that the proxy and the model's service could read in different ways. Real sockets."""

import gzip
import json

import pytest

from tests.sandbox.fake_network import TOKEN, asking, sandbox, serving

_OURS = {
    "host", "accept", "user-agent", "content-type", "content-length", "anthropic-beta", "x-api-key", "accept-encoding",
    "connection",
}  # fmt: skip
_PLAIN = json.dumps(asking())
_TWICE = [
    _PLAIN[:-1] + ', "\\u006dodel": "another"}',
    _PLAIN[:-1] + ', "metadata": {"a": 1, "\\u0061": 2}}',
    _PLAIN[:-1] + ', "system": [{"type": "text", "text": "x", "t\\u0079pe": "url"}]}',
    _PLAIN[:-1] + ', "max_token\\u0073": 9}',
    "\ufeff" + _PLAIN,
    _PLAIN + "\x00",
]


def _request(body: bytes, *headers: str, target: str = "/v1/messages") -> bytes:
    head = [f"POST {target} HTTP/1.1", "Host: proxy", f"x-api-key: {TOKEN}", *headers]
    return "\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]).encode() + body


@pytest.mark.attack("T9", "A key is written twice in other letters, or a body is packed")
@pytest.mark.parametrize("body", [*_TWICE, gzip.compress(_PLAIN.encode())], ids=range(7))
async def test_t9_a_body_that_another_reader_could_read_differently_is_refused(tmp_path, body):
    content = body if isinstance(body, bytes) else body.encode()
    async with serving() as service, sandbox(tmp_path, service) as box:
        answer = await box.raw(_request(content, "Content-Encoding: gzip"))
    assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 403"))
    assert service.heard == []


@pytest.mark.attack("T9", "Headers, trailers and chunks carry another method, key or feature past the proxy")
@pytest.mark.parametrize(
    "headers",
    [
        ("X-HTTP-Method-Override: GET", "X-Original-URL: /v1/messages/batches", "X-Rewrite-URL: /v1/files"),
        ("Forwarded: host=evil.invalid", "X-Forwarded-Host: evil.invalid", "anthropic-workspace-id: other"),
        ("Authorization: Bearer other", "Cookie: a=b", "Content-Encoding: identity"),
    ],
)
async def test_t9_headers_that_steer_a_service_are_not_passed_on(tmp_path, headers):
    async with serving() as service, sandbox(tmp_path, service) as box:
        await box.raw(_request(_PLAIN.encode(), "Connection: close", *headers))
    for heard in service.heard:
        assert heard.names <= _OURS
        assert heard.target == "/v1/messages"
        assert b"other" not in str(heard.header("x-api-key")).encode()


@pytest.mark.attack("T9", "Headers, trailers and chunks carry another method, key or feature past the proxy")
async def test_t9_chunk_extensions_and_trailers_end_at_the_proxy(tmp_path):
    chunks = f'{len(_PLAIN):x};model="other"\r\n{_PLAIN}\r\n0\r\nanthropic-beta: new-1\r\nx-api-key: other\r\n\r\n'
    head = f"POST /v1/messages HTTP/1.1\r\nHost: proxy\r\nx-api-key: {TOKEN}\r\nConnection: close\r\n"
    async with serving() as service, sandbox(tmp_path, service) as box:
        await box.raw(f"{head}Transfer-Encoding: chunked\r\n\r\n{chunks}".encode())
    (heard,) = service.heard
    assert heard.names <= _OURS
    assert (json.loads(heard.body), heard.header("anthropic-beta")) == (asking(), [])


@pytest.mark.attack("T9", "A request switches a beta feature of the model's service on")
@pytest.mark.parametrize("beta", ["effort-2025-11-24,\tnew-1", "effort-2025-11-24;new-1", "EFFORT-2025-11-24", "*"])
async def test_t9_a_beta_is_known_in_one_spelling_only(tmp_path, beta):
    async with serving() as service, sandbox(tmp_path, service) as box:
        answer = await box.raw(_request(_PLAIN.encode(), f"anthropic-beta: {beta}"))
    assert answer.startswith(b"HTTP/1.1 403")
    assert service.heard == []


@pytest.mark.attack("T9", "A second request on the same connection asks for what the first may not")
@pytest.mark.parametrize("target", ["/v1/messages/batches", "/v1/files", "/v1/messages/count_tokens/../batches"])
async def test_t9_a_pipelined_request_is_judged_like_the_first(tmp_path, target):
    second = _request(_PLAIN.encode(), target=target)
    async with serving() as service, sandbox(tmp_path, service) as box:
        answer = await box.raw(_request(_PLAIN.encode()) + second)
    assert b"HTTP/1.1 403" in answer
    assert [heard.target for heard in service.heard] == ["/v1/messages"]
