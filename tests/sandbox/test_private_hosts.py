"""Private hosts: names that the operator lists may have private addresses, and no others."""

import pytest

from bot.sandbox.proxy.private_addresses import is_private
from tests.sandbox.fake_network import PUBLIC, client_hello, internet, sandbox

pytestmark = pytest.mark.attack(
    "T8", "A program in the sandbox reaches the company's network through a name that may have private addresses"
)

HOST = "npm.corp.test"
PRIVATE = "10.20.30.40"


async def test_a_private_host_is_reached_at_its_private_address(tmp_path):
    listed = frozenset({HOST})
    async with (
        internet(npm_corp_test=[[PRIVATE]]) as net,
        sandbox(tmp_path, net=net, hosts=[HOST], private_hosts=listed) as box,
        box.tunnel(f"{HOST}:443", client_hello(HOST)) as (reader, _),
    ):
        assert await reader.read(1)

    assert net.dialled == [(PRIVATE, 443)]


@pytest.mark.parametrize("address", [PUBLIC, "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd00::1", "::ffff:10.0.0.1"])
async def test_a_private_host_may_have_any_address_of_a_company(tmp_path, address):
    async with (
        internet(npm_corp_test=[[address]]) as net,
        sandbox(tmp_path, net=net, hosts=[HOST], private_hosts=frozenset({f"{HOST}:443"})) as box,
    ):
        assert b" 200 " in await box.connect(f"{HOST}:443")


@pytest.mark.parametrize(
    ("hosts", "private"),
    [((HOST,), ()), ((HOST,), ("corp.test",)), ((HOST,), (f"{HOST}:8443",)), ((HOST,), (f"a.{HOST}",)), ((), (HOST,))],
)
async def test_t8_a_private_address_needs_both_lists(tmp_path, hosts, private):
    async with (
        internet(npm_corp_test=[[PRIVATE]]) as net,
        sandbox(tmp_path, net=net, hosts=hosts, private_hosts=frozenset(private)) as box,
    ):
        assert b" 403 " in await box.connect(f"{HOST}:443")

    assert net.dialled == []
    assert box.usage.refusals


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "::1",
        "0.0.0.0",
        "::",
        "169.254.169.254",
        "169.254.1.1",
        "fe80::1",
        "fe80::1%eth0",
        "100.100.100.200",
        "192.168.169.254",
        "fd00:ec2::254",
        "fd20:ce::254",
        "fd00:c1::a9fe:a9fe",
        "::ffff:100.100.100.200",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "192.0.0.192",
        "168.63.129.16",
        "224.0.0.1",
        "255.255.255.255",
        "64:ff9b::a00:1",
        "2002:a00:1::",
        "no address",
    ],
)
async def test_t8_a_private_host_at_this_machine_or_a_clouds_metadata_is_refused(tmp_path, address):
    async with (
        internet(npm_corp_test=[[address]]) as net,
        sandbox(tmp_path, net=net, hosts=[HOST], private_hosts=frozenset({HOST})) as box,
    ):
        assert b" 403 " in await box.connect(f"{HOST}:443")

    assert not is_private(address)
    assert net.dialled == []


async def test_t8_one_such_address_among_private_ones_is_enough_to_refuse(tmp_path):
    async with (
        internet(npm_corp_test=[[PRIVATE, "169.254.169.254"]]) as net,
        sandbox(tmp_path, net=net, hosts=[HOST], private_hosts=frozenset({HOST})) as box,
    ):
        assert b" 403 " in await box.connect(f"{HOST}:443")

    assert net.dialled == []


async def test_t8_a_private_host_is_dialled_at_the_address_that_was_checked(tmp_path):
    async with (
        internet(npm_corp_test=[[PRIVATE], ["127.0.0.1"]]) as net,
        sandbox(tmp_path, net=net, hosts=[HOST], private_hosts=frozenset({HOST})) as box,
        box.tunnel(f"{HOST}:443", client_hello(HOST)) as (reader, _),
    ):
        assert await reader.read(1)

    assert net.dialled == [(PRIVATE, 443)]


@pytest.mark.parametrize("named", ["evil.test", "gitlab.corp.test", None])
async def test_t8_tls_for_another_host_is_refused_in_a_tunnel_to_a_private_host(tmp_path, named):
    async with (
        internet(npm_corp_test=[[PRIVATE]]) as net,
        sandbox(tmp_path, net=net, hosts=[HOST], private_hosts=frozenset({HOST})) as box,
        box.tunnel(f"{HOST}:443", client_hello(named)) as (reader, _),
    ):
        assert await reader.read() == b""

    assert bytes(net.received) == b""
