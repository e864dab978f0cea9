"""Copies of the operator's files in worktrees: which are made, which are refused, and that none is published."""

import os

import pytest

from bot.errors import NeedsHuman
from bot.secret_scan.scanner import Secrets
from bot.setup.copy_files import CopySource
from bot.workspace.safe_files import write_within
from tests.setup.conftest import BRANCH
from tests.workspace.conftest import run_git


@pytest.fixture
def ada(shop):
    """The operator's folder with uncommitted files."""
    shop.origin.commit({".gitignore": ".env*\n*.local\nsecrets/\nlink\n*.log\n"})
    clone = shop.origin.clone
    for name in (".env", ".env.test", "config/a.local", "secrets/key.json", "shown.txt"):
        (clone / name).parent.mkdir(exist_ok=True)
        (clone / name).write_text(f"{name}\n")
    (clone / "link").symlink_to(clone / ".env")
    (clone / "linked").symlink_to(clone / "secrets")
    return clone


def find(folder, *wanted: str, included: str = "") -> list[str]:
    tracked = run_git(folder, "ls-files").splitlines()
    return sorted(CopySource(folder, tracked).find(wanted, included))


def test_ignored_files_are_found_by_name_and_by_pattern(ada):
    assert find(ada, ".env") == [".env"]
    assert find(ada, "./secrets/key.json") == ["secrets/key.json"]
    assert find(ada, ".env*", "config/*.local") == [".env", ".env.test", "config/a.local"]
    assert find(ada, "*.local") == ["config/a.local"]
    assert find(ada, included="# ours\n*.local\n\nsecrets/\n!x\n") == ["config/a.local", "secrets/key.json"]


@pytest.mark.parametrize("wanted", ["nothing*", "*.md", "shown*", "link*"])
def test_a_pattern_without_matches_is_allowed(ada, wanted):
    assert find(ada, wanted) == []


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ("secrets", "is a directory; name files"),
        ("link", "is a link; links are not followed"),
        ("linked/key.json", "is behind a link; links are not followed"),
        ("missing.local", "does not exist"),
        ("README.md", "is tracked by git"),
        ("shown.txt", "is not ignored by git there"),
        ("../outside", "is not a path inside the folder"),
        (".git/config", "is not a path inside the folder"),
        ("/", "is not a path inside the folder"),
    ],
)
def test_a_file_that_cannot_be_copied_is_refused_by_name(ada, wanted, why):
    with pytest.raises(NeedsHuman) as caught:
        find(ada, wanted)
    assert "copy: " in str(caught.value)
    assert wanted in str(caught.value)
    assert why in str(caught.value)


def test_a_pipe_is_refused_without_blocking(ada):
    os.mkfifo(ada / "pipe.local")
    with pytest.raises(NeedsHuman, match=r"pipe\.local in .* is not a file"):
        find(ada, "pipe.local")
    assert find(ada, "*.local") == ["config/a.local"]


def test_too_many_files_are_refused(ada):
    for number in range(201):
        (ada / f"{number}.local").touch()
    with pytest.raises(NeedsHuman, match=r"202 files of .* match; the limit is 200"):
        find(ada, "*.local")


def test_the_default_file_may_be_missing_or_tracked(ada, tmp_path):
    (ada / ".env").unlink()
    assert find(ada, ".env") == []
    assert CopySource(ada, {".env"}).find([".env"], "") == {}


def test_the_operators_folder_may_be_a_linked_worktree(ada, tmp_path):
    run_git(ada, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    (tmp_path / "linked" / ".env").write_text("A=b\n")
    (tmp_path / "linked" / "one.local").write_text("A=b\n")
    assert find(tmp_path / "linked", ".env", "*.local") == [".env", "one.local"]


def test_all_files_of_a_folder_without_a_repository_can_be_copied(tmp_path):
    (tmp_path / "own").mkdir()
    for name in (".env", "a.pem", "b.pem"):
        (tmp_path / "own" / name).write_text(name)
    assert find_in(tmp_path / "own", ".env", "*.pem") == [".env", "a.pem", "b.pem"]


def find_in(folder, *wanted: str) -> list[str]:
    return sorted(CopySource(folder, ()).find(wanted, ""))


async def test_a_copy_is_private_and_exists_before_setup_runs(shop, ada):
    await shop.told(
        "cat .env config/a.local > build.log", copy_from=ada, is_repository=True, copy=(".env", "config/a.local")
    ).ready()
    assert (shop.folder() / "build.log").read_text() == ".env\nconfig/a.local\n"
    assert (shop.folder() / ".env").stat().st_mode & 0o777 == 0o600


async def test_a_changed_copy_is_in_no_commit_and_the_change_is_reported(shop, ada):
    shop.told(copy_from=ada, is_repository=True, copy=(".env", "config/a.local"))
    await shop.ready()
    worktree = shop.folder()
    (worktree / ".gitignore").write_text("")
    (worktree / ".env").write_text("changed\n")
    (worktree / "config" / "a.local").unlink()
    (worktree / "config" / "a.local").mkdir()
    (worktree / "config" / "a.local" / "inner").write_text("hidden in there")
    change = await shop.captured()
    assert [file.path for file in change.files] == [".gitignore"]
    assert ".env: a changed copy of the operator's file" in change.left_out
    assert "config/a.local: a changed copy of the operator's file" in change.left_out
    (worktree / "more.txt").write_text("x")
    ref = await shop.workspaces.salvage(BRANCH)
    assert run_git(shop.root / "mirrors" / "shop.git", "ls-tree", "-r", "--name-only", ref).split() == [
        ".gitignore",
        "README.md",
        "more.txt",
        "src/app.py",
    ]


async def test_a_copied_secret_in_another_file_of_an_agent_is_held(shop, ada):
    (ada / ".env").write_text("DB_PASSWORD=s3cret-of-ada-77\nMODE=production\n")
    await shop.told(copy_from=ada, is_repository=True).ready()
    (shop.folder() / "notes.txt").write_text("production\n")
    assert not (await shop.captured()).objections
    (shop.folder() / "notes.txt").write_text("the password is s3cret-of-ada-77\n")
    (objection,) = (await shop.captured()).objections
    assert (objection.rule, "DB_PASSWORD of .env" in objection.detail) == ("secret", True)


async def test_a_newer_file_is_copied_again_unless_the_agent_changed_its_copy(shop, ada):
    shop.told(copy_from=ada, is_repository=True, copy=(".env", ".env.test"))
    await shop.ready()
    (shop.folder() / ".env.test").write_text("the agent's\n")
    for name in (".env", ".env.test"):
        (ada / name).write_text("newer\n")
    await shop.ready()
    assert (shop.folder() / ".env").read_text() == "newer\n"
    assert (shop.folder() / ".env.test").read_text() == "the agent's\n"


async def test_links_in_a_worktree_do_not_lead_a_copy_out_of_it(shop, ada, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    workspace = await shop.worktree()
    (workspace.path / "config").symlink_to(outside)
    ready = await shop.told(copy_from=ada, is_repository=True, copy=("config/a.local",)).ready()
    assert "copy: config/a.local cannot be copied into the worktree" in ready.obstacle.problem
    assert list(outside.iterdir()) == []
    (workspace.path / ".env").symlink_to(outside / "new")
    write_within(workspace.path, ".env", b"mine")
    assert list(outside.iterdir()) == []
    assert not (workspace.path / ".env").is_symlink()


async def test_copied_secrets_are_read_again_after_a_restart(shop, ada):
    (ada / ".env.test").write_text("API_TOKEN=s3cret-of-ada-88\n")
    await shop.told(copy_from=ada, is_repository=True, copy=(".env*",)).ready()
    shop.secrets = Secrets()
    assert shop.secrets.find("s3cret-of-ada-88") == ()
    shop.project_setup.learn_secrets()
    assert shop.secrets.find("s3cret-of-ada-88") == ("API_TOKEN of .env.test",)


async def test_a_file_that_cannot_be_copied_blocks_the_turn(shop, ada):
    ready = await shop.told(copy_from=ada, is_repository=True, copy=("link",)).ready()
    assert "copy: link in" in ready.obstacle.problem


async def test_without_a_source_folder_nothing_is_copied(shop):
    shop.origin.commit({".worktreeinclude": "*"})
    assert (await shop.told(copy=("missing.local",)).ready()).obstacle is None
