"""Pooled worktrees: a taken one equals a new one, also after a crash, and no run waits for the pool."""

import asyncio
import os
import re
import shutil
import socket
import stat
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bot.domain.remote import Remote
from bot.git import command as room
from bot.maintenance.fill_pools import PoolFiller, ProjectPool
from bot.system.disk import Disk
from bot.workspace.paths import ProjectPaths, read_pool_error
from bot.workspace.workspaces import GitWorkspaces
from tests.setup.conftest import BRANCH, Shop
from tests.workspace.conftest import run_git

OTHER = "treehand/shop-2"
KILLED = 9
SETUP = """\
set -e
mkdir -p build/bin node_modules/.bin build/empty
printf '#!%s/build/bin/python\\n' "$PWD" > build/bin/tool && chmod 755 build/bin/tool
ln -s "$PWD/build/bin/tool" node_modules/.bin/tool && ln -s ../nowhere build/dangling
cat lock.txt > node_modules/lock && chmod 600 node_modules/lock
echo "$PORT $COMPOSE_PROJECT_NAME" > build/names
echo made > generated.txt && echo print2 >> src/app.py && rm README.md
git config core.hooksPath build/hooks && git tag mine && git status -s > build/seen
"""


@dataclass
class Forge:
    where: Remote

    async def remote(self) -> Remote:
        return self.where


@dataclass
class NoProject:
    forge: Forge
    name: str = "shop"


def git_in(folder: Path, *args: str) -> str:
    """Runs git as the agent, who owns the files."""
    return run_git(folder, "-c", "safe.directory=*", *args)


def pools_of(shop: Shop, size: int = 1, *, least_gb: float = 0.0) -> PoolFiller:
    forge = NoProject(Forge(shop.origin.remote))
    one = ProjectPool(forge, size, "main", shop.workspaces, shop.project_setup)  # type: ignore[arg-type]
    return PoolFiller(shop.root, {"shop": one}, Disk(shop.origin.clone, least_gb))


def waiting(shop: Shop) -> list[str]:
    return [one.name for one in shop.workspaces.pool.ready()]


async def look_anew(pools: PoolFiller) -> None:
    """Advances the clock by a minute and fills the pool."""
    for one in pools.projects.values():
        one.checked_at = 0.0
    await pools.fill()


def admin_of(shop: Shop, branch: str = BRANCH) -> Path:
    return ProjectPaths(shop.root, "shop").for_branch(branch).admin


def everything(top: Path) -> dict[str, tuple[object, ...]]:
    """Returns kind, mode and content of all files; git's files that contain times are compared by their meaning."""
    found = {}
    for folder, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = Path(folder, name)
            mode = path.lstat().st_mode
            content = str(path.readlink()) if stat.S_ISLNK(mode) else path.read_bytes() if stat.S_ISREG(mode) else b""
            if name == "index":
                content = run_git(path.parent, "--git-dir=.", "--work-tree=.", "ls-files", "--stage")
            elif "logs" in path.parts:
                content = re.sub(rb"> \d+", b">", content)
            found[str(path.relative_to(top))] = (mode, content)
    return found


def all_of(shop: Shop, branch: str = BRANCH) -> list[dict[str, tuple[object, ...]]]:
    place = ProjectPaths(shop.root, "shop").for_branch(branch)
    return [everything(one) for one in (place.folder, place.shadow, place.agent_git, place.admin)]


async def test_a_taken_worktree_is_byte_for_byte_like_a_new_one_in_its_place(shop):
    shop.told(SETUP, copy_from=shop.origin.clone)
    shop.origin.commit({"lock.txt": "one\n", ".gitignore": "build/\nnode_modules/\n.env\n"})
    (shop.origin.clone / ".env").write_text("API_TOKEN=of-the-taker-alone\n")
    await pools_of(shop).fill()
    (name,) = waiting(shop)
    assert not (shop.root / "worktrees" / "shop" / name / ".env").exists()
    taken = await shop.ready()
    assert (shop.folder().name, waiting(shop)) == (name, [])
    assert not shop.events, "nothing was set up again"
    was, places = all_of(shop), ProjectPaths(shop.root, "shop")
    note = places.for_branch(BRANCH).taken.read_text()
    assert set(was[0]) >= {".env", "build/bin/tool", "generated.txt", "build/dangling"}
    await shop.project_setup.tear_down(BRANCH)
    await shop.workspaces.remove(BRANCH)
    assert not places.for_branch(BRANCH).taken.exists()
    places.taken.joinpath("shop-1").write_text(note)
    fresh = await shop.ready()
    assert shop.events, "this one was set up"
    for one, other in zip(all_of(shop), was, strict=True):
        assert {name: what for name, what in one.items() if other.get(name) != what} == {}
        assert one.keys() == other.keys()
    assert (taken.environment, taken.done) == (fresh.environment, fresh.done)


async def test_only_changes_of_the_agent_in_a_taken_worktree_are_committed(shop):
    shop.told(SETUP)
    shop.origin.commit({"lock.txt": "one\n", ".gitignore": "build/\nnode_modules/\n"})
    await pools_of(shop).fill()
    await shop.ready()
    (shop.folder() / "mine.py").write_text("x\n")
    change = await shop.captured()
    assert [one.path for one in change.files] == ["mine.py"]
    assert (
        run_git(
            shop.root / "mirrors" / "shop.git",
            "for-each-ref",
            "refs/heads/treehand/ready.*",
            "refs/treehand/base/treehand/ready.*",
        )
        == ""
    )
    assert git_in(shop.folder(), "branch", "--show-current") == BRANCH


async def test_two_runs_that_start_at_once_take_two_worktrees(shop):
    shop.told("mkdir build")
    await pools_of(shop, 2).fill()
    names = set(waiting(shop))
    await asyncio.gather(*(shop.worktree(branch) for branch in (BRANCH, OTHER, "treehand/shop-3")))
    assert {shop.folder(BRANCH).name, shop.folder(OTHER).name, shop.folder("treehand/shop-3").name} > names
    assert len({shop.folder(branch) for branch in (BRANCH, OTHER, "treehand/shop-3")}) == 3


async def test_a_run_keeps_its_folder_after_its_worktree_was_evicted(shop):
    await pools_of(shop).fill()
    before = (await shop.worktree()).path
    (before / "mine.py").write_text("x\n")
    assert await shop.workspaces.evict(BRANCH)
    assert not before.exists()
    assert (await shop.worktree()).path == before
    assert (before / "mine.py").read_text() == "x\n"


async def test_a_finished_run_leaves_no_files_and_pooled_worktrees_stay(shop):
    await pools_of(shop, 2).fill()
    await shop.worktree()
    await shop.workspaces.sweep([BRANCH])
    assert shop.folder().is_dir()
    await shop.workspaces.sweep([])
    (left,) = waiting(shop)
    here = [path.name for room in ("worktrees", "shadows") for path in (shop.root / room / "shop").iterdir()]
    assert sorted(here) == [left, left, f"{left}~agent"]
    assert list(ProjectPaths(shop.root, "shop").taken.iterdir()) == []


async def test_changed_files_of_the_base_are_updated_without_another_setup(shop):
    shop.told("mkdir -p build; date +%N > build/once")
    shop.overrides = type(shop.overrides)()
    shop.origin.commit(
        {
            "package.json": '{"scripts": {}}',
            "package-lock.json": LOCK,
            "old/gone.py": "1\n",
            ".gitignore": "node_modules/\n",
        }
    )
    pools = pools_of(shop)
    await pools.fill()
    (name,) = waiting(shop)
    folder = shop.root / "worktrees" / "shop" / name
    (folder / "node_modules").mkdir(exist_ok=True)
    (folder / "node_modules" / "stamp").write_text("of the first setup")
    run_git(shop.origin.clone, "rm", "-q", "old/gone.py")
    (shop.origin.clone / "run.sh").write_text("#!/bin/sh\n")
    (shop.origin.clone / "run.sh").chmod(0o755)
    commit = shop.origin.commit({"src/app.py": "print(2)\n", "new/deep/file.txt": "new\n"})
    await look_anew(pools)
    assert waiting(shop) == [name]
    workspace = await shop.worktree()
    assert (workspace.path, workspace.base) == (folder, commit)
    assert (folder / "src" / "app.py").read_text() == "print(2)\n"
    assert stat.S_IMODE((folder / "run.sh").stat().st_mode) & 0o111
    assert (folder / "new" / "deep" / "file.txt").exists()
    assert not (folder / "old").exists()
    assert (folder / "node_modules" / "stamp").exists()
    assert git_in(folder, "status", "--porcelain") == ""
    assert (await shop.captured()).files == ()


LOCK = '{"name": "shop", "lockfileVersion": 3, "packages": {"": {"name": "shop"}}}'


@pytest.mark.parametrize(
    "moved",
    [{"package-lock.json": LOCK + "\n"}, {".gitignore": "node_modules/\nnew/\n"}],
    ids=["a lock", "what is ignored"],
)
async def test_a_pooled_worktree_is_replaced_if_the_base_changed_more_than_files(shop, moved):
    shop.origin.commit({"package.json": '{"scripts": {}}', "package-lock.json": LOCK, ".gitignore": "node_modules/\n"})
    pools = pools_of(shop)
    await pools.fill()
    (first,) = waiting(shop)
    shop.origin.commit(moved)
    await look_anew(pools)
    (second,) = waiting(shop)
    assert second != first
    assert not (shop.root / "worktrees" / "shop" / first).exists()


async def test_a_pooled_worktree_with_unexpected_changes_is_replaced(shop):
    """An unknown process has written to it: the files differ from those of the commit."""
    pools = pools_of(shop)
    await pools.fill()
    (first,) = waiting(shop)
    (shop.root / "worktrees" / "shop" / first / "src" / "app.py").unlink()
    shop.origin.commit({"other.py": "print(2)\n"})
    await look_anew(pools)
    (second,) = waiting(shop)
    assert second != first


async def test_a_link_is_not_followed_when_files_are_updated(shop, tmp_path):
    pools, away = pools_of(shop), tmp_path / "away"
    await pools.fill()
    (first,) = waiting(shop)
    (shop.root / "worktrees" / "shop" / first / "src").rename(away)
    (shop.root / "worktrees" / "shop" / first / "src").symlink_to(away)
    shop.origin.commit({"src/app.py": "print(2)\n"})
    await look_anew(pools)
    assert (away / "app.py").read_text() == "print(1)\n"
    assert first not in waiting(shop)


async def test_a_pooled_worktree_is_replaced_if_the_inputs_of_setup_are_unknown(shop):
    pools = pools_of(shop.told("mkdir build"))
    await pools.fill()
    (first,) = waiting(shop)
    shop.origin.commit({"src/app.py": "print(2)\n"})
    await look_anew(pools)
    assert first not in waiting(shop)
    assert len(waiting(shop)) == 1


async def test_a_pooled_worktree_at_an_older_base_is_not_taken(shop):
    await pools_of(shop).fill()
    (name,) = waiting(shop)
    shop.origin.commit({"src/app.py": "print(2)\n"})
    assert (await shop.worktree()).path.name == "shop-1"
    assert waiting(shop) == [name]


async def test_filling_the_pool_stops_for_the_setup_of_a_run(shop):
    readiness = shop.told("touch begun; [ $COMPOSE_PROJECT_NAME = treehand-shop-1 ] || sleep 600").project_setup
    pools = pools_of(shop)
    pools.projects["shop"].readiness = readiness
    async with asyncio.TaskGroup() as group:
        filling = group.create_task(pools.fill())
        while not list((shop.root / "worktrees" / "shop").glob("ready.*/begun")):
            await asyncio.sleep(0.01)
        async with asyncio.timeout(20):
            ready = await readiness.ensure(await shop.worktree(), "run/turn-1", shop.events.append)
            await filling
    assert ready.obstacle is None
    assert (waiting(shop), list((shop.root / "worktrees" / "shop").glob("ready.*"))) == ([], [])
    assert read_pool_error(ProjectPaths(shop.root, "shop")) == ""


async def test_a_failed_setup_is_reported_and_not_retried_before_the_base_changes(shop, caplog):
    pools = pools_of(shop.told("echo tried >> ../tried; echo why; exit 3"))
    await pools.fill()
    await look_anew(pools)
    assert waiting(shop) == []
    assert caplog.text.count("pool filling failed project=shop: echo tried") == 1
    assert "ended with exit code 3" in read_pool_error(ProjectPaths(shop.root, "shop"))
    assert [path.name for path in (shop.root / "ports").iterdir()] == []
    shop.origin.commit({"src/app.py": "print(2)\n"})
    await look_anew(pools)
    assert caplog.text.count("pool filling failed") == 2


async def test_setup_that_commits_is_not_run_for_the_pool(shop):
    pools = pools_of(shop.told("git -c user.name=a -c user.email=a@b commit -q --allow-empty -m mine"))
    await pools.fill()
    assert waiting(shop) == []
    assert "commits, or changes branches" in read_pool_error(ProjectPaths(shop.root, "shop"))


async def test_a_file_made_by_setup_is_replaced_by_the_operators(shop):
    shop.told("echo TOKEN=example > .env", copy_from=shop.origin.clone)
    shop.origin.commit({".gitignore": ".env\n"})
    await pools_of(shop).fill()
    (shop.origin.clone / ".env").write_text("TOKEN=of-the-operator\n")
    await shop.ready()
    assert (shop.folder() / ".env").read_text() == "TOKEN=of-the-operator\n"


async def test_ports_of_a_pooled_worktree_that_are_in_use_are_replaced(shop):
    await pools_of(shop.told("true")).fill()
    (block,) = (shop.root / "ports").iterdir()
    with socket.socket() as somebody:
        somebody.bind(("127.0.0.1", int(block.name)))
        ready = await shop.ready()
    assert ready.environment["PORT"] != block.name


async def test_pooled_worktrees_need_free_disk_space_and_are_removed_to_free_it(shop):
    await pools_of(shop, least_gb=1e9).fill()
    assert waiting(shop) == []
    pools = pools_of(shop)
    await pools.fill()
    assert await pools.make_room() == ["shop: a worktree of the pool removed"]
    await pools.fill()
    assert waiting(shop) == [], "not at once again"
    assert list((shop.root / "worktrees" / "shop").iterdir()) == []


async def test_a_worktree_that_the_settings_no_longer_want_is_removed(shop):
    await pools_of(shop, 2).fill()
    await pools_of(shop, 1).fill()
    assert len(waiting(shop)) == 1
    await PoolFiller(shop.root, {}, Disk(shop.origin.clone, 0.0)).clear()
    assert waiting(shop) == []


async def test_f19_a_start_replaces_a_mirror_whose_making_was_interrupted(shop):
    mirror = ProjectPaths(shop.root, "shop").mirror
    shutil.rmtree(mirror, ignore_errors=True)
    mirror.mkdir(parents=True)
    (mirror / "HEAD").write_text("ref: refs/heads/treehand-none\n")
    await pools_of(replace(shop)).clear()
    assert (mirror / "objects").is_dir()


async def test_a_start_goes_on_if_the_pool_cannot_be_cleared_now(shop, caplog):
    pool = shop.workspaces.pool
    await shop.workspaces.fetch(shop.origin.remote)
    made = pool.start(pool.base_tip("main"), "main")
    trash = shop.root / "trash"
    shutil.rmtree(trash, ignore_errors=True)
    trash.write_text("no folder")
    await pools_of(replace(shop)).clear()
    assert made.path.is_dir()
    assert "pool clearing postponed" in caplog.text
    trash.unlink()
    await pools_of(replace(shop)).clear()
    assert not made.path.exists()


async def test_a_taken_worktree_stays_with_its_run_if_the_pool_still_lists_it(shop):
    """The state after a crash right after taking."""
    await pools_of(shop).fill()
    (name,) = waiting(shop)
    workspace = await shop.worktree()
    (workspace.path / "mine.py").write_text("x\n")
    for where in ("refs/heads", "refs/treehand/base"):
        run_git(shop.root / "mirrors" / "shop.git", "update-ref", f"{where}/treehand/{name}", workspace.base)
    shop.workspaces = GitWorkspaces(shop.root, "shop")
    await pools_of(shop).clear()
    assert (await shop.worktree()).path == workspace.path
    assert (workspace.path / "mine.py").exists()
    assert run_git(shop.root / "mirrors" / "shop.git", "for-each-ref", f"refs/heads/treehand/{name}") == ""


async def test_an_unfinished_pooled_worktree_is_removed_and_never_taken(shop):
    workspaces = shop.workspaces
    await workspaces.fetch(shop.origin.remote)
    workspaces.pool.start(workspaces.pool.base_tip("main"), "main")
    shop.workspaces = GitWorkspaces(shop.root, "shop")
    assert (await shop.worktree()).path.name == "shop-1"
    await pools_of(shop, 0).clear()
    assert [path.name for path in (shop.root / "worktrees" / "shop").iterdir()] == ["shop-1"]
    assert [path.name for path in (shop.root / "mirrors" / "shop.git" / "worktrees").iterdir()] == ["shop-1"]


STEPS = ("rename", "replace", "unlink")


class Mortal(subprocess.Popen):
    """A git command; the process ends before the last step allowed."""

    left = 0

    @classmethod
    def step(cls) -> None:
        cls.left -= 1
        if cls.left < 0:
            os._exit(KILLED)

    @classmethod
    def before(cls, act):
        def mortal(*args, **how):
            cls.step()
            return act(*args, **how)

        return mortal

    def __init__(self, *args, **how):
        Mortal.step()
        super().__init__(*args, **how)


def lives_for(steps: int, living) -> bool:
    """Returns whether the process completed: git commands and renames count as steps."""
    child = os.fork()
    if child:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in {0, KILLED}
        return code == 0
    try:
        Mortal.left, room.subprocess.Popen = steps, Mortal
        for name in STEPS:
            setattr(os, name, Mortal.before(getattr(os, name)))
        asyncio.run(living())
        os._exit(0)
    finally:
        os._exit(1)


@pytest.mark.parametrize("branches", [[], [BRANCH], [BRANCH, OTHER]], ids=["none", "one", "two"])
def test_a_process_killed_while_making_or_taking_a_worktree_leaves_a_valid_pool(origin, root, branches):
    """It is killed before each of its steps in turn; the next process starts from there."""

    async def living() -> None:
        workspaces = GitWorkspaces(root, "shop")
        workspaces.pool.clear_unfinished()
        await workspaces.fetch(origin.remote)
        if not workspaces.pool.ready():
            made = workspaces.pool.start(commit := workspaces.pool.base_tip("main"), "main")
            (made.path / "half").write_text("a setup under way\n")
            (made.path / "half").unlink()
            assert workspaces.pool.finish(made.branch, commit)
        for one in branches:
            made = await workspaces.ensure(one, base="main", remote=origin.remote)
            assert not (made.path / "half").exists()
            assert run_git(made.path, "status", "--porcelain") == ""
            assert run_git(made.path, "branch", "--show-current") == one
            assert not (await workspaces.capture(one, message="m", at=1.0)).files

    assert any(lives_for(steps, living) for steps in range(400))
    workspaces = GitWorkspaces(root, "shop")
    workspaces.pool.clear_unfinished()
    used = [ProjectPaths(root, "shop").for_branch(branch).folder.name for branch in branches]
    waiting = [one.name for one in workspaces.pool.ready()]
    here = [path.name for path in (root / "worktrees" / "shop").iterdir()]
    assert sorted(here) == sorted([*used, *waiting])
    assert sorted(path.name for path in (root / "shadows" / "shop").iterdir() if "~" not in path.name) == sorted(here)
    assert sorted(path.name for path in (root / "mirrors" / "shop.git" / "worktrees").iterdir()) == sorted(here)
