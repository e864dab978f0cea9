"""The host runs nothing that an agent plants in its worktree or git directory, and reads nothing outside."""

import contextlib
import os
import shutil

import pytest

from bot.git.command import GitFailed, git
from tests.workspace.conftest import capture_as_it_is, run_git

BRANCH = "treehand/shop-1"


@pytest.fixture
async def workspace(workspaces, origin):
    return await workspaces.ensure(BRANCH, base="", remote=origin.remote)


@pytest.fixture
def canary(tmp_path):
    return tmp_path / "canary"


@pytest.fixture
def evil(tmp_path, canary):
    """An executable that only leaves a trace."""
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\necho ran >> {canary}\ncat\n")
    script.chmod(0o755)
    return script


def poison(git_dir, evil):
    """Adds every git setting that can run a program."""
    with (git_dir / "config").open("a") as config:
        config.write(
            f"[core]\n\tfsmonitor = {evil}\n\thooksPath = {git_dir}/hooks\n\tsshCommand = {evil}\n\tpager = {evil}\n"
            f'\teditor = {evil}\n\talternateRefsCommand = {evil}\n'
            f'[filter "evil"]\n\tclean = {evil}\n\tsmudge = {evil}\n'
            f'[diff]\n\texternal = {evil}\n[diff "evil"]\n\ttextconv = {evil}\n\tcommand = {evil}\n'
            f"[credential]\n\thelper = {evil}\n[gpg]\n\tprogram = {evil}\n[commit]\n\tgpgSign = true\n"
            f'[remote "origin"]\n\turl = ext::{evil}\n\tuploadpack = {evil}\n\treceivepack = {evil}\n'
            f"[uploadpack]\n\tpackObjectsHook = {evil}\n[include]\n\tpath = {git_dir}/more\n"
        )  # fmt: skip
    (git_dir / "hooks").mkdir(exist_ok=True)
    for hook in (
        "post-checkout",
        "pre-push",
        "pre-commit",
        "post-commit",
        "reference-transaction",
        "post-index-change",
    ):
        shutil.copy(evil, git_dir / "hooks" / hook)


def its_own_repository(workspace, root, evil):
    (workspace.path / ".git").unlink()
    run_git(workspace.path, "init", "-q")
    poison(workspace.path / ".git", evil)


def a_pointer_elsewhere(workspace, root, evil):
    elsewhere = root.parent / "elsewhere"
    run_git(root.parent, "init", "-q", "--bare", str(elsewhere))
    poison(elsewhere, evil)
    (workspace.path / ".git").write_text(f"gitdir: {elsewhere}\n")


def a_link_for_a_pointer(workspace, root, evil):
    a_pointer_elsewhere(workspace, root, evil)
    (workspace.path / ".git").unlink()
    (workspace.path / ".git").symlink_to(root.parent / "elsewhere")


def a_pipe_for_a_pointer(workspace, root, evil):
    (workspace.path / ".git").unlink()
    os.mkfifo(workspace.path / ".git")


def a_nested_repository(workspace, root, evil):
    inner = workspace.path / "inner"
    inner.mkdir()
    run_git(inner, "init", "-q")
    run_git(inner, "commit", "-q", "--allow-empty", "-m", "x")
    poison(inner / ".git", evil)
    (inner / ".gitattributes").write_text("* filter=evil diff=evil\n")


def a_poisoned_git_directory(workspace, root, evil):
    shadow = root / "shadows" / "shop" / "shop-1"
    poison(shadow, evil)
    (shadow / "commondir").write_text(str(root.parent / "elsewhere"))
    (shadow / "HEAD").write_text("ref: refs/heads/main\n")
    (workspace.path / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")


def submodules_with_commands(workspace, root, evil):
    (workspace.path / ".gitmodules").write_text(
        f'[submodule "x"]\n\tpath = x\n\turl = ext::{evil}\n\tupdate = !{evil}\n'
    )


def programs_named_git(workspace, root, evil):
    for name in ("git", "ssh", "sh"):
        shutil.copy(evil, workspace.path / name)


ATTACKS = [
    its_own_repository, a_pointer_elsewhere, a_link_for_a_pointer, a_pipe_for_a_pointer, a_nested_repository,
    a_poisoned_git_directory, submodules_with_commands, programs_named_git,
]  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
async def test_nothing_that_an_agent_plants_is_ever_run(
    attack, workspace, workspaces, origin, root, evil, canary, mirror
):
    attack(workspace, root, evil)
    (workspace.path / "src" / "app.py").write_text("print(2)\n")

    change = await capture_as_it_is(workspaces, BRANCH, message="m", at=1000)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (workspace.path / "src" / "app.py").write_text("print(3)\n")
    assert (workspace.path / ".git").read_text() == f"gitdir: {root / 'shadows' / 'shop' / 'shop-1'}\n"
    await workspaces.salvage(BRANCH)
    await workspaces.pack_mirror()
    await workspaces.remove(BRANCH)
    await workspaces.sweep(set())

    assert "src/app.py" in {file.path for file in change.files}
    assert origin.tip(BRANCH) == change.head
    assert origin.tip("main") == workspace.base
    assert not canary.exists()
    permitted = ("-c", "fsck.gitmodulesUpdate=ignore", "-c", "fsck.gitmodulesUrl=ignore")
    assert run_git(mirror, *permitted, "fsck", "--strict") == ""


async def test_the_git_directory_of_the_next_turn_contains_nothing_of_the_last(
    workspace, workspaces, root, evil, canary
):
    a_poisoned_git_directory(workspace, root, evil)
    (workspace.path / ".gitattributes").unlink()
    (workspace.path / "new.py").write_text("x")
    await workspaces.capture(BRANCH, message="m", at=1000)
    assert run_git(workspace.path, "status", "--porcelain") == ""
    assert not canary.exists()


async def test_a_worktree_replaced_by_a_link_is_neither_read_nor_emptied(workspace, workspaces, tmp_path, mirror):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("canary")
    shutil.rmtree(workspace.path)
    workspace.path.symlink_to(secret)

    assert await workspaces.salvage(BRANCH) == ""
    await workspaces.remove(BRANCH)

    assert (secret / "key").read_text() == "canary"
    assert "canary" not in run_git(mirror, "cat-file", "--batch-all-objects", "--batch")


async def test_links_are_committed_as_links_and_never_followed(workspace, workspaces, tmp_path, mirror):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("canary")
    shutil.rmtree(workspace.path / "src")
    (workspace.path / "src").symlink_to(tmp_path / "secret")
    (workspace.path / ".gitignore").unlink()
    (workspace.path / ".gitignore").symlink_to(tmp_path / "secret" / "key")

    change = await capture_as_it_is(workspaces, BRANCH, message="m", at=1000)

    assert run_git(mirror, "cat-file", "-p", f"{change.head}:src") == str(tmp_path / "secret")
    assert "canary" not in run_git(mirror, "cat-file", "--batch-all-objects", "--batch")


async def test_git_settings_of_an_agent_are_removed_before_the_next_turn(workspace, workspaces, origin, evil):
    shadow = workspace.mounts.shadow
    poison(shadow, evil)
    (shadow / "config.worktree").symlink_to(evil)
    (shadow / "commondir").symlink_to(evil)
    await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    assert run_git(workspace.path, "config", "--local", "--list").count("evil") == 0
    assert list((shadow / "hooks").iterdir()) == []
    assert [name for name in ("config.worktree", "commondir") if os.path.lexists(shadow / name)] == []
    assert evil.exists()


async def test_a_git_directory_that_an_agent_closed_or_linked_is_made_again(workspace, workspaces, origin, tmp_path):
    shadow, outside = workspace.mounts.shadow, tmp_path / "outside"
    outside.write_text("untouched")
    (shadow / "config").unlink()
    (shadow / "config").symlink_to(outside)
    await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    assert outside.read_text() == "untouched"
    assert run_git(workspace.path, "status", "--short") == ""
    (shadow / "config").unlink()
    (shadow / "config").mkdir()
    shadow.chmod(0)
    workspace.path.chmod(0)
    workspace.path.chmod(0o755)
    await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    assert run_git(workspace.path, "status", "--short") == ""


async def test_a_worktree_that_an_agent_closed_can_be_removed(workspace, workspaces):
    (workspace.path / "src").chmod(0)
    workspace.path.chmod(0)
    await workspaces.remove(BRANCH)
    assert not workspace.path.exists()


def test_t10_git_runs_nothing_from_a_poisoned_repository(tmp_path, evil, canary):
    there = tmp_path / "there"
    run_git(tmp_path, "init", "-q", str(there))
    run_git(there, "commit", "-q", "--allow-empty", "-m", "x")
    run_git(there, "config", "protocol.ext.allow", "always")
    poison(there / ".git", evil)
    git(there / ".git", "update-ref", "refs/heads/new", "HEAD")
    git(there / ".git", f"--work-tree={there}", "status")
    with contextlib.suppress(GitFailed):
        git(there / ".git", "ls-remote", f"ext::{evil} x", timeout=3)
    assert not canary.exists()


def test_t6_git_uses_no_settings_of_the_user_and_gets_no_secrets(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TREEHAND_CANARY", "canary-1")
    (tmp_path / ".gitconfig").write_text("[alias]\n\tobey = !echo canary-2\n")
    run_git(tmp_path, "init", "-q", "--bare", "there")
    assert "canary" not in git(tmp_path / "there", "-c", "alias.tell=!env", "tell")
    with pytest.raises(GitFailed):
        git(tmp_path / "there", "obey")
