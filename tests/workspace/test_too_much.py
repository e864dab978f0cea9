"""A worktree over its limits: a plain objection, no work lost, and nothing of it published."""

import asyncio
import base64
import gzip
import os
import re
import socket
import zlib
from pathlib import Path

import pytest

from bot.domain.salvage import SalvageLocation
from bot.engine.messages import salvage_comment
from bot.errors import OverLimit
from bot.git.index import Index
from bot.git.objects import blob_id
from bot.publish_guard.protected_paths import PublishRules
from bot.publish_guard.size_limits import MAX_FILE_BYTES, MAX_NEW_FILES
from bot.secret_scan.scanner import NOT_SEARCHED, Secrets
from bot.system.trash import Trash, discard
from bot.workspace import salvage, salvage_store
from bot.workspace.capture import ReadLimits, read_worktree
from bot.workspace.live_diff import LiveDiffs
from bot.workspace.workspaces import ALWAYS_IGNORED, GitWorkspaces
from tests.workspace.conftest import run_git

BRANCH = "treehand/shop-1"
TOKEN = "tok-5e0d7c1b9a3f48629d10"


@pytest.fixture
def workspaces(root):
    return GitWorkspaces(root, "shop", secrets=Secrets({"the token": TOKEN}), idle_seconds=0)


@pytest.fixture
async def worktree(workspaces, origin) -> Path:
    return (await workspaces.ensure(BRANCH, base="", remote=origin.remote)).path


def many_files(at: Path) -> None:
    (at / "out").mkdir()
    for number in range(MAX_NEW_FILES + 200):
        (at / "out" / str(number)).touch()


def many_folders(at: Path) -> None:
    for number in range(MAX_NEW_FILES + 1):
        (at / str(number)).mkdir()


def many_pipes(at: Path) -> None:
    for number in range(MAX_NEW_FILES + 1):
        os.mkfifo(at / str(number))


def brackets(at: Path) -> None:
    (at / ".gitignore").write_text("[" * 250_000)


def large_rules(at: Path) -> None:
    (at / ".gitignore").write_text("# a comment\n" * 40_000)


def rules_in_many_files(at: Path) -> None:
    for number in range(11):
        (at / str(number)).mkdir()
        (at / str(number) / ".gitignore").write_text("a\n" * 1000)


TOO_MUCH = {
    "files": (many_files, r"more than 5,000 new files and folders, the last of them in out\. Delete them, or add"),
    "folders": (many_folders, "more than 5,000 new files and folders"),
    "pipes": (many_pipes, "more than 5,000 new files and folders"),
    "a line of brackets": (brackets, r"^.gitignore cannot be followed: a line has more than 4,096 bytes"),
    "a large .gitignore": (large_rules, r"^.gitignore has more than 256 KB; shorten it"),
    "rules in many files": (rules_in_many_files, r"^\d+/.gitignore cannot be followed: there are more than 10,000"),
}


@pytest.mark.attack("T16", "A worktree holds more than can be read in any time")
@pytest.mark.parametrize(("make", "words"), TOO_MUCH.values(), ids=TOO_MUCH.keys())
async def test_a_worktree_over_its_limits_gives_an_objection_that_cannot_be_approved(
    workspaces, worktree, mirror, make, words
):
    make(worktree)
    change = await workspaces.capture(BRANCH, message="m", at=1000)
    (objection,) = change.objections
    assert objection.rule == "limit"
    assert not objection.may_be_approved
    assert re.search(words, objection.detail)
    assert change.head == change.before

    again = await workspaces.capture(BRANCH, message="m", at=1000, allowed=[objection.id])
    assert again.objections == (objection,)
    assert run_git(mirror, "rev-parse", f"refs/heads/{BRANCH}") == change.before
    assert not (mirror / "worktrees" / "shop-1" / "quarantine").exists()


async def test_the_rest_is_captured_after_the_excess_was_deleted(workspaces, worktree):
    (worktree / "new.py").write_text("print(2)\n")
    many_files(worktree)
    assert (await workspaces.capture(BRANCH, message="m", at=1000)).objections
    Trash(worktree.parent / "trash").throw(worktree / "out")
    change = await workspaces.capture(BRANCH, message="m", at=1000)
    assert [file.path for file in change.files] == ["new.py"]


async def test_reading_stops_at_the_limit(workspaces, worktree, mirror, monkeypatch):
    many_files(worktree)
    stored = []
    monkeypatch.setattr(
        "bot.workspace.quarantine.Quarantine.__exit__",
        lambda self, *_: stored.extend(path for path in (self.path / "objects").glob("??/*")),
    )
    await workspaces.capture(BRANCH, message="m", at=1000)
    assert len(stored) <= MAX_NEW_FILES


async def test_ignored_files_do_not_count_towards_the_limit(workspaces, worktree):
    (worktree / "build").mkdir()
    for number in range(MAX_NEW_FILES + 1):
        (worktree / "build" / str(number)).mkdir()
        (worktree / f"{number}.log").touch()
    (worktree / "new.py").write_text("print(2)\n")
    change = await workspaces.capture(BRANCH, message="m", at=1000)
    assert (change.objections, [file.path for file in change.files]) == ((), ["new.py"])


def test_ignored_files_are_counted_as_well(tmp_path):
    (tmp_path / ".gitignore").write_text("*.log\n")
    for number in range(20):
        (tmp_path / f"{number}.log").touch()
    with pytest.raises(OverLimit, match="more than 20 files and folders beside those that git tracks"):
        read_worktree(tmp_path, Index(), blob_id, limits=ReadLimits(max_entries=20))
    assert len(read_worktree(tmp_path, Index(), blob_id, limits=ReadLimits(max_entries=21)).entries) == 1


async def test_a_project_can_raise_the_limits(root, origin):
    workspaces = GitWorkspaces(root, "shop", rules=PublishRules(max_changed_files=6000))
    worktree = (await workspaces.ensure(BRANCH, base="", remote=origin.remote)).path
    many_files(worktree)
    change = await workspaces.capture(BRANCH, message="m", at=1000)
    assert (change.objections, len(change.files)) == ((), MAX_NEW_FILES + 200)


async def test_work_over_the_limits_of_a_commit_is_set_aside_as_files(workspaces, worktree, root, mirror):
    (worktree / "new.py").write_text("print(2)\n")
    (worktree / ".env").write_text(f"TOKEN={TOKEN}\n")
    record = mirror / "worktrees" / "shop-1" / "provision.json"
    record.write_text('{"copied": {".env": "0000"}}')
    many_files(worktree)

    place = await workspaces.salvage(BRANCH)
    assert Path(place).is_relative_to(root / "aside" / "shop")
    assert (Path(place) / "new.py").read_text() == "print(2)\n"
    assert not {".git", ".env"} & {path.name for path in Path(place).iterdir()}
    assert await workspaces.salvage(BRANCH) == place
    assert place in salvage_comment.salvaged("shop#1", SalvageLocation(place))
    await workspaces.remove(BRANCH)
    assert not worktree.exists()
    assert await workspaces.sweep([]) == []


def a_large_file(at: Path) -> None:
    with (at / "model.bin").open("wb") as stream:
        stream.truncate(MAX_FILE_BYTES + 1)


def a_nested_repository(at: Path) -> None:
    (at / "inner" / ".git").mkdir(parents=True)
    (at / "inner" / "model.bin").write_text("work")


def a_repository_in_a_tracked_folder(at: Path) -> None:
    (at / "src" / ".git").mkdir()
    (at / "src" / ".git" / "model.bin").write_text("work")


NOT_FOR_A_COMMIT = [a_large_file, a_nested_repository, a_repository_in_a_tracked_folder]


@pytest.mark.parametrize("make", NOT_FOR_A_COMMIT)
async def test_what_a_commit_cannot_hold_is_kept_after_the_worktree(workspaces, worktree, origin, mirror, make):
    (worktree / "new.py").write_text("print(2)\n")
    make(worktree)
    place = await workspaces.salvage(BRANCH)
    assert await workspaces.salvage(BRANCH) == place
    await workspaces.remove(BRANCH)
    assert [path.name for path in Path(place).rglob("model.bin")] == ["model.bin"]
    assert run_git(mirror, "show", "refs/treehand/salvage/shop-1/1:new.py") == "print(2)"
    kept = await workspaces.share(place, remote=origin.remote)
    assert (kept.ref, kept.shared) == (place, False)
    assert re.search(rf"`{re.escape(place)}` \(\d+\.\d MB\) on the daemon's", salvage_comment.salvaged("shop#1", kept))


@pytest.mark.parametrize("make", NOT_FOR_A_COMMIT)
async def test_what_a_commit_cannot_hold_survives_the_sweep_and_a_shortage(workspaces, worktree, make):
    make(worktree)
    assert not await workspaces.evict(BRANCH)
    assert worktree.exists()
    (told,) = await workspaces.sweep([])
    place = Path(told.rpartition(" ")[2])
    assert [path.name for path in place.rglob("model.bin")] == ["model.bin"]


async def test_what_a_commit_cannot_hold_survives_commits_that_people_push(workspaces, worktree, origin, root):
    a_nested_repository(worktree)
    origin.commit({"theirs.py": "print(3)\n"}, branch=BRANCH)
    again = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    assert (again.path / "theirs.py").exists()
    assert [path.name for path in (root / "aside").rglob("model.bin")] == ["model.bin"]


async def test_what_a_commit_cannot_hold_survives_a_merge(workspaces, worktree, origin, root):
    (worktree / "new.py").write_text("print(2)\n")
    a_nested_repository(worktree)
    origin.commit({"theirs.py": "print(3)\n"})
    again = await workspaces.ensure(BRANCH, base="", remote=origin.remote, merge="main")
    assert {path.name for path in again.path.iterdir()} >= {"theirs.py", "new.py"}
    assert [path.name for path in (root / "aside").rglob("model.bin")] == ["model.bin"]


async def test_pipes_and_ignored_files_keep_no_worktree(workspaces, worktree, root):
    os.mkfifo(worktree / "pipe")
    (worktree / "build" / ".git").mkdir(parents=True)
    assert await workspaces.salvage(BRANCH) == ""
    await workspaces.remove(BRANCH)
    assert not (root / "aside").exists()


@pytest.mark.attack("T16", "The work takes no time of the processor, but never ends to be read")
async def test_work_that_cannot_be_read_in_time_is_set_aside_on_a_busy_machine_too(workspaces, worktree, monkeypatch):
    (worktree / "new.py").write_text("print(2)\n")
    monkeypatch.setattr(salvage, "_SECONDS", 0.0)
    place = await workspaces.salvage(BRANCH)
    assert (Path(place) / "new.py").read_text() == "print(2)\n"
    assert await workspaces.salvage(BRANCH) == place


async def test_salvaged_work_that_cannot_be_judged_in_time_stays_here(workspaces, worktree, origin, monkeypatch):
    (worktree / "new.py").write_text("print(2)\n")
    ref = await workspaces.salvage(BRANCH)
    monkeypatch.setattr(salvage_store, "_SECONDS", 0.0)
    with pytest.raises(OverLimit):
        await workspaces.share(ref, remote=origin.remote)


@pytest.mark.attack("T14", "A worktree without write permission keeps the operator's files when it is set aside")
async def test_a_worktree_without_permissions_is_set_aside_like_any_other(workspaces, worktree, mirror):
    (worktree / ".env").write_text(f"TOKEN={TOKEN}\n")
    (mirror / "worktrees" / "shop-1" / "provision.json").write_text('{"copied": {".env": "0000"}}')
    many_files(worktree)
    worktree.chmod(0o500)
    place = Path(await workspaces.salvage(BRANCH))
    assert not {".git", ".env"} & {path.name for path in place.iterdir()}
    assert place.stat().st_mode & 0o700 == 0o700


async def test_put_back_removes_the_files_of_a_planning_turn_over_the_limits(workspaces, worktree):
    many_files(worktree)
    place = await workspaces.put_back(BRANCH)
    assert len(list((Path(place) / "out").iterdir())) == MAX_NEW_FILES + 200
    assert not (worktree / "out").exists()


async def test_the_sweep_does_not_touch_a_worktree_that_it_cannot_read(workspaces, worktree):
    brackets(worktree)
    (worktree / "build").mkdir()
    assert not await workspaces.drop_ignored(BRANCH)
    assert not await workspaces.evict(BRANCH)
    assert worktree.exists()


async def test_the_live_diff_of_a_worktree_over_its_limits_shows_the_last_commit_and_the_reason(
    workspaces, worktree, root
):
    looks = LiveDiffs(root, "shop", ignored=ALWAYS_IGNORED)
    many_files(worktree)
    view = await looks.read(BRANCH)
    assert (view.live, view.files) == (False, ())
    assert view.trouble.startswith("The worktree has more than 5,000 new files and folders")


async def test_special_files_and_odd_names_do_not_break_a_capture(workspaces, worktree):
    os.mkfifo(worktree / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(worktree / "s"))
    (worktree / "link").symlink_to("x" * 4000)
    (worktree / os.fsdecode(b"\xff\n\x01")).write_text("odd")
    with (worktree / "sparse").open("wb") as stream:
        stream.truncate(1 << 40)
    os.link(worktree / "README.md", worktree / "hard")
    (worktree / "line.js").write_text("x" * 3_000_000)
    change = await workspaces.capture(BRANCH, message="m", at=1000)
    assert {one.rule for one in change.objections} <= {"link", "file name", "hidden change"}
    assert {one.partition(":")[0] for one in change.left_out} == {"pipe", "s", "sparse"}


@pytest.mark.attack("T16", "A capture that was cut off leaves a half commit")
async def test_a_cancelled_capture_leaves_no_files_and_the_next_one_succeeds(workspaces, worktree, mirror):
    for number in range(2000):
        (worktree / f"{number}.txt").write_text(str(number))
    task = asyncio.ensure_future(workspaces.capture(BRANCH, message="m", at=1000))
    quarantine = mirror / "worktrees" / "shop-1" / "quarantine" / "objects"
    async with asyncio.timeout(60):
        while not len(list(quarantine.glob("??"))) > 10:
            await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not quarantine.exists()
    change = await workspaces.capture(BRANCH, message="m", at=1000)
    assert len(change.files) == 2000


def bare_marks() -> bytes:
    return b"\x1f\x8b\x08" * 300_000 + gzip.compress(TOKEN.encode())


def heads_before_a_bomb() -> bytes:
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = compressor.compress(bytes(20_000_000)) + compressor.flush(zlib.Z_FULL_FLUSH)
    return b"\x78\x9c" * 6000 + bomb + b"\xff" * 10


@pytest.mark.attack("T7", "A secret is packed behind more than the secret scan unpacks")
@pytest.mark.parametrize("pack", [bare_marks, heads_before_a_bomb])
async def test_a_file_that_could_not_be_unpacked_gives_an_objection(workspaces, worktree, pack):
    (worktree / "data.bin").write_bytes(pack())
    (worktree / "plain.txt").write_text("nothing\n")
    change = await workspaces.capture(BRANCH, message="m", at=1000)
    secrets = [(one.path, one.detail) for one in change.objections if one.rule == "secret"]
    assert secrets == [("data.bin", NOT_SEARCHED)]


@pytest.mark.attack("T7", "A secret is hidden behind thousands of marks of packed files")
async def test_a_secret_behind_thousands_of_archive_headers_is_found(workspaces, worktree):
    (worktree / "data.bin").write_bytes(b"\x1f\x8b\x08" * 2000 + gzip.compress(TOKEN.encode()))
    change = await workspaces.capture(BRANCH, message="m", at=1000)
    assert [one.detail for one in change.objections] == ["contains the token"]


async def test_all_files_of_a_capture_share_the_budget(workspaces, worktree):
    for number in range(40):
        (worktree / f"{number}.bin").write_bytes(heads_before_a_bomb())
    (worktree / "last.bin").write_bytes(gzip.compress(base64.b64encode(os.urandom(1000))))
    change = await workspaces.capture(BRANCH, message="m", at=1000)
    assert len([one for one in change.objections if one.detail == NOT_SEARCHED]) == 41


async def test_a_very_long_number_does_not_crash_the_secret_scan(workspaces, worktree):
    (worktree / "page.html").write_text("&#" + "9" * 5000 + ";" + "&#" + "0" * 5000 + "65;")
    change = await workspaces.capture(BRANCH, message="m", at=1000)
    assert [one.rule for one in change.objections] == ["hidden change"]


def test_trash_is_deleted_in_small_steps(tmp_path):
    trash, full = Trash(tmp_path / "trash"), tmp_path / "full"
    full.mkdir()
    for number in range(20):
        (full / str(number)).mkdir()
    trash.throw(full)
    trash.empty(seconds=-1)
    assert trash.has_more
    while trash.has_more:
        assert trash.empty() == ()
    assert list((tmp_path / "trash").iterdir()) == []


class HeldLock:
    """Another thread has it all the time."""

    def acquire(self, timeout: float) -> bool:
        self.waited = timeout
        return False


def test_nobody_waits_for_another_who_empties_the_trash(tmp_path):
    trash, lock = Trash(tmp_path / "trash"), HeldLock()
    trash._emptying = lock
    assert trash.empty(seconds=0.5) == ()
    assert (trash.has_more, lock.waited) == (True, 0.5)


@pytest.mark.attack("T16", "A folder deeper than Python can follow stops its own deletion")
@pytest.mark.usefixtures("removes_deep_folders")
def test_a_folder_of_any_depth_is_discarded(tmp_path):
    deep, opened = tmp_path / "deep", os.open(tmp_path, os.O_RDONLY)
    for name in ("deep", *(["folder"] * 1500)):
        os.mkdir(name, dir_fd=opened)
        inner = os.open(name, os.O_RDONLY, dir_fd=opened)
        os.close(opened)
        opened = inner
    os.close(opened)
    while deep.exists() or list((tmp_path / "trash").iterdir()):
        discard(deep, tmp_path / "trash")
    discard(deep, tmp_path / "trash")
