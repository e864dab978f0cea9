"""A process is killed before any of its git commands: the next process finishes the work, and nothing is lost."""

import asyncio
import os
import subprocess

from bot.git import command
from bot.workspace.workspaces import GitWorkspaces
from tests.workspace.conftest import run_git

BRANCH = "treehand/shop-1"
SALVAGE = "refs/treehand/salvage/shop-1/1"
KILLED = 9


class Mortal(subprocess.Popen):
    """Runs a git command; kills the process before the last one allowed."""

    left = 0

    def __init__(self, *args, **how):
        Mortal.left -= 1
        if Mortal.left < 0:
            os._exit(KILLED)
        super().__init__(*args, **how)


def die_after(commands: int, living) -> bool:
    """Returns True if the process ended by itself."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        assert code in {0, KILLED}
        return code == 0
    try:
        Mortal.left = commands
        command.subprocess.Popen = Mortal
        asyncio.run(living())
        os._exit(0)
    finally:
        os._exit(1)


def live_and_die(living) -> None:
    """Runs processes that are each killed one git command later, on the state that the one before left."""
    assert any(die_after(commands, living) for commands in range(200))


def salvaged(mirror) -> list[str]:
    return run_git(mirror, "for-each-ref", "--format=%(refname)", "refs/treehand/salvage").split()


async def begin_and_leave(root, origin) -> None:
    """Leaves an unpushed commit and an uncommitted file."""
    workspaces = GitWorkspaces(root, "shop")
    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (workspace.path / "mine.py").write_text("x\n")
    await workspaces.capture(BRANCH, message="Work", at=1000)
    (workspace.path / "half.py").write_text("unfinished\n")


def test_a_turn_survives_a_kill_before_any_git_command(root, origin, mirror):
    async def turn():
        workspaces = GitWorkspaces(root, "shop")
        workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
        (workspace.path / "mine.py").write_text("x\n")
        await workspaces.capture(BRANCH, message="Work", at=1000)
        await workspaces.ensure_pushed(BRANCH, remote=origin.remote)

    live_and_die(turn)
    assert origin.tip(BRANCH) == run_git(mirror, "rev-parse", BRANCH)
    assert run_git(origin.bare, "rev-list", "--count", f"main..{BRANCH}") == "1"


def test_the_end_of_a_run_with_salvage_survives_a_kill_before_any_git_command(root, origin, mirror):
    asyncio.run(begin_and_leave(root, origin))

    async def end():
        workspaces = GitWorkspaces(root, "shop")
        if ref := await workspaces.salvage(BRANCH):
            await workspaces.share(ref, remote=origin.remote)
        await workspaces.remove(BRANCH)

    live_and_die(end)
    assert run_git(origin.bare, "for-each-ref", "--format=%(refname)", "refs/treehand") == SALVAGE
    assert run_git(origin.bare, "show", f"{SALVAGE}:half.py") == "unfinished"
    assert salvaged(mirror) == [SALVAGE]
    assert not (root / "worktrees" / "shop").exists() or not any((root / "worktrees" / "shop").iterdir())


def test_a_sweep_survives_a_kill_before_any_git_command(root, origin, mirror):
    asyncio.run(begin_and_leave(root, origin))

    async def sweep():
        await GitWorkspaces(root, "shop").sweep([])

    live_and_die(sweep)
    assert salvaged(mirror) == [SALVAGE]
    assert run_git(mirror, "show", f"{SALVAGE}:half.py") == "unfinished"
    assert list((root / "worktrees" / "shop").iterdir()) == []
    assert asyncio.run(GitWorkspaces(root, "shop").list_removable([])) == []


def test_eviction_and_restore_survive_a_kill_before_any_git_command(root, origin, mirror):
    asyncio.run(begin_and_leave(root, origin))

    async def park():
        workspaces = GitWorkspaces(root, "shop", idle_seconds=0)
        await workspaces.evict(BRANCH)
        workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
        assert (workspace.path / "half.py").read_text() == "unfinished\n"

    live_and_die(park)
    assert salvaged(mirror) == [SALVAGE]


def test_rebuilding_a_mirror_survives_a_kill_before_any_git_command(root, origin, mirror):
    asyncio.run(begin_and_leave(root, origin))
    ours = run_git(mirror, "rev-parse", BRANCH)
    (mirror / "HEAD").write_text("garbage")

    async def mend():
        workspaces = GitWorkspaces(root, "shop")
        workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
        assert (workspace.path / "half.py").read_text() == "unfinished\n"
        await workspaces.ensure_pushed(BRANCH, remote=origin.remote)

    live_and_die(mend)
    assert origin.tip(BRANCH) == ours


def test_deleting_salvage_survives_a_kill_before_any_git_command(root, origin, mirror):
    async def keep():
        await begin_and_leave(root, origin)
        workspaces = GitWorkspaces(root, "shop")
        await workspaces.share(await workspaces.salvage(BRANCH), remote=origin.remote)
        await workspaces.salvage_store.restart_retention([SALVAGE], now=1000.0)

    asyncio.run(keep())

    async def let_go():
        salvage_store = GitWorkspaces(root, "shop").salvage_store
        for one in await salvage_store.list():
            await salvage_store.delete(one, remote=origin.remote)

    live_and_die(let_go)
    assert run_git(origin.bare, "for-each-ref", "refs/treehand") == ""
    assert salvaged(mirror) == []


def test_a_merge_with_conflicts_survives_a_kill_before_any_git_command(root, origin, mirror):
    async def begin():
        workspaces = GitWorkspaces(root, "shop")
        workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
        (workspace.path / "README.md").write_text("ours\n")
        await workspaces.capture(BRANCH, message="Work", at=1000)
        await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
        (workspace.path / "half.py").write_text("unfinished\n")

    asyncio.run(begin())
    theirs = origin.commit({"README.md": "theirs\n", "news.py": "x\n"})

    async def merge():
        workspaces = GitWorkspaces(root, "shop")
        workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote, merge="main")
        if workspace.conflicts:
            (workspace.path / "README.md").write_text("both\n")
        await workspaces.capture(BRANCH, message="Merge", at=2000)
        await workspaces.ensure_pushed(BRANCH, remote=origin.remote)

    live_and_die(merge)
    assert origin.tip(BRANCH) == run_git(mirror, "rev-parse", BRANCH)
    assert run_git(origin.bare, "rev-parse", f"{BRANCH}^2") == theirs
    assert run_git(origin.bare, "rev-list", "--count", f"main..{BRANCH}") == "3"
    assert run_git(origin.bare, "show", f"{BRANCH}:README.md") == "both"
    assert run_git(origin.bare, "show", f"{BRANCH}:half.py") == "unfinished"
    assert run_git(origin.bare, "show", f"{BRANCH}:news.py") == "x"


def test_a_push_merged_with_commits_of_others_survives_a_kill_before_any_git_command(root, origin, mirror):
    async def begin():
        workspaces = GitWorkspaces(root, "shop")
        workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
        (workspace.path / "mine.py").write_text("x\n")
        await workspaces.capture(BRANCH, message="Work", at=1000)

    asyncio.run(begin())
    ours = run_git(mirror, "rev-parse", BRANCH)
    theirs = origin.commit({"theirs.py": "y\n"}, branch=BRANCH)

    async def push():
        workspaces = GitWorkspaces(root, "shop")
        await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
        workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
        assert (workspace.path / "theirs.py").exists()
        assert await _is_clean(workspaces)

    live_and_die(push)
    assert set(run_git(origin.bare, "rev-parse", f"{BRANCH}^@").split()) == {ours, theirs}


def test_merging_the_base_survives_a_kill_before_any_git_command(root, origin, mirror):
    async def begin():
        workspaces = GitWorkspaces(root, "shop")
        workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
        (workspace.path / "mine.py").write_text("x\n")
        await workspaces.capture(BRANCH, message="Work", at=1000)

    asyncio.run(begin())
    theirs = origin.commit({"news.py": "y\n"})

    async def merge():
        workspaces = GitWorkspaces(root, "shop")
        workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote, merge="main")
        assert (workspace.path / "news.py").exists()
        assert await _is_clean(workspaces)

    live_and_die(merge)
    assert run_git(mirror, "rev-parse", f"{BRANCH}^2") == theirs
    assert run_git(mirror, "rev-list", "--count", f"origin/main..{BRANCH}") == "2"


async def _is_clean(workspaces: GitWorkspaces) -> bool:
    change = await workspaces.capture(BRANCH, message="Nothing", at=3000)
    return change.head == change.before
