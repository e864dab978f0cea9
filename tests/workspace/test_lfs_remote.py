"""Git LFS at a remote over HTTP: git-lfs brings and takes the objects, with the credential of the remote."""

import shutil
from collections.abc import Iterator

import pytest

from bot.errors import NeedsHuman
from bot.workspace import lfs_remote
from tests.workspace.conftest import run_git
from tests.workspace.lfs_server import LfsServer, serving
from tests.workspace.test_lfs import BRANCH, OLD, begin, lfs, object_path, pointer, shown  # noqa: F401 - a fixture

needs_git_lfs = pytest.mark.skipif(shutil.which("git-lfs") is None, reason="needs git-lfs")


@pytest.fixture
def server(lfs) -> Iterator[LfsServer]:  # noqa: F811 - the fixture
    run_git(lfs.bare, "config", "http.receivepack", "true")
    with serving(lfs.bare) as server:
        yield server


@needs_git_lfs
async def test_objects_are_downloaded_and_those_of_new_commits_uploaded(server, workspaces):
    folder = await begin(workspaces, server.remote)
    assert (folder / "old.bin").read_bytes() == OLD
    (folder / "old.bin").write_bytes(b"\0new")
    await workspaces.capture(BRANCH, message="Change", at=1)
    await workspaces.ensure_pushed(BRANCH, remote=server.remote)

    assert shown(server.bare, "old.bin") == pointer(b"\0new").strip()
    assert object_path(server.bare, b"\0new").read_bytes() == b"\0new"
    assert run_git(server.bare, "lfs", "fsck", BRANCH) == "Git LFS fsck OK"


@needs_git_lfs
async def test_nothing_is_pushed_to_a_remote_that_takes_no_objects(server, workspaces, caplog):
    server.speaks_lfs = False
    folder = await begin(workspaces, server.remote)
    assert (folder / "old.bin").read_text() == pointer(OLD)
    assert "objects of Git LFS not downloaded" in caplog.text
    (folder / "old.bin").write_bytes(b"\0new")
    await workspaces.capture(BRANCH, message="Change", at=1)

    with pytest.raises(NeedsHuman, match=r"did not take the objects of Git LFS, so nothing was pushed"):
        await workspaces.ensure_pushed(BRANCH, remote=server.remote)
    assert "refs/heads/treehand" not in run_git(server.bare, "for-each-ref")


async def test_without_git_lfs_pointers_stay_and_nothing_is_pushed(server, workspaces, monkeypatch):
    monkeypatch.setattr(lfs_remote, "has_program", lambda: False)
    folder = await begin(workspaces, server.remote)
    assert (folder / "old.bin").read_text() == pointer(OLD)
    (folder / "old.bin").write_bytes(b"\0new")
    await workspaces.capture(BRANCH, message="Change", at=1)

    with pytest.raises(NeedsHuman, match=r"1 objects? of Git LFS cannot be uploaded .* install git-lfs"):
        await workspaces.ensure_pushed(BRANCH, remote=server.remote)
    assert "refs/heads/treehand" not in run_git(server.bare, "for-each-ref")
