"""T8: a setup whose hosts are learned reaches public hosts on port 443 alone, and nothing of an agent's is like it."""

import pytest

from bot.sandbox.bubblewrap import Bubblewrap, SandboxRules
from bot.sandbox.proxy.grant import ignore_usage
from bot.sandbox.proxy.learned_hosts import LearnedHosts
from tests.sandbox.fake_network import client_hello, internet, sandbox
from tests.sandbox.test_interface import OpenProxy, task

__all__ = ["task"]

PUBLIC = "93.184.216.34"


async def test_a_public_host_is_reached_and_recorded(tmp_path):
    learned, hello = LearnedHosts(), client_hello("pypi.test")
    async with (
        internet(pypi_test=[[PUBLIC]]) as net,
        sandbox(tmp_path, net=net, token="", learned=learned) as box,
        box.tunnel("pypi.test:443", hello) as (reader, _),
    ):
        assert await reader.readexactly(len(hello)) == hello
    assert list(learned.reached) == ["pypi.test"]
    assert box.usage.refusals == ()


@pytest.mark.parametrize("target", ["pypi.test:80", "pypi.test:8443", f"{PUBLIC}:443", "-pypi.test:443"])
async def test_t8_other_ports_and_addresses_are_refused(tmp_path, target):
    learned = LearnedHosts()
    async with internet(pypi_test=[[PUBLIC]]) as net, sandbox(tmp_path, net=net, learned=learned) as box:
        assert b" 403 " in await box.connect(target)
    assert (net.dialled, list(learned.reached)) == ([], [])


@pytest.mark.parametrize("address", ["10.0.0.7", "127.0.0.1", "169.254.169.254"])
async def test_t8_a_host_with_a_private_address_is_refused_and_named(tmp_path, address):
    learned = LearnedHosts()
    async with internet(npm_test=[[address]]) as net, sandbox(tmp_path, net=net, learned=learned) as box:
        assert b" 403 " in await box.connect("npm.test:443")
    assert (net.dialled, list(learned.reached), list(learned.private)) == ([], [], ["npm.test"])


async def test_t8_a_host_is_recorded_only_by_the_name_in_its_tls_connection(tmp_path):
    learned = LearnedHosts()
    async with (
        internet(pypi_test=[[PUBLIC]]) as net,
        sandbox(tmp_path, net=net, learned=learned) as box,
        box.tunnel("pypi.test:443", client_hello("other.test")) as (reader, _),
    ):
        assert await reader.read() == b""
    assert list(learned.reached) == []


async def test_t8_the_number_of_hosts_is_limited(tmp_path):
    learned = LearnedHosts(reached={f"{number}.test": None for number in range(40)})
    async with internet(pypi_test=[[PUBLIC]]) as net, sandbox(tmp_path, net=net, learned=learned) as box:
        assert b" 403 " in await box.connect("pypi.test:443")
    assert net.dialled == []


async def test_t8_neither_turns_nor_tests_nor_setup_of_an_agents_work_reach_unknown_hosts(tmp_path, task):
    """Even in a sandbox that was made to learn."""
    sandboxes, proxy = Bubblewrap(tmp_path / "state", {}, SandboxRules(), learned=LearnedHosts()), OpenProxy()
    sandboxes._proxy = proxy
    home, cache = tmp_path / "home", tmp_path / "cache"
    for opened in (
        sandboxes.open_turn(task, "cells:none", ignore_usage),
        sandboxes.open_setup(task.mounts, home, "cells:none", network=False),
        sandboxes.open_test(task.mounts, home, cache, "cells:none"),
    ):
        async with opened:
            assert proxy.grant.learned is None
    async with sandboxes.open_setup(task.mounts, home, "cells:none", network=True):
        assert proxy.grant.learned is not None
        assert not proxy.grant.token, "without the model"
