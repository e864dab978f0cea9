"""A person's changes in a worktree become a commit; a planning agent's changes are undone."""

from tests.workspace.conftest import run_git

BRANCH = "treehand/shop-1"
GIVEN = {"message": "Changes by ana\n\nshop#1\n\nCo-authored-by: ana <ana@example.org>", "at": 1_700_000_500.7}


async def test_edits_and_commits_made_by_hand_become_one_commit_with_their_diff(workspaces, origin, mirror):
    space = await workspaces.ensure(BRANCH, base="main", remote=origin.remote)
    run_git(space.path, "rm", "-q", "README.md")
    run_git(space.path, "commit", "-q", "-m", "by hand")
    (space.path / "src" / "app.py").write_text("print(2)\n")

    diff = (await workspaces.take_back(BRANCH, **GIVEN)).diff

    assert "+print(2)" in diff
    assert "-hello" in diff
    assert run_git(mirror, "log", "--format=%B", f"{space.head}..{BRANCH}").strip() == GIVEN["message"]
    assert run_git(mirror, "rev-parse", f"{BRANCH}^") == space.head
    assert run_git(space.path, "status", "--porcelain") == ""


async def test_a_repeated_take_back_returns_the_same_and_commits_nothing(workspaces, origin, mirror):
    space = await workspaces.ensure(BRANCH, base="main", remote=origin.remote)
    (space.path / "README.md").write_text("by hand\n")
    first = await workspaces.take_back(BRANCH, **GIVEN)
    tip = run_git(mirror, "rev-parse", BRANCH)
    (space.path / "README.md").write_text("by the agent, whose turn then failed\n")

    assert await workspaces.take_back(BRANCH, **GIVEN) == first
    assert run_git(mirror, "rev-parse", BRANCH) == tip
    change = await workspaces.capture(BRANCH, message="agent", at=1_700_001_000)
    assert change.before == tip


async def test_take_back_without_changes_gives_no_commit_and_no_diff(workspaces, origin, mirror):
    space = await workspaces.ensure(BRANCH, base="main", remote=origin.remote)
    assert (await workspaces.take_back(BRANCH, **GIVEN)).diff == ""
    assert run_git(mirror, "rev-parse", BRANCH) == space.head


async def test_changes_of_a_planning_agent_are_salvaged_and_removed(workspaces, origin, mirror):
    space = await workspaces.ensure(BRANCH, base="main", remote=origin.remote)
    (space.path / "README.md").write_text("meddled\n")
    (space.path / "new.txt").write_text("meddled\n")

    ref = await workspaces.put_back(BRANCH)

    assert run_git(mirror, "show", f"{ref}:new.txt") == "meddled"
    assert not (space.path / "new.txt").exists()
    assert run_git(space.path, "status", "--porcelain") == ""
    again = await workspaces.ensure(BRANCH, base="main", remote=origin.remote)
    assert again.head == space.head
    assert (again.path / "README.md").read_text() == "hello\n"
    assert not (again.path / "new.txt").exists()


async def test_an_unchanged_worktree_keeps_its_ignored_files(workspaces, origin):
    space = await workspaces.ensure(BRANCH, base="main", remote=origin.remote)
    (space.path / "build").mkdir()
    (space.path / "build" / "cache").write_text("ignored by git")
    assert await workspaces.put_back(BRANCH) == ""
    assert (space.path / "build" / "cache").exists()


async def test_unpublished_commits_stay_on_the_branch_when_a_plan_is_put_back(workspaces, origin, mirror):
    space = await workspaces.ensure(BRANCH, base="main", remote=origin.remote)
    (space.path / "README.md").write_text("first turn\n")
    change = await workspaces.capture(BRANCH, message="one", at=1_700_000_000)
    (space.path / "README.md").write_text("meddled\n")
    await workspaces.put_back(BRANCH)
    assert run_git(mirror, "rev-parse", BRANCH) == change.head


async def test_the_folder_named_to_people_is_the_worktree(workspaces, origin):
    space = await workspaces.ensure(BRANCH, base="main", remote=origin.remote)
    assert workspaces.folder(BRANCH) == space.path


async def test_files_in_an_agents_git_directory_do_not_affect_the_person(workspaces, origin, root, tmp_path):
    space = await workspaces.ensure(BRANCH, base="main", remote=origin.remote)
    shadow, trap = root / "shadows" / "shop" / "shop-1", tmp_path / "sprung"
    for hook in ("pre-commit", "post-commit"):
        (shadow / "hooks" / hook).write_text(f"#!/bin/sh\ntouch {trap}\n")
        (shadow / "hooks" / hook).chmod(0o755)
    run_git(space.path, "config", "core.fsmonitor", f"touch {trap}")
    (space.path / "README.md").write_text("work of the agent\n")

    await workspaces.disarm(BRANCH)

    assert run_git(space.path, "status", "--porcelain") == "M README.md"
    run_git(space.path, "commit", "-q", "-a", "-m", "by hand")
    assert not trap.exists()
    assert "+work of the agent" in (await workspaces.take_back(BRANCH, **GIVEN)).diff
