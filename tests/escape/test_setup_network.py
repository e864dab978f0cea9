"""T8, T20: an agent's changes are set up without network unless a person approved exactly these changes."""

import io
import json
import shutil
import tarfile
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bot.domain.setup_plan import SetupResult
from bot.domain.verification import Verification
from bot.sandbox.bubblewrap import Bubblewrap, SandboxRules
from bot.setup.resources import SetupResources
from tests.setup.conftest import BRANCH, Shop, empty_origin, origin, root  # noqa: F401 - fixtures

HOST = "setup.invalid"
WAY_OUT = "Setup carries private code to a host that it may reach"
ASK = f"""\
import http.client
ask = http.client.HTTPConnection("127.0.0.1", 3128)
ask.request("CONNECT", "{HOST}:443", headers={{"Host": "{HOST}:443"}})
answer = str(ask.getresponse().status)
open("asked.log", "a").write(answer + "\\n")
"""
"""Asks the proxy for the host that setup may reach. 403: it was refused; 502: it was allowed, but has no address."""
SETUP = "{ test ! -e steps.py || python3 steps.py; } && { test ! -e hidden.py || python3 hidden.py; }"


class Asking(Shop):
    """A project whose setup tries to reach a host."""

    @property
    def resources(self) -> SetupResources:
        return replace(super().resources, setup_hosts=(HOST,))


@pytest.fixture
async def shop(origin, root) -> AsyncIterator[Asking]:  # noqa: F811
    shop = Asking(origin, root, Bubblewrap(root, {}, SandboxRules(setup_hosts=frozenset({HOST}))))
    origin.commit(
        {"package.json": "{}", "package-lock.json": "{}", "steps.py": "", ".gitignore": "hidden.py\nasked.log\n"}
    )
    yield shop.told(SETUP, verify=("cat asked.log",))


def write(shop: Shop, **files: str) -> None:
    for name, text in files.items():
        (shop.folder() / name.replace("_", ".")).write_text(text)


def asked(shop: Shop) -> str:
    log = shop.folder() / "asked.log"
    return log.read_text() if log.exists() else ""


async def verified(shop: Shop, *allowed: str) -> Verification:
    change = await shop.captured()
    found = await shop.project_setup.verify(
        await shop.worktree(), change, "run/turn-1", shop.events.append, tuple(allowed)
    )
    assert found
    return found


async def ready(shop: Shop, *allowed: str) -> SetupResult:
    return await shop.project_setup.ensure(await shop.worktree(), "run/turn-2", shop.events.append, tuple(allowed))


async def test_t8_merged_changes_are_set_up_with_network(shop):
    shop.origin.commit({"steps.py": ASK})
    assert not (await shop.ready()).obstacle
    assert asked(shop) == "502\n"


@pytest.mark.attack("T8", WAY_OUT + ": an agent changes a lock file and a program that setup runs")
async def test_t8_a_changed_lock_file_is_set_up_without_network(shop):
    await shop.ready()
    write(shop, **{"package-lock.json": "[]", "steps.py": ASK})
    found = await verified(shop)
    assert found.commands[0].output == "403"
    assert found.setup.endswith("again for the changed package-lock.json, without network")
    assert not (await ready(shop)).obstacle
    assert asked(shop) == "403\n"


@pytest.mark.attack("T8", WAY_OUT + ": setup of an unchanged lock file runs a program that an agent changed")
@pytest.mark.parametrize("how", ["evicted", "shed", "told anew"])
async def test_t8_an_agents_programs_do_not_run_when_setup_is_repeated_for_another_reason(shop, how):
    await shop.ready()
    write(shop, **{"steps.py": ASK, "hidden.py": ASK})
    if how == "evicted":
        assert await shop.workspaces.evict(BRANCH)
    elif how == "shed":
        (shop.folder() / "node_modules").mkdir()
        assert await shop.workspaces.drop_ignored(BRANCH)
    else:
        shop.told(f"true; {SETUP}")
    assert not (await ready(shop)).obstacle
    assert (shop.folder() / "steps.py").read_text() == ASK, "its work is there again"
    assert asked(shop) == ""
    assert not (shop.folder() / "hidden.py").exists()


@pytest.mark.attack("T20", "An agent poisons the shared downloads from a worktree that looks like the base")
async def test_t20_an_ignored_file_does_not_run_with_network_even_if_the_worktree_equals_the_base(shop):
    await shop.ready()
    write(shop, **{"hidden.py": ASK + 'import os\nopen(os.environ["XDG_CACHE_HOME"] + ".poison", "w")\n'})
    shop.told(f"true; {SETUP}")
    assert not (await ready(shop)).obstacle
    assert asked(shop) == ""
    assert not list(shop.resources.shared_cache.glob("*poison*"))


@pytest.mark.attack("T8", WAY_OUT + ": teardown runs a program that an agent changed")
async def test_t8_teardown_has_no_network(shop):
    shop.told(teardown=("python3 steps.py; cp asked.log $XDG_CACHE_HOME.log; cat asked.log; exit 1",))
    await shop.ready()
    write(shop, **{"steps.py": ASK})
    await shop.project_setup._run_teardown(BRANCH)
    assert asked(shop) == "403\n"


async def test_t8_an_approval_covers_setup_with_network_for_exactly_those_files(shop):
    await shop.ready()
    write(shop, **{"package-lock.json": "[]", "steps.py": f"{ASK}assert answer != '403', answer\n"})
    held = await verified(shop)
    assert held.commands == ()
    assert held.objection
    assert (held.objection.rule, held.objection.path) == ("setup", "package-lock.json")
    assert HOST in held.objection.detail
    allowed = await verified(shop, held.objection.id)
    assert (allowed.commands[0].output, allowed.objection) == ("502", None)
    assert allowed.setup.endswith("with network after a person's approval")
    assert not (await ready(shop, held.objection.id)).obstacle
    write(shop, **{"steps.py": f"{ASK}assert answer != '403', answer # and more\n"})
    changed = await verified(shop, held.objection.id)
    assert changed.objection
    assert changed.objection.id != held.objection.id


@pytest.mark.attack(
    "T8", WAY_OUT + ": an agent leaves a program in its downloads before a person approves another change"
)
async def test_t8_approved_setup_finds_no_downloads_of_work_that_nobody_approved(shop):
    """Tools run what they find there: configuration of cargo, scripts of Gradle, wheels of pip."""
    await shop.ready()
    plant = f"import os\nopen(os.environ['XDG_CACHE_HOME'] + '.py', 'w').write({ASK!r})\n"
    write(shop, **{"package-lock.json": "[]", "steps.py": plant})
    assert not (await ready(shop)).obstacle
    runs = "import os, runpy\nfound = os.environ['XDG_CACHE_HOME'] + '.py'\nif os.path.exists(found):\n    "
    write(
        shop, **{"package-lock.json": "[1]", "steps.py": f"{runs}runpy.run_path(found)\n{ASK}assert answer != '403'\n"}
    )
    held = await verified(shop)
    assert held.objection
    assert not (await ready(shop, held.objection.id)).obstacle
    assert asked(shop) == "502\n", "only the approved program has asked"


def packed(script: str) -> bytes:
    """Packs a package with an install script, like npm."""
    files = {"package/package.json": {"name": "left", "version": "1.0.0", "scripts": {"install": "node ask.js"}}}
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in {**{name: json.dumps(it) for name, it in files.items()}, "package/ask.js": script}.items():
            info = tarfile.TarInfo(name)
            info.size = len(content.encode())
            archive.addfile(info, io.BytesIO(content.encode()))
    return stream.getvalue()


ASK_BY_NODE = f"""
const request = require("http").request({{host: "127.0.0.1", port: 3128, method: "CONNECT", path: "{HOST}:443"}});
const log = (answer) => require("fs").appendFileSync(process.env.INIT_CWD + "/asked.log", answer + "\\n");
request.on("connect", (response) => {{ log(response.statusCode); process.exit(0); }});
request.on("error", (error) => {{ log(error.code); process.exit(0); }});
request.end();
"""


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not here")
@pytest.mark.attack("T8", WAY_OUT + ": an install script is hidden in a packed dependency")
async def test_t8_an_install_script_in_a_packed_dependency_has_no_network(shop):
    lock = {"name": "shop", "version": "1.0.0", "lockfileVersion": 3, "requires": True}
    own = {"name": "shop", "version": "1.0.0"}
    shop.origin.commit(
        {"package.json": json.dumps(own), "package-lock.json": json.dumps({**lock, "packages": {"": own}})}
    )
    shop.overrides = replace(shop.overrides, setup=())
    await shop.ready()
    (shop.folder() / "vendor").mkdir()
    (shop.folder() / "vendor" / "left-1.0.0.tgz").write_bytes(packed(ASK_BY_NODE))
    wanted = {**own, "dependencies": {"left": "file:vendor/left-1.0.0.tgz"}}
    left = {"version": "1.0.0", "resolved": "file:vendor/left-1.0.0.tgz", "hasInstallScript": True}
    locked = {**lock, "packages": {"": wanted, "node_modules/left": left}}
    write(shop, **{"package.json": json.dumps(wanted), "package-lock.json": json.dumps(locked)})
    assert not (await ready(shop)).obstacle
    assert asked(shop) == "403\n"
