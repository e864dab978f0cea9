"""Setup installs from a company's registry with real npm and pip, and finds no token anywhere."""

import os
import shutil
import sys
from collections.abc import AsyncIterator

import pytest

from bot.sandbox.authorities import TrustedAuthorities
from bot.sandbox.bubblewrap import Bubblewrap, SandboxRules
from bot.sandbox.proxy.host_and_port import HostPort
from bot.sandbox.proxy.network import Network
from bot.sandbox.proxy.registry import Registry
from bot.sandbox.proxy.server import SandboxProxy
from tests.sandbox.fake_registry import HOST, TOKEN, Company, FakeRegistry, registry
from tests.setup.conftest import Shop, empty_origin, origin, root  # noqa: F401 - fixtures


@pytest.fixture
def company(tmp_path) -> Company:
    return Company(tmp_path)


@pytest.fixture
async def packages(company) -> AsyncIterator[FakeRegistry]:
    async with registry(company) as made:
        yield made


@pytest.fixture
def shop(origin, root, company, packages) -> Shop:  # noqa: F811
    return shop_with(origin, root, company, packages, Registry(HostPort(HOST, 443), TOKEN, variable="CORP_TOKEN"))


def shop_with(origin, root, company, packages, *registries, **rules) -> Shop:  # noqa: F811
    rules = {"setup_hosts": frozenset({HOST}), "private_hosts": frozenset({HOST}), **rules}
    sandbox = Bubblewrap(
        root, {}, SandboxRules(registries=registries, authorities=TrustedAuthorities(company.ca_file), **rules)
    )
    net = packages.net()
    sandbox._proxy = SandboxProxy(None, network=Network(net.resolve, dial=net.dial))
    return Shop(origin, root, sandbox)


NPMRC = f"registry=https://{HOST}/npm/\n//{HOST}/npm/:_authToken=${{CORP_TOKEN}}\nfetch-retries=0\n"
PACKAGE = '{"name": "shop", "version": "1.0.0", "dependencies": {"corp-words": "1.0.0"}}'
needs_npm = pytest.mark.skipif(not shutil.which("npm"), reason="there is no npm")
LOOK = """
import os, pathlib
found = [*os.environ.values(), pathlib.Path("/opt/treehand/authorities.pem").read_text()]
for folder in (".", os.environ["HOME"], os.environ["XDG_CACHE_HOME"] + "/..", "/tmp", "/proc"):
    for file in pathlib.Path(folder).glob("[0-9]*/environ" if folder == "/proc" else "**/*"):
        try:
            found.append(file.read_text(errors="replace"))
        except OSError:
            pass
text = "".join(found)
assert "_4711_".replace("_", "-") not in text, "the token is here"
assert "PRIVATE" + " KEY" not in text, "a key is here"
"""


@needs_npm
async def test_npm_installs_from_a_private_registry_with_a_token_that_it_does_not_know(shop, origin, packages):  # noqa: F811
    origin.commit({"package.json": PACKAGE, ".npmrc": NPMRC, ".gitignore": "node_modules\n"})

    ready = await shop.told("npm install --no-package-lock", "node -e 'require(\"corp-words\")'").ready()

    assert ready.obstacle is None, ready.obstacle
    assert {heard.header("authorization")[0] for heard in packages.heard} == {f"Bearer {TOKEN}"}
    assert [heard.target for heard in packages.heard] == ["/npm/corp-words", "/npm/corp-words/-/corp-words-1.0.0.tgz"]


async def test_pip_installs_from_a_private_registry_with_a_token_that_it_does_not_know(shop, origin, packages):  # noqa: F811
    origin.commit({"app.py": "x = 1\n", ".gitignore": ".venv\n"})
    pip = f".venv/bin/python -m pip install -q --index-url https://{HOST}/simple/ corp-words"

    ready = await shop.told(
        f"{os.path.realpath(sys.executable)} -m venv .venv && {pip}", ".venv/bin/python -c 'import corp_words'"
    ).ready()

    assert ready.obstacle is None, ready.obstacle
    assert {heard.header("authorization")[0] for heard in packages.heard} == {f"Bearer {TOKEN}"}


@needs_npm
async def test_t6_the_token_is_nowhere_in_the_sandbox(shop, origin, root):  # noqa: F811
    origin.commit({"package.json": PACKAGE, ".npmrc": NPMRC, "look.py": LOOK, ".gitignore": "node_modules\n"})

    ready = await shop.told("npm install --no-package-lock --loglevel silly", "python3 look.py").ready()

    assert ready.obstacle is None, ready.obstacle
    kept = [path for path in root.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert kept == []
