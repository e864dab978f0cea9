"""A long history is copied once: into the local forge's repository, which shares it with the mirror."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from bot.domain.remote import Remote
from bot.errors import NeedsHuman, Retryable
from bot.git import history
from bot.git.command import _CONFIG, git
from bot.services.local.repository import LocalRepository
from bot.workspace.mirror import Mirror
from bot.workspace.mirror_repair import damaged_path
from bot.workspace.paths import ORIGIN
from bot.workspace.workspaces import GitWorkspaces
from tests.services.local.user_repository import commit, make_repository, picture, run_git


@pytest.fixture(autouse=True)
def _every_history_is_long(monkeypatch):
    monkeypatch.setattr(history, "_LARGE_BYTES", 0)


@pytest.fixture
def theirs(tmp_path) -> Path:
    made = make_repository(tmp_path / 'a "shop": with \\ odd name')
    commit(made, {"deep/a.txt": "a\n"})
    return made


@pytest.fixture
def repository(tmp_path, theirs) -> LocalRepository:
    return LocalRepository(tmp_path / "forge/shop.git", theirs)


@pytest.fixture
def mirror(tmp_path, repository) -> Mirror:
    repository.fetch()
    made = Mirror(tmp_path / "mirrors/shop.git")
    made.fetch(Remote(str(repository.bare), here=True))
    return made


def packs(git_dir: Path) -> dict[str, int]:
    return {one.name: one.stat().st_ino for one in (git_dir / "objects" / "pack").glob("pack-*")}


def loose(git_dir: Path) -> list[Path]:
    return list((git_dir / "objects").glob("[0-9a-f][0-9a-f]/*"))


def names_of_objects(git_dir: Path) -> set[str]:
    listed = git(git_dir, "cat-file", "--batch-check=%(objectname)", "--batch-all-objects")
    return set(listed.splitlines())


def test_the_forge_has_all_of_the_branches_in_one_pack_and_nothing_else_of_the_users(theirs, repository):
    run_git(theirs, "branch", "topic/one")
    run_git(theirs, "branch", "treehand/theirs")
    wanted = set(run_git(theirs, "rev-list", "--objects", "--all", "--no-object-names").splitlines())
    commit(theirs, {".env": "password\n"})  # committed by mistake, and taken back
    run_git(theirs, "reset", "-q", "--hard", "HEAD~")
    run_git(theirs, "repack", "-q", "-a", "-d")
    before = picture(theirs, leave_out=())

    repository.fetch()

    assert repository.tip("main") == repository.tip("topic/one") == run_git(theirs, "rev-parse", "main")
    assert repository.tip("treehand/theirs") == ""
    assert names_of_objects(repository.bare) == wanted
    assert not loose(repository.bare)
    assert picture(theirs, leave_out=()) == before


def test_the_mirror_has_the_same_files_as_the_forge_and_those_of_the_user_are_others(theirs, repository, mirror):
    run_git(theirs, "gc", "-q")
    assert packs(mirror.path) == packs(repository.bare)
    assert not {*packs(theirs / ".git").values()} & {*packs(mirror.path).values()}
    assert mirror.refs("refs/") == {f"{ORIGIN}main": run_git(theirs, "rev-parse", "main")}


def test_a_secret_that_git_packed_with_the_users_branches_is_in_no_repository_that_agents_read(tmp_path, theirs):
    commit(theirs, {".env": "password\n"})
    secret = run_git(theirs, "rev-parse", "HEAD:.env")
    run_git(theirs, "reset", "-q", "--hard", "HEAD~")
    run_git(theirs, "repack", "-q", "-a", "-d")
    assert not loose(theirs / ".git")
    assert secret in names_of_objects(theirs / ".git")  # by the reflog
    repository = LocalRepository(tmp_path / "forge/shop.git", theirs)
    repository.fetch()
    mirror = Mirror(tmp_path / "mirrors/shop.git")
    mirror.fetch(Remote(str(repository.bare), here=True))
    assert secret not in names_of_objects(repository.bare) | names_of_objects(mirror.path)


def test_the_mirror_outlives_the_forge_and_the_users_repository(theirs, repository, mirror):
    commit(theirs, {"b.txt": "b\n"})
    repository.fetch()
    mirror.fetch(Remote(str(repository.bare), here=True))
    tip = repository.tip("main")
    for git_dir in (repository.bare, theirs / ".git"):
        shutil.rmtree(git_dir / "objects")
    git(mirror.path, "fsck", "--strict")
    assert mirror.refs("refs/") == {f"{ORIGIN}main": tip}


def test_a_mirror_that_replaces_a_damaged_one_shares_no_file(tmp_path, repository):
    repository.fetch()
    mirror = Mirror(tmp_path / "mirrors/shop.git")
    damaged_path(mirror.path).mkdir(parents=True)
    git(damaged_path(mirror.path), "init", "--bare", "--quiet")
    mirror.fetch(Remote(str(repository.bare), here=True))
    assert mirror.refs(ORIGIN)
    assert not {*packs(mirror.path).values()} & {*packs(repository.bare).values()}


@pytest.mark.parametrize("refuses", [errno.EXDEV, errno.EPERM, errno.EMLINK])
def test_without_hard_links_the_mirror_gets_a_copy(tmp_path, repository, monkeypatch, refuses):
    def link(*_args, **_options):
        raise OSError(refuses, os.strerror(refuses))

    monkeypatch.setattr(os, "link", link)
    repository.fetch()
    mirror = Mirror(tmp_path / "mirrors/shop.git")
    mirror.fetch(Remote(str(repository.bare), here=True))
    git(mirror.path, "fsck", "--strict")
    assert mirror.refs(ORIGIN) == {f"{ORIGIN}main": repository.tip("main")}


def test_packing_the_mirror_keeps_what_is_shared(theirs, repository, mirror, monkeypatch):
    shared = packs(mirror.path)
    commit(theirs, {"b.txt": "b\n"})
    repository.fetch()
    mirror.fetch(Remote(str(repository.bare), here=True))
    assert loose(mirror.path)
    monkeypatch.setattr("bot.workspace.mirror._MAX_LOOSE_OBJECTS", 0)
    monkeypatch.setattr("bot.git.command._CONFIG", (*_CONFIG, ("gc.bigPackThreshold", "1")))
    mirror.pack(borrowed=True)
    assert not loose(mirror.path)
    assert shared.items() <= packs(mirror.path).items()
    git(mirror.path, "fsck", "--strict")


def test_an_interrupted_copy_counts_as_none(theirs, repository):
    unfinished = repository.bare.with_suffix(".new")
    unfinished.mkdir(parents=True)
    git(unfinished, "init", "--bare", "--quiet")
    (unfinished / "objects" / "pack" / "tmp_pack_x").write_text("half")
    repository.fetch()
    assert repository.tip("main") == run_git(theirs, "rev-parse", "main")
    assert not unfinished.exists()
    assert not list((repository.bare / "objects" / "pack").glob("tmp_*"))


def test_a_missing_object_is_said_as_by_a_fetch(theirs, repository):
    sha = run_git(theirs, "rev-parse", "HEAD:deep/a.txt")
    (theirs / ".git" / "objects" / sha[:2] / sha[2:]).unlink()
    with pytest.raises(NeedsHuman, match="lacks objects that its commits need"):
        repository.fetch()


async def test_damage_in_a_shared_file_is_mended_in_both_and_our_branches_stay(tmp_path, theirs, repository):
    commit(theirs, {"large.txt": "".join(f"{number * number}\n" for number in range(9000))})
    workspaces, branch = GitWorkspaces(tmp_path / "state", "shop"), "treehand/shop-1"
    repository.fetch()
    remote = Remote(str(repository.bare), here=True)
    await workspaces.ensure(branch, base="main", remote=remote)
    git(repository.bare, "update-ref", "refs/heads/treehand/shop-9", repository.tip("main"))
    pack = next((repository.bare / "objects" / "pack").glob("*.pack"))
    content = bytearray(pack.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 2000] = bytes(2000)
    pack.chmod(0o644)
    pack.write_bytes(content)  # in both: it is one file
    for number in (2, 3):
        with pytest.raises(Retryable):
            await workspaces.ensure(f"treehand/shop-{number}", base="main", remote=remote)
    repository.fetch()
    found = await workspaces.ensure("treehand/shop-4", base="main", remote=remote)
    assert (found.path / "large.txt").read_text() == (theirs / "large.txt").read_text()
    assert repository.our_tips() == {"treehand/shop-9": repository.tip("main")}
    git(repository.bare, "fsck", "--strict")
    git(workspaces.mirror.path, "fsck", "--strict")
    repository.fetch()
    assert len(list(tmp_path.glob("forge/*.damaged-*"))) == 1  # once
