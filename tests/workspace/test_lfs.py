"""Git LFS: worktrees hold the files, commits hold pointers, and objects go where their commits go."""

import hashlib
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain.remote import Remote
from bot.publish_guard.protected_paths import PublishRules
from bot.secret_scan.scanner import Secrets
from bot.workspace.workspaces import GitWorkspaces
from tests.workspace.conftest import Origin, run_git

BRANCH = "treehand/shop-1"
ATTRIBUTES = "*.bin filter=lfs diff=lfs merge=lfs -text\n"
OLD, KEPT = b"\0old" * 500, b"\0kept" * 500


def pointer(content: bytes) -> str:
    oid = hashlib.sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(content)}\n"


def object_path(git_dir: Path, content: bytes) -> Path:
    oid = hashlib.sha256(content).hexdigest()
    return git_dir / "lfs" / "objects" / oid[:2] / oid[2:4] / oid


def put_object(git_dir: Path, content: bytes) -> None:
    path = object_path(git_dir, content)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


@pytest.fixture
def lfs(origin: Origin) -> Origin:
    origin.commit({".gitattributes": ATTRIBUTES, "old.bin": pointer(OLD), "sub/kept.bin": pointer(KEPT)})
    for content in (OLD, KEPT):
        put_object(origin.bare, content)
    return origin


async def begin(workspaces: GitWorkspaces, remote: Remote) -> Path:
    return (await workspaces.ensure(BRANCH, base="main", remote=remote)).mounts.folder


def shown(repository: Path, path: str, branch: str = BRANCH) -> str:
    return run_git(repository, "show", f"{branch}:{path}")


async def test_the_agent_finds_the_files_and_nothing_counts_as_changed(lfs, workspaces):
    folder = await begin(workspaces, lfs.remote)

    assert (folder / "old.bin").read_bytes() == OLD
    assert (folder / "sub/kept.bin").read_bytes() == KEPT
    assert run_git(folder, "status", "--porcelain") == ""
    os.utime(folder / "old.bin")  # read again
    change = await workspaces.capture(BRANCH, message="Nothing", at=1)
    assert (change.files, change.left_out) == ((), ())


async def test_changed_and_new_files_are_committed_as_pointers_and_their_objects_published(lfs, workspaces):
    folder = await begin(workspaces, lfs.remote)
    (folder / "old.bin").write_bytes(b"\0new")
    (folder / "sub/more.bin").write_bytes(b"\0more")
    (folder / "empty.bin").write_bytes(b"")
    (folder / "plain.txt").write_text("not under it\n")
    change = await workspaces.capture(BRANCH, message="Change", at=1)
    assert change.objections == ()
    await workspaces.ensure_pushed(BRANCH, remote=lfs.remote)

    assert shown(lfs.bare, "old.bin") == pointer(b"\0new").strip()
    assert shown(lfs.bare, "sub/more.bin") == pointer(b"\0more").strip()
    assert (shown(lfs.bare, "empty.bin"), shown(lfs.bare, "plain.txt")) == ("", "not under it")
    assert object_path(lfs.bare, b"\0new").read_bytes() == b"\0new"
    if shutil.which("git-lfs"):
        assert run_git(lfs.bare, "lfs", "fsck", BRANCH) == "Git LFS fsck OK"


async def test_a_worktree_that_is_made_again_has_the_new_files(lfs, workspaces):
    folder = await begin(workspaces, lfs.remote)
    (folder / "old.bin").write_bytes(b"\0new")
    await workspaces.capture(BRANCH, message="Change", at=1)
    (folder / "sub/kept.bin").write_bytes(b"\0not committed")
    workspaces._idle_seconds = 0
    assert await workspaces.evict(BRANCH)

    assert await begin(workspaces, lfs.remote) == folder
    assert (folder / "old.bin").read_bytes() == b"\0new"
    assert (folder / "sub/kept.bin").read_bytes() == b"\0not committed"


async def test_missing_objects_leave_pointers_and_it_is_said(lfs, workspaces):
    shutil.rmtree(lfs.bare / "lfs")
    folder = await begin(workspaces, lfs.remote)
    assert (folder / "old.bin").read_text() == pointer(OLD)
    (folder / "README.md").write_text("changed\n")
    (folder / "new.bin").write_bytes(b"\0new")
    change = await workspaces.capture(BRANCH, message="Change", at=1)

    assert [one.path for one in change.files] == ["README.md", "new.bin"]
    (said,) = change.left_out
    assert said.startswith("the content of 2 files under Git LFS (old.bin, sub/kept.bin): the objects were missing")


async def test_a_damaged_object_is_not_used(lfs, workspaces):
    object_path(lfs.bare, OLD).write_bytes(b"x" * len(OLD))

    assert (await begin(workspaces, lfs.remote) / "old.bin").read_text() == pointer(OLD)


async def test_objects_of_the_users_repository_are_found(lfs, workspaces, tmp_path):
    (lfs.bare / "lfs").rename(tmp_path / "elsewhere")

    folder = await begin(workspaces, replace(lfs.remote, lfs=str(tmp_path / "elsewhere" / "objects")))
    assert (folder / "old.bin").read_bytes() == OLD


async def test_files_that_are_committed_as_they_are_stay_so_until_they_change(lfs, workspaces):
    lfs.commit({"plain.bin": b"\0never a pointer"})
    folder = await begin(workspaces, lfs.remote)
    os.utime(folder / "plain.bin")
    assert (await workspaces.capture(BRANCH, message="Nothing", at=1)).files == ()
    (folder / "plain.bin").write_bytes(b"\0now")
    await workspaces.capture(BRANCH, message="Change", at=2)
    await workspaces.ensure_pushed(BRANCH, remote=lfs.remote)

    assert shown(lfs.bare, "plain.bin") == pointer(b"\0now").strip()


async def test_without_a_way_to_upload_such_a_change_is_held_back_and_cannot_be_approved(lfs, root):
    workspaces = GitWorkspaces(root, "shop", rules=PublishRules(uploads_lfs=False))
    folder = await begin(workspaces, lfs.remote)
    (folder / "moved.bin").write_bytes(KEPT)
    (folder / "new.bin").write_bytes(b"\0new")
    change = await workspaces.capture(BRANCH, message="Change", at=1)

    assert [(one.rule, one.path, one.may_be_approved) for one in change.objections] == [("Git LFS", "new.bin", False)]
    assert "install git-lfs on the machine where Treehand runs" in change.objections[0].detail
    assert not list((root / "mirrors/shop.git/lfs").rglob(hashlib.sha256(b"\0new").hexdigest()))


async def test_a_pointer_that_an_agent_wrote_itself_is_held_back(lfs, workspaces):
    folder = await begin(workspaces, lfs.remote)
    (folder / "new.bin").write_text(pointer(b"nobody has this"))
    (held,) = (await workspaces.capture(BRANCH, message="Change", at=1)).objections

    assert (held.rule, held.path, held.may_be_approved) == ("Git LFS", "new.bin", False)


async def test_a_secret_in_a_file_under_lfs_is_found(lfs, root):
    workspaces = GitWorkspaces(root, "shop", secrets=Secrets.of((("TOKEN", "s3cret-of-the-host"),)))
    folder = await begin(workspaces, lfs.remote)
    (folder / "new.bin").write_text("key = s3cret-of-the-host\n")
    (held,) = (await workspaces.capture(BRANCH, message="Change", at=1)).objections

    assert (held.rule, held.path) == ("secret", "new.bin")


async def test_the_size_of_a_file_under_lfs_counts(lfs, root):
    workspaces = GitWorkspaces(root, "shop", rules=PublishRules(max_changed_mb=0.001))
    folder = await begin(workspaces, lfs.remote)
    (folder / "new.bin").write_bytes(b"\0" * 3000)
    (held,) = (await workspaces.capture(BRANCH, message="Change", at=1)).objections

    assert held.rule == "size"


async def test_source_code_that_the_agent_itself_moves_to_lfs_is_held_back_and_a_new_picture_is_not(lfs, workspaces):
    folder = await begin(workspaces, lfs.remote)
    (folder / ".gitattributes").write_text(ATTRIBUTES + "*.py filter=lfs\n*.png filter=lfs\n")
    (folder / "src/app.py").write_text("print('nobody sees this')\n")
    (folder / "a.png").write_bytes(b"\0picture")
    (held,) = (await workspaces.capture(BRANCH, message="Change", at=1)).objections

    assert (held.rule, held.path) == ("hidden change", "src/app.py")
