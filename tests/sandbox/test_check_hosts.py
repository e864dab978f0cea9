"""`treehand check` tries private hosts and registries, and says what to do."""

import pytest

from bot.domain.health import Health
from bot.sandbox.authorities import TrustedAuthorities
from bot.sandbox.check_hosts import HostChecks
from bot.sandbox.proxy.host_and_port import HostPort
from bot.sandbox.proxy.network import Network
from bot.sandbox.proxy.registry import Registry
from tests.sandbox.fake_network import Internet, answer_of
from tests.sandbox.fake_registry import HOST, TOKEN, Company, registry

NAME = f"{HOST}:443"


async def checked(
    net: Internet, company: Company | None, token: str = TOKEN, private: tuple[str, ...] = (HOST,), path: str = "/npm/"
) -> Health:
    known = [Registry(HostPort(HOST, 443), token, path=path, variable="NPM_TOKEN")] if token else []
    authorities = TrustedAuthorities(company.ca_file if company else None)
    network = Network(net.resolve, dial=net.dial)
    (found,) = await HostChecks(frozenset(private), known, authorities, network).run()
    assert found.name == NAME
    assert TOKEN not in found.detail
    return found


@pytest.mark.parametrize(
    ("status", "ok", "detail"),
    [
        (200, True, "reached, with a trusted certificate; it does not refuse the token (200)"),
        (404, True, "it does not refuse the token (404)"),
        (401, False, "It answers 401 to the token. The token in NPM_TOKEN is wrong or has expired"),
        (403, False, "or it may not read /npm/."),
        (503, False, "It answers 503: the fault is on the server."),
    ],
)
async def test_a_registry_is_asked_once_with_its_token(tmp_path, status, ok, detail):
    company = Company(tmp_path)
    async with registry(company, lambda _: answer_of(status, b"{}")) as server:
        found = await checked(server.net(), company)

    assert (found.ok, detail in found.detail) == (ok, True), found.detail
    assert [(heard.method, heard.target) for heard in server.heard] == [("GET", "/npm/")]
    assert server.heard[0].header("authorization") == [f"Bearer {TOKEN}"]


async def test_a_private_host_without_a_token_is_asked_without_one(tmp_path):
    company = Company(tmp_path)
    async with registry(company, lambda _: answer_of(404, b"")) as server:
        found = await checked(server.net(), company, token="")

    assert found == Health(NAME, ok=True, detail="reached, with a trusted certificate (it answers 404)")
    assert server.heard[0].header("authorization") == []


@pytest.mark.parametrize(
    ("addresses", "private", "detail"),
    [
        ([], (HOST,), "was not found. Is its name right, and does this machine use the name server or VPN"),
        (["10.1.2.3"], (), "If it is in your own network, add it to `sandbox.private_hosts`."),
        (
            ["127.0.0.1"],
            (HOST,),
            "It may not be this machine, a link-local address or the metadata service of a cloud.",
        ),
    ],
)
async def test_an_address_that_is_not_dialled_is_explained(tmp_path, addresses, private, detail):
    company = Company(tmp_path)
    found = await checked(Internet({HOST: [addresses]}), company, private=private)

    assert not found.ok
    assert detail in found.detail


async def test_an_unknown_authority_is_explained(tmp_path):
    async with registry(Company(tmp_path)) as server:
        found = await checked(server.net(), None)

    assert not found.ok
    assert "is not trusted. Set `sandbox.ca_file` to the certificates of your own authority." in found.detail
    assert server.heard == []


async def test_a_host_that_does_not_answer_is_explained(tmp_path):
    company = Company(tmp_path)
    async with registry(company) as server:
        pass
    found = await checked(server.net(), company)

    assert (found.ok, "Can this machine reach it, and is the port right?" in found.detail) == (False, True)
