"""Merging the base and the commits of others into our branch loses no work."""

import pytest

from bot.errors import NeedsHuman, NeedsTurn
from bot.workspace.workspaces import GitWorkspaces
from tests.workspace.conftest import capture_as_it_is, run_git

BRANCH = "treehand/shop-1"


@pytest.fixture
def take(workspaces, origin):
    async def ensure(merge: str = "main", among: GitWorkspaces = workspaces):
        return await among.ensure(BRANCH, base="", remote=origin.remote, merge=merge)

    return ensure


@pytest.fixture
def work(workspaces, origin):
    """Runs a turn that writes files."""

    async def turn(files: dict[str, str | bytes], at: float = 1000):
        workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
        for name, content in files.items():
            (workspace.path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return await workspaces.capture(BRANCH, message="Work", at=at)

    return turn


@pytest.fixture
async def conflict(work, origin, take):
    """Both sides changed the same line; the base also added a file."""
    ours = (await work({"src/app.py": "print('ours')\n", "mine.py": "x\n"})).head
    theirs = origin.commit({"src/app.py": "print('theirs')\n", "news.py": "y\n"})
    return ours, theirs, await take()


def parents(mirror, commit):
    return run_git(mirror, "rev-parse", f"{commit}^@").split()


async def test_a_merge_without_conflicts_is_committed_at_once(work, take, origin, mirror):
    ours = (await work({"mine.py": "x\n"})).head
    theirs = origin.commit({"news.py": "y\n"})
    workspace = await take()

    assert parents(mirror, workspace.head) == [ours, theirs]
    assert workspace.conflicts == ()
    assert workspace.base == theirs
    assert {path.name for path in workspace.path.iterdir()} >= {"mine.py", "news.py"}
    assert run_git(workspace.path, "status", "--porcelain") == ""
    assert await take() == workspace


async def test_a_merge_repeated_after_a_kill_gives_the_same_commit(work, take, origin, mirror, root):
    ours = (await work({"mine.py": "x\n"})).head
    origin.commit({"news.py": "y\n"})
    first = await take()
    (mirror / "worktrees" / "shop-1" / "treehand").unlink()
    run_git(mirror, "update-ref", f"refs/heads/{BRANCH}", ours)

    assert (await take(among=GitWorkspaces(root, "shop"))).head == first.head


async def test_a_base_that_is_already_merged_changes_nothing(work, take):
    head = (await work({"mine.py": "x\n"})).head
    assert (await take()).head == head


async def test_a_missing_base_is_reported(work, take):
    await work({"mine.py": "x\n"})
    with pytest.raises(NeedsHuman, match="branch `gone` to merge no longer exists"):
        await take("gone")


async def test_a_change_leaves_out_files_that_came_from_the_base(work, take, origin):
    await work({"mine.py": "x\n"})
    origin.commit({"news.py": "y\n"})
    await take()
    change = await work({"more.py": "z\n"}, at=2000)
    assert {file.path for file in change.files} == {"mine.py", "more.py"}


async def test_a_conflict_is_shown_in_the_files_and_reported(conflict):
    ours, _, workspace = conflict
    text = (workspace.path / "src" / "app.py").read_text()
    assert text.startswith("<<<<<<< ")
    assert "ours" in text
    assert "theirs" in text
    assert (workspace.path / "news.py").exists()
    assert workspace.head == ours
    assert workspace.conflicts == ("CONFLICT (content): Merge conflict in src/app.py",)


async def test_the_resolved_merge_has_both_parents(conflict, workspaces, mirror, origin):
    ours, theirs, workspace = conflict
    (workspace.path / "src" / "app.py").write_text("print('both')\n")
    change = await workspaces.capture(BRANCH, message="Merge", at=2000)

    assert parents(mirror, change.head) == [ours, theirs]
    assert (change.before, change.base) == (ours, theirs)
    assert {file.path for file in change.files} == {"src/app.py", "mine.py"}
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert origin.tip(BRANCH) == change.head


async def test_a_repeated_capture_of_a_merge_returns_the_same_change(conflict, workspaces):
    (conflict[2].path / "src" / "app.py").write_text("print('both')\n")
    first = await workspaces.capture(BRANCH, message="Merge", at=2000)
    assert await workspaces.capture(BRANCH, message="Merge", at=2000) == first


async def test_a_merge_resolved_to_our_side_is_committed_as_a_merge(work, take, origin, workspaces, mirror):
    ours = (await work({"README.md": "ours\n"})).head
    theirs = origin.commit({"README.md": "theirs\n"})
    ((await take()).path / "README.md").write_text("ours\n")
    change = await workspaces.capture(BRANCH, message="Merge", at=2000)
    assert parents(mirror, change.head) == [ours, theirs]


async def test_remaining_conflict_markers_refuse_the_commit_and_name_the_file(conflict, workspaces, take):
    with pytest.raises(NeedsHuman, match=r"markers are left in `src/app.py`"):
        await workspaces.capture(BRANCH, message="Merge", at=2000)
    assert await take() == conflict[2]


async def test_a_file_that_contained_markers_before_may_keep_them(work, take, origin, workspaces):
    lines = "about\n<<<<<<< HEAD\n>>>>>>> other\n"
    origin.commit({"howto.md": lines})
    await work({"howto.md": f"ours\n{lines}"})
    origin.commit({"howto.md": f"theirs\n{lines}"})
    ((await take()).path / "howto.md").write_text(f"both\n{lines}")
    assert (await workspaces.capture(BRANCH, message="Merge", at=2000)).files


async def test_a_merge_that_the_agent_undid_is_refused(conflict, workspaces):
    _, _, workspace = conflict
    run_git(workspace.path, "reset", "-q", "--hard", BRANCH)
    with pytest.raises(NeedsHuman, match=r"contains none of main's changes to `news.py`"):
        await workspaces.capture(BRANCH, message="Merge", at=2000)


async def test_a_half_resolved_merge_is_continued_by_another_process(conflict, take, root):
    ours, _, workspace = conflict
    (workspace.path / "src" / "app.py").write_text("half\n")
    again = await take(merge="", among=GitWorkspaces(root, "shop"))
    assert again == workspace
    assert (again.path / "src" / "app.py").read_text() == "half\n"
    assert again.head == ours


async def test_a_newer_base_waits_while_a_conflict_is_resolved(conflict, take, origin, workspaces, mirror):
    later = origin.commit({"later.py": "z\n"})
    assert await take() == conflict[2]
    (conflict[2].path / "src" / "app.py").write_text("both\n")
    change = await workspaces.capture(BRANCH, message="Merge", at=2000)
    assert parents(mirror, (await take()).head) == [change.head, later]


async def test_a_worktree_lost_during_a_merge_is_restored_with_its_conflicts(conflict, take):
    _, _, workspace = conflict
    workspace.path.rename(workspace.path.with_name("gone"))
    again = await take(merge="")
    assert again == workspace
    assert "<<<<<<<" in (again.path / "src" / "app.py").read_text()


async def test_a_worktree_half_made_for_a_merge_is_made_again(conflict, take, mirror):
    (mirror / "worktrees" / "shop-1" / "treehand").unlink()
    (conflict[2].path / "news.py").unlink()
    again = await take()
    assert again == conflict[2]
    assert (again.path / "news.py").exists()


async def test_uncommitted_work_is_kept_by_a_merge(work, take, origin, mirror):
    head = (await work({"mine.py": "x\n"})).head
    ((await take("")).path / "half.py").write_text("unfinished\n")
    theirs = origin.commit({"news.py": "y\n"})
    workspace = await take()

    assert (workspace.path / "half.py").read_text() == "unfinished\n"
    leftovers, merged = parents(mirror, workspace.head)
    assert (merged, parents(mirror, leftovers)) == (theirs, [head])


async def test_a_file_deleted_by_one_side_is_reported_and_kept(work, take, origin, workspaces):
    workspace = await take("")
    (workspace.path / "README.md").unlink()
    await workspaces.capture(BRANCH, message="Work", at=1000)
    origin.commit({"README.md": "changed\n"})
    workspace = await take()
    [said] = workspace.conflicts
    assert f"README.md deleted in `{BRANCH}` and modified in `main`." in said
    assert (workspace.path / "README.md").read_text() == "changed\n"
    assert (await workspaces.capture(BRANCH, message="Merge", at=2000)).head != workspace.head


async def test_a_binary_file_changed_by_both_sides_is_reported_and_stays_ours(take, work, origin):
    origin.commit({"logo.png": b"\0base"})
    await work({"logo.png": b"\0ours"})
    origin.commit({"logo.png": b"\0theirs"})
    workspace = await take()
    assert any("Cannot merge binary files: logo.png" in said for said in workspace.conflicts)
    assert (workspace.path / "logo.png").read_bytes() == b"\0ours"


async def test_a_file_renamed_by_both_sides_is_reported(take, origin, workspaces):
    origin.commit({"old.txt": "line\n" * 30})
    workspace = await take("")
    (workspace.path / "old.txt").rename(workspace.path / "ours.txt")
    await workspaces.capture(BRANCH, message="Work", at=1000)
    run_git(origin.clone, "mv", "old.txt", "theirs.txt")
    origin.push()
    workspace = await take()
    assert "CONFLICT (rename/rename)" in " ".join(workspace.conflicts)
    assert {"ours.txt", "theirs.txt"} <= {path.name for path in workspace.path.iterdir()}


async def test_file_names_that_are_no_text_survive_a_conflict(take, work, origin, workspaces):
    name = b"caf\xe9.txt".decode(errors="surrogateescape")
    origin.commit({name: "before\n"})
    await work({name: "ours\n"})
    origin.commit({name: "theirs\n"})
    workspace = await take()
    with pytest.raises(NeedsHuman, match="caf"):
        await workspaces.capture(BRANCH, message="Merge", at=2000)
    (workspace.path / name).write_text("both\n")
    assert (await capture_as_it_is(workspaces, BRANCH, message="Merge", at=2000)).files


async def test_branches_without_a_common_commit_need_a_person(take, work, origin):
    await work({"mine.py": "x\n"})
    run_git(origin.clone, "checkout", "-q", "--orphan", "other")
    (origin.clone / "other.txt").write_text("x\n")
    run_git(origin.clone, "add", "-A")
    origin.push("other")
    with pytest.raises(NeedsHuman, match="no commit in common"):
        await take("other")


# Commits that others push to our branch


async def test_a_commit_pushed_while_the_agent_works_is_merged_with_its_work(work, take, origin, workspaces, mirror):
    await work({"mine.py": "x\n"})
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    theirs = origin.commit({"theirs.py": "y\n"}, branch=BRANCH)
    workspace = await take("")
    (workspace.path / "half.py").write_text("unfinished\n")
    theirs = origin.commit({"more.py": "y\n"}, branch=BRANCH)
    workspace = await take("")
    assert (workspace.path / "half.py").exists()
    ours = (await workspaces.capture(BRANCH, message="Work", at=2000)).head
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)

    assert parents(mirror, origin.tip(BRANCH)) == [ours, theirs]
    workspace = await take("")
    assert workspace.head == origin.tip(BRANCH)
    assert {"mine.py", "theirs.py", "more.py", "half.py"} <= {path.name for path in workspace.path.iterdir()}


async def test_a_conflict_with_pushed_commits_is_resolved_in_a_turn(work, take, origin, workspaces, mirror):
    await work({"mine.py": "x\n"})
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    folder = (await take("")).path
    theirs = origin.commit({"mine.py": "theirs\n"}, branch=BRANCH)
    (folder / "mine.py").write_text("ours\n")
    ours = (await workspaces.capture(BRANCH, message="Work", at=2000)).head
    with pytest.raises(NeedsTurn, match="Both are kept"):
        await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert origin.tip(BRANCH) == theirs

    workspace = await take("")
    assert workspace.conflicts == ("CONFLICT (content): Merge conflict in mine.py",)
    (workspace.path / "mine.py").write_text("both\n")
    merged = (await workspaces.capture(BRANCH, message="Merge", at=3000)).head
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert origin.tip(BRANCH) == merged
    assert parents(mirror, merged) == [ours, theirs]


async def test_a_branch_rewritten_by_people_is_used_as_they_left_it(work, take, origin, workspaces):
    await work({"mine.py": "x\n"})
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    newest = origin.commit({"news.py": "y\n"})
    run_git(origin.clone, "fetch", "-q")
    run_git(origin.clone, "checkout", "-q", "-B", "theirs", newest)
    run_git(origin.clone, "cherry-pick", f"origin/{BRANCH}")
    run_git(origin.clone, "push", "-q", "-f", "origin", f"HEAD:{BRANCH}")
    theirs = origin.tip(BRANCH)

    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert origin.tip(BRANCH) == theirs
    workspace = await take("")
    assert (workspace.head, workspace.base) == (theirs, newest)


async def test_a_base_merged_by_people_is_not_counted_as_our_change(work, take, origin, workspaces):
    await work({"mine.py": "x\n"})
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    newest = origin.commit({"news.py": "y\n"})
    run_git(origin.clone, "fetch", "-q")
    run_git(origin.clone, "checkout", "-q", "-B", "theirs", f"origin/{BRANCH}")
    run_git(origin.clone, "merge", "-q", "-m", "update", "origin/main")
    run_git(origin.clone, "push", "-q", "origin", f"HEAD:{BRANCH}")

    assert (await take("")).base == newest
