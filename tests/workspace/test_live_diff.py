"""Live diff: exact while an agent writes, and never reads outside the worktree."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from bot.domain.diff_view import ChangeKind
from bot.workspace.diff_worktree import MAX_FILE_BYTES
from bot.workspace.live_diff import LiveDiffs
from bot.workspace.workspaces import ALWAYS_IGNORED

BRANCH = "treehand/shop-1"


@pytest.fixture
async def worktree(workspaces, origin):
    workspace = await workspaces.ensure(BRANCH, base="main", remote=origin.remote)
    return workspace.path


@pytest.fixture
def looks(root):
    """Live diffs without their cache."""

    class Fresh(LiveDiffs):
        async def read(self, branch, *, ended=("", "")):
            self._states.pop(branch, None)
            return await super().read(branch, ended=ended)

    return Fresh(root, "shop", ignored=ALWAYS_IGNORED)


def told(sight):
    return [(file.display_path, file.kind.value, file.added, file.removed) for file in sight.files]


async def test_uncommitted_changes_are_shown(looks, worktree):
    (worktree / "src" / "app.py").write_text("print(1)\nprint(2)\n")
    (worktree / "new.txt").write_text("a\nb\n")
    (worktree / "README.md").unlink()
    (worktree / "noise.log").write_text("ignored")

    sight = await looks.read(BRANCH)

    assert sight.live
    assert told(sight) == [
        ("README.md", "removed", 0, 1),
        ("new.txt", "added", 2, 0),
        ("src/app.py", "changed", 1, 0),
    ]
    patch = await looks.patch(BRANCH, sight.files[2])
    assert patch.endswith(b"@@ -1 +1,2 @@\n print(1)\n+print(2)\n")
    assert await looks.content(BRANCH, sight.files[1].after) == b"a\nb\n"
    assert await looks.content(BRANCH, sight.files[1].before) == b""


async def test_reading_a_live_diff_changes_no_file(looks, workspaces, worktree, root):
    (worktree / "new.txt").write_text("a\n")
    before = {path: path.read_bytes() for path in (root / "mirrors").rglob("*") if path.is_file()}
    await looks.read(BRANCH)
    assert {path: path.read_bytes() for path in (root / "mirrors").rglob("*") if path.is_file()} == before
    change = await workspaces.capture(BRANCH, message="m", at=1.0)
    assert [file.path for file in change.files] == ["new.txt"]


async def test_committed_and_uncommitted_changes_are_shown_together(looks, workspaces, worktree):
    (worktree / "one.txt").write_text("1\n")
    await workspaces.capture(BRANCH, message="m", at=1.0)
    (worktree / "two.txt").write_text("2\n")
    assert [file.display_path for file in (await looks.read(BRANCH)).files] == ["one.txt", "two.txt"]


async def test_the_commits_are_shown_when_the_worktree_is_missing(looks, workspaces, worktree):
    (worktree / "one.txt").write_text("1\n")
    await workspaces.capture(BRANCH, message="m", at=1.0)
    shutil.rmtree(worktree)
    sight = await looks.read(BRANCH)
    assert not sight.live
    assert told(sight) == [("one.txt", "added", 1, 0)]
    assert (await looks.patch(BRANCH, sight.files[0])).endswith(b"+1\n")


async def test_the_diff_of_a_finished_run_shows_its_commits(looks, workspaces, worktree, origin):
    (worktree / "one.txt").write_text("1\n")
    change = await workspaces.capture(BRANCH, message="m", at=1.0)
    await workspaces.remove(BRANCH)
    assert (await looks.read(BRANCH)).files == ()
    assert told(await looks.read(BRANCH, ended=(change.base, change.head))) == [("one.txt", "added", 1, 0)]


async def test_the_diff_is_empty_before_the_worktree_exists(looks):
    assert (await looks.read(BRANCH)).files == ()


async def test_renamed_binary_and_mode_changes_are_shown(looks, workspaces, worktree, origin):
    (worktree / "src" / "app.py").rename(worktree / "src" / "main.py")
    (worktree / "picture.bin").write_bytes(b"\0\1\2" * 50)
    (worktree / "README.md").chmod(0o755)
    (worktree / "link").symlink_to("/etc/passwd")
    by_path = {file.display_path: file for file in (await looks.read(BRANCH)).files}
    assert by_path["src/main.py"].kind is ChangeKind.RENAMED
    assert by_path["src/main.py"].before.path == "src/app.py"
    assert by_path["picture.bin"].is_binary
    assert by_path["README.md"].new_mode == "file → program"
    assert by_path["link"].after.kind == "link"
    assert (await looks.patch(BRANCH, by_path["link"])).endswith(b"+/etc/passwd\n\\ No newline at end of file\n")


async def test_a_live_diff_follows_no_link_and_runs_no_program(looks, worktree, tmp_path):
    outside, ran = tmp_path / "outside", tmp_path / "ran"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    (worktree / ".gitattributes").write_text("* diff=evil filter=evil\n")
    config = Path((worktree / ".git").read_text().removeprefix("gitdir: ").strip()) / "config"
    config.write_text(f'[diff "evil"]\n\tcommand = touch {ran}\n[filter "evil"]\n\tclean = touch {ran}\n')
    shutil.rmtree(worktree / "src")
    (worktree / "src").symlink_to(outside)
    os.mkfifo(worktree / "pipe")

    sight = await looks.read(BRANCH)
    for file in sight.files:
        await looks.patch(BRANCH, file)

    assert {file.display_path for file in sight.files} == {".gitattributes", "src", "src/app.py"}
    assert not ran.exists()
    assert any("pipe" in one for one in sight.left_out)


async def test_a_file_name_that_is_no_text_is_escaped_and_can_be_found(looks, worktree):
    (worktree / os.fsdecode(b"caf\xe9\n\x1b.txt")).write_text("x\n")
    sight = await looks.read(BRANCH)
    (file,) = sight.files
    assert file.display_path == r"caf\xe9\n\x1b.txt"
    assert sight.find(file.id) is file
    assert (await looks.patch(BRANCH, file)).endswith(b"+x\n")


async def test_a_file_that_is_too_large_is_reported_and_not_read(looks, worktree):
    with (worktree / "large.txt").open("wb") as stream:
        stream.truncate(MAX_FILE_BYTES + 1)
    sight = await looks.read(BRANCH)
    assert sight.files == ()
    assert any("large.txt: too large" in one for one in sight.left_out)


async def test_fingerprints_change_only_with_the_content(looks, worktree):
    (worktree / "a.txt").write_text("1\n")
    (worktree / "b.txt").write_text("1\n")
    first = await looks.read(BRANCH)
    assert (await looks.read(BRANCH)).fingerprint == first.fingerprint
    (worktree / "b.txt").write_text("2\n")
    second = await looks.read(BRANCH)
    assert second.fingerprint != first.fingerprint
    assert [a.fingerprint == b.fingerprint for a, b in zip(first.files, second.files, strict=True)] == [True, False]
    assert [a.id for a in first.files] == [b.id for b in second.files]


async def test_a_slow_live_diff_is_cancelled_and_the_last_commit_is_shown(root, workspaces, worktree):
    (worktree / "one.txt").write_text("1\n")
    await workspaces.capture(BRANCH, message="m", at=1.0)
    (worktree / "many").mkdir()
    for number in range(300):
        (worktree / "many" / f"{number}.txt").write_text(f"{number}\n")
    sight = await LiveDiffs(root, "shop", ignored=ALWAYS_IGNORED, seconds=-1.0).read(BRANCH)
    assert not sight.live
    assert sight.trouble.startswith("Reading and checking the files took more than")
    assert sight.trouble.endswith("This is the last commit.")
    assert told(sight) == [("one.txt", "added", 1, 0)]


async def test_simultaneous_readers_share_a_live_diff(root, worktree):
    looks = LiveDiffs(root, "shop", ignored=ALWAYS_IGNORED)
    (worktree / "a.txt").write_text("1\n")
    first, again = await asyncio.gather(looks.read(BRANCH), looks.read(BRANCH))
    assert first is again


async def test_the_cache_of_an_earlier_process_is_removed(root, looks, worktree):
    (worktree / "a.txt").write_text("1\n")
    await looks.read(BRANCH)
    assert list((root / "looks" / "shop").iterdir())
    LiveDiffs(root, "shop", ignored=ALWAYS_IGNORED)
    assert not (root / "looks" / "shop").exists()
