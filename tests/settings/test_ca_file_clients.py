"""Clients of the host trust the operator's own authority, and use the HTTP proxy of the network."""

import asyncio
import os
from urllib.parse import urlsplit

import pytest

from bot.services.github.transport import Transport as GitHubTransport
from bot.services.http.service_reply import NoAnswer
from bot.services.linear.transport import Transport as LinearTransport
from bot.settings.load import load
from tests.sandbox.fake_network import serving
from tests.sandbox.fake_registry import Company

VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO")


@pytest.fixture
def company(tmp_path, monkeypatch) -> Company:
    for name in (*VARIABLES, "CURL_CA_BUNDLE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv(name, "")  # so that it is restored
        monkeypatch.delenv(name)
    return Company(tmp_path)


async def ask_both(url: str) -> list[int]:
    """Statuses that GitHub's and Linear's client get."""
    github, linear = GitHubTransport(url), LinearTransport(url, "key")
    try:
        first = await asyncio.to_thread(github.fetch, f"{url}/meta")
        return [first.status, (await linear.send({}, before=lambda: None)).status]
    finally:
        github.close()
        await linear.aclose()


async def test_github_enterprise_and_linear_are_trusted_with_the_ca_file(tmp_path, company):
    (tmp_path / "treehand.toml").write_text(
        f'state_dir = "state"\nsandbox.ca_file = "{company.ca_file.name}"\n[[projects]]\nname = "a"\nrepository = "."\n'
    )
    async with serving() as service:
        server = await asyncio.start_server(service.receive, "127.0.0.1", 0, ssl=company.server("localhost"))
        url = f"https://localhost:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(NoAnswer):
            await ask_both(url)
        load(tmp_path / "treehand.toml")
        assert await ask_both(url) == [200, 200]
        server.close()

    assert {os.environ[name] for name in VARIABLES} == {str(tmp_path / "state" / "authorities.pem")}


async def test_github_and_linear_are_reached_through_the_http_proxy(monkeypatch, company):
    asked = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0])
        writer.write(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    address = f"http://ana:secret@127.0.0.1:{server.sockets[0].getsockname()[1]}"
    monkeypatch.setenv("HTTPS_PROXY", address)
    for url in ("https://github.corp.test/api/v3", "https://linear.corp.test/graphql"):
        with pytest.raises(NoAnswer) as failed:
            await ask_both(url) if "github" in url else await LinearTransport(url, "key").send({}, before=lambda: None)
        assert "secret" not in str(failed.value)
        assert urlsplit(url).hostname.encode() in asked[-1]
    server.close()
