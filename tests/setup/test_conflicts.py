"""Setup while conflicts are pending: the usual ones, between agents that work in parallel, are in manifests."""

import json

from bot.domain.turn import Workspace
from tests.setup.conftest import BRANCH, Shop


def manifest(version: str, **scripts: str) -> str:
    return json.dumps({"name": "shop", "version": version, "scripts": scripts}, indent=2) + "\n"


async def merge(shop: Shop) -> Workspace:
    return await shop.workspaces.ensure(BRANCH, base="main", remote=shop.origin.remote, merge="main")


async def conflicting(shop: Shop, base: dict[str, str], ours: dict[str, str], theirs: dict[str, str]) -> Workspace:
    """An agent has changed one thing, and people another."""
    shop.origin.commit(base)
    assert (await shop.ready()).obstacle is None
    for name, content in ours.items():
        (shop.folder() / name).write_text(content)
    await shop.captured()
    shop.origin.commit(theirs)
    return await merge(shop)


async def test_a_conflict_in_a_manifest_reaches_the_agent_and_nobody_else(shop):
    workspace = await conflicting(
        shop,
        {"package.json": manifest("1.0.0"), ".gitignore": "node_modules\n"},
        {"package.json": manifest("1.1.0")},
        {"package.json": manifest("2.0.0", prepare="mkdir -p node_modules && date > node_modules/made")},
    )
    assert workspace.conflicts
    ready = await shop.project_setup.ensure(workspace, "run/turn-2", shop.events.append)
    assert ready.obstacle is None
    assert "<<<<<<< " in (shop.folder() / "package.json").read_text()

    (shop.folder() / "package.json").write_text(manifest("2.1.0", prepare="date > node_modules/made"))
    await shop.captured()
    settled = await shop.project_setup.ensure(await shop.worktree(), "run/turn-3", shop.events.append)
    assert settled.obstacle is None
    assert (shop.folder() / "node_modules" / "made").exists(), "setup is repeated when the conflict is resolved"


async def test_a_conflict_in_a_file_that_setup_only_imports_stops_nothing(shop):
    shop.told("python3 tea.py && date > build.log")
    workspace = await conflicting(
        shop, {"tea.py": "A = 1\n", ".gitignore": "build.log\n"}, {"tea.py": "A = 2\n"}, {"tea.py": "A = 3\n"}
    )
    assert workspace.conflicts
    assert (await shop.project_setup.ensure(workspace, "run/turn-2", shop.events.append)).obstacle is None


async def test_a_base_that_cannot_be_set_up_is_still_an_obstacle(shop):
    workspace = await conflicting(
        shop,
        {"package.json": manifest("1.0.0")},
        {"package.json": manifest("1.1.0")},
        {"package.json": manifest("2.0.0", prepare="exit 3")},
    )
    assert workspace.conflicts
    ready = await shop.project_setup.ensure(workspace, "run/turn-2", shop.events.append)
    assert ready.obstacle is not None
    assert "exit code 3" in ready.obstacle.problem
