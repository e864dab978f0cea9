"""Backup, restore, upgrade and new tokens, as in deploy/README.md: with installed daemons and GitHub's stand-in."""

import asyncio
import contextlib
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from bot.demo.scripted_model import SayText, ScriptedModel, UseTool
from bot.errors import CannotStart
from bot.maintenance.backup import _walk, back_up
from bot.system.database import open_database
from tests.fakes.github import ServedGitHub, gits
from tests.program.conftest import (  # noqa: F401 - fixtures
    SECONDS,
    Person,
    github,
    model_env,
    person,
    program_seen,
    script_of,
    write,
)

SHOP = "acme/shop"
BOT = "treehand-bot"
KEY = f"{SHOP}#1"
SCRIPTS = sorted((Path(__file__).parents[2] / "bot/store/migrations").glob("*.sql"))


@pytest.fixture
def shop(person: Person, github: ServedGitHub) -> Person:  # noqa: F811
    """A daemon's machine with its token in a file."""
    (person.home / "token").write_text(github.token_for(BOT))
    (person.repository / "treehand.toml").write_text(
        f'state_dir = "{person.home}/state"\n[github]\napi_url = "{github.url}"\ntoken_file = "{person.home}/token"\n'
        "[poll]\ninterval = 0.5\n[limits]\nquiet_seconds = 0\nclaim_seconds = 3\n"
        f'[[projects]]\nname = "shop"\ntracker = "github"\nrepository = "{SHOP}"\n'
    )
    return person


def pulls(github: ServedGitHub) -> list:  # noqa: F811
    return [one for one in github.world.repository(SHOP).issues.values() if one.pull]


def said(github: ServedGitHub, number: int) -> list[str]:  # noqa: F811
    comments = github.world.repository(SHOP).comments.values()
    return [one.body for one in comments if one.number == number and one.author.login == BOT]


async def comes_true(fact) -> None:
    async with asyncio.timeout(SECONDS):
        while not fact():
            await asyncio.sleep(0.05)


async def ends(process: asyncio.subprocess.Process) -> None:
    process.terminate()
    assert await asyncio.wait_for(process.wait(), 60) == 0


def unpacked(archive: Path, state_dir: Path) -> None:
    """Unpacks as in deploy/README.md."""
    state_dir.mkdir(mode=0o700, parents=True)
    subprocess.run(["tar", "-xzpf", archive, "-C", state_dir, "--numeric-owner"], check=True)


async def test_a_restore_on_another_machine_continues_the_same_pull_request(shop, github, tmp_path):  # noqa: F811
    """The backup is made while the daemon works; then that machine is gone."""
    world = github.world
    issue = world.open_issue(SHOP, "The answer is wrong", "Make it 42.", by="ana")
    world.label(SHOP, issue.number, "ai", by="ana")
    archive = tmp_path / "kept" / "backup.tar.gz"
    archive.parent.mkdir()
    slowly = [True]

    def follow(request):
        if "43" not in request.last_user_text:
            return ((write("answer = 42"),), (SayText("Done."),))[min(request.answers_since_user_text, 1)]
        half = UseTool(
            "Bash", {"command": f"echo half = True > half.py; sleep {60 * slowly[0]}", "description": "Half"}
        )
        return ((half,), (write("answer = 43"),), (SayText("Done as asked."),))[min(request.answers_since_user_text, 2)]

    async with ScriptedModel(follow) as model:
        daemon = await shop.start("run", **model_env(model))
        await comes_true(lambda: shop._phase(KEY) == "review")
        (pull,) = pulls(github)
        world.comment(SHOP, pull.number, "Make it 43.", by="ana")
        worktrees = shop.home / "state" / "worktrees"
        await comes_true(lambda: next(worktrees.rglob("half.py"), None))
        told = await shop.does("backup", "--to", str(archive))
        assert str(archive) in told
        os.killpg(daemon.pid, signal.SIGKILL)
        await daemon.wait()
        before = said(github, issue.number)
        slowly[0] = False

        (shop.home / "state").rename(shop.home / "gone")
        unpacked(archive, shop.home / "state")
        with tarfile.open(archive) as kept:
            assert any(name.endswith("half.py") for name in kept.getnames())
        other = await shop.start("run", **model_env(model))
        await comes_true(
            lambda: gits.git(world.repository(SHOP).path, "show", f"{pull.pull.head}:app.py") == "answer = 43"
        )
        await comes_true(lambda: shop._phase(KEY) == "review")
        assert len(pulls(github)) == 1
        assert len(said(github, issue.number)) == len(before)

        world.merge(SHOP, pull.number, "squash", by="ana")
        await comes_true(lambda: shop._phase(KEY) == "done")
        await ends(other)


async def test_a_new_token_continues_the_run_and_repeats_no_comment(shop, github):  # noqa: F811
    world = github.world
    issue = world.open_issue(SHOP, "The answer is wrong", "Make it 42.", by="ana")
    world.label(SHOP, issue.number, "ai", by="ana")

    def follow(request):
        text = "answer = 43" if "43" in request.last_user_text else "answer = 42"
        return ((write(text),), (SayText("Done."),))[min(request.answers_since_user_text, 1)]

    async with ScriptedModel(follow) as model:
        daemon = await shop.start("run", **model_env(model))
        await comes_true(lambda: shop._phase(KEY) == "review")
        (pull,) = pulls(github)
        before = said(github, issue.number)
        old = (shop.home / "token").read_text()

        (shop.home / "token").write_text(github.token_for(BOT))
        assert (shop.home / "token").read_text() != old
        await ends(daemon)
        world.revoke(old)
        daemon = await shop.start("run", **model_env(model))
        world.comment(SHOP, pull.number, "Make it 43.", by="ana")
        await comes_true(
            lambda: gits.git(world.repository(SHOP).path, "show", f"{pull.pull.head}:app.py") == "answer = 43"
        )
        await comes_true(lambda: shop._phase(KEY) == "review")
        await ends(daemon)
    assert len(pulls(github)) == 1
    assert len(said(github, issue.number)) == len(before)


def test_an_upgrade_migrates_an_old_database_and_the_earlier_backup_stays_old(tmp_path):
    """The schema of an earlier release, with a run in it."""
    state_dir, archive = tmp_path / "state", tmp_path / "before.tar.gz"
    state_dir.mkdir()
    old = open_database(state_dir / "treehand.db", SCRIPTS[:1])
    add_run(old, "shop#1")
    old.close()
    (tmp_path / "treehand.toml").write_text(
        f'state_dir = "{state_dir}"\n[[projects]]\nname = "shop"\nrepository = "."\n'
    )
    words = [sys.executable, "-m", "bot", "--config", str(tmp_path / "treehand.toml")]
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    subprocess.run([*words, "backup", "--to", archive], env=environment, check=True, timeout=SECONDS)
    shown = subprocess.run([*words, "status"], env=environment, check=True, capture_output=True, text=True).stdout
    assert "shop#1" in shown
    assert version_of(state_dir) == len(SCRIPTS)

    shutil.rmtree(state_dir)  # the way back: the old state, for the old release
    unpacked(archive, state_dir)
    assert version_of(state_dir) == 1


def add_run(db: sqlite3.Connection, key: str) -> None:
    """Inserts a run into the columns of that version."""
    values = {"key": key, "project": "shop", "phase": "asking", "ordinal": 1}
    none = {"TEXT": "", "INTEGER": 0, "REAL": 0.0}
    row = {one["name"]: none[one["type"]] for one in db.execute("PRAGMA table_info(runs)") if one["dflt_value"] is None}
    number, ended = ("turn", "ended") if "turn" in row else ("turns_number", "turns_ended")
    row |= {**values, number: 2, ended: 2}
    db.execute(f"INSERT INTO runs ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))


def version_of(state_dir: Path) -> int:
    with contextlib.closing(sqlite3.connect(state_dir / "treehand.db")) as db:
        return db.execute("PRAGMA user_version").fetchone()[0]


# Content of an archive


@pytest.fixture
def state(tmp_path: Path) -> Path:
    state_dir = tmp_path / "state"
    for folder in (
        "worktrees/shop/one",
        "mirrors/shop.git/objects/ab",
        "mirrors/shop.git/refs/heads",
        "cells",
        "forge",
    ):
        (state_dir / folder).mkdir(parents=True)
    for name in ("treehand.log", "daemon.id", "daemon.lock", "markers", "mirrors/shop.git/objects/ab/cd"):
        (state_dir / name).write_text(name)
    (state_dir / "mirrors/shop.git/packed-refs").write_text("ref")
    (state_dir / "mirrors/shop.git/refs/heads/main").write_text("ref")
    (state_dir / "worktrees/shop/one/app.lock").write_text("theirs")
    return state_dir


def names(archive: Path) -> list[str]:
    with tarfile.open(archive) as opened:
        return opened.getnames()


def test_files_that_can_be_made_again_or_belong_to_this_machine_are_left_out(state, tmp_path):
    back_up(state, tmp_path / "b.tar.gz")
    found = names(tmp_path / "b.tar.gz")
    assert {"markers", "worktrees/shop/one/app.lock"} <= set(found)
    assert not {"cells", "daemon.id", "daemon.lock", "treehand.log"} & set(found)
    assert stat.S_IMODE((tmp_path / "b.tar.gz").stat().st_mode) == 0o600


def test_git_refs_are_read_before_git_objects(state, tmp_path):
    back_up(state, tmp_path / "b.tar.gz")
    found = [name for name in names(tmp_path / "b.tar.gz") if name.startswith("mirrors/")]
    assert found.index("mirrors/shop.git/packed-refs") < found.index("mirrors/shop.git/objects/ab/cd")
    assert found.index("mirrors/shop.git/refs/heads/main") < found.index("mirrors/shop.git/objects/ab/cd")


@pytest.mark.attack("T7", "A backup hands on the operator's copied files")
def test_the_operators_copied_files_are_left_out(state, tmp_path):
    admin, worktree = state / "mirrors/shop.git/worktrees/one", state / "worktrees/shop/one"
    admin.mkdir(parents=True)
    (admin / "provision.json").write_text('{"copied": {".env": "0000", "config/key.pem": "0000"}}')
    (worktree / "config").mkdir()
    for name in (".env", "config/key.pem", "config/app.toml"):
        (worktree / name).write_text("x")
    back_up(state, tmp_path / "b.tar.gz")
    found = names(tmp_path / "b.tar.gz")
    assert "worktrees/shop/one/config/app.toml" in found
    assert not {"worktrees/shop/one/.env", "worktrees/shop/one/config/key.pem"} & set(found)


@pytest.mark.attack("T16", "A file with a hole of a terabyte fills the backup")
def test_a_file_over_the_size_limit_is_left_out(state, tmp_path):
    with (state / "worktrees/shop/one/sparse").open("wb") as stream:
        stream.truncate(1 << 40)
    assert back_up(state, tmp_path / "b.tar.gz").left_out == 1
    assert "worktrees/shop/one/sparse" not in names(tmp_path / "b.tar.gz")


def test_a_database_is_consistent_during_a_write(state, tmp_path):
    db = open_database(state / "treehand.db", SCRIPTS)
    db.execute("BEGIN IMMEDIATE")
    add_run(db, "shop#1")
    back_up(state, tmp_path / "b.tar.gz")
    db.rollback()
    db.close()
    unpacked(tmp_path / "b.tar.gz", tmp_path / "other")
    copy = open_database(tmp_path / "other" / "treehand.db", SCRIPTS)
    assert copy.execute("SELECT COUNT(*) FROM runs").fetchone()[0] == 0
    copy.close()
    assert sorted(path.name for path in (tmp_path / "other").glob("treehand.db*")) == ["treehand.db"]


def test_links_in_a_worktree_are_not_followed(state, tmp_path):
    """T8: it stays a link, and its target is not read."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("a secret")
    worktree = state / "worktrees/shop/one"
    (worktree / "file").symlink_to(secret / "key")
    (worktree / "folder").symlink_to(secret)
    os.mkfifo(worktree / "pipe")
    back_up(state, tmp_path / "b.tar.gz")
    with tarfile.open(tmp_path / "b.tar.gz") as opened:
        held = {one.name: one for one in opened}
    assert held["worktrees/shop/one/file"].issym()
    assert held["worktrees/shop/one/folder"].issym()
    assert not [name for name in held if name.endswith(("/key", "/pipe"))]


@pytest.mark.attack("T8", "File names, links and modes that an agent chose do harm when a backup is restored")
def test_t8_hostile_names_links_and_modes_are_restored_without_effect(state, tmp_path):
    worktree, outside = state / "worktrees/shop/one", tmp_path / "outside"
    outside.mkdir()
    (outside / "key").write_text("canary")
    odd = [b"a\nb", b"-rf", b"--checkpoint-action=exec=touch pwned", b"--checkpoint=1", b"\xff\xfe", b"x" * 250]
    for name in odd:
        (worktree / os.fsdecode(name)).write_text("theirs")
    (worktree / "into").symlink_to(outside)
    (worktree / "up").symlink_to("../../../../outside")
    os.link(outside / "key", worktree / "twice")
    (worktree / "program").write_text("#!/bin/sh\n")
    (worktree / "program").chmod(0o6777)
    (worktree / "folder").mkdir()
    (worktree / "folder").chmod(0o3777)
    back_up(state, tmp_path / "b.tar.gz")
    restored = tmp_path / "restored"
    unpacked(tmp_path / "b.tar.gz", restored)
    there = restored / "worktrees/shop/one"
    assert {os.fsencode(path.name) for path in there.iterdir()} >= set(odd)
    (there / "twice").write_text("changed")
    assert (outside / "key").read_text() == "canary"
    assert [path.name for path in outside.iterdir()] == ["key"]
    assert not list(tmp_path.rglob("pwned"))
    assert [stat.S_IMODE((there / name).stat().st_mode) for name in ("program", "folder")] == [0o777, 0o777]


@pytest.mark.parametrize(
    ("to", "said"),
    [("state/b.gz", "is inside the state_dir"), ("b.gz", "exists already"), ("no/b.gz", "does not exist")],
)
def test_a_backup_overwrites_nothing_and_is_not_written_into_the_state(state, tmp_path, to, said):
    (tmp_path / "b.gz").write_text("an earlier one")
    with pytest.raises(CannotStart, match=said):
        back_up(state, tmp_path / to)
    assert (tmp_path / "b.gz").read_text() == "an earlier one"


def test_a_backup_can_be_written_to_standard_output(state, tmp_path):
    (tmp_path / "treehand.toml").write_text(f'state_dir = "{state}"\n')
    open_database(state / "treehand.db", SCRIPTS).close()
    words = [sys.executable, "-m", "bot", "--config", str(tmp_path / "treehand.toml"), "backup", "--to", "-"]
    env = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    done = subprocess.run(words, env=env, capture_output=True, check=True, timeout=SECONDS)
    (tmp_path / "b.tar.gz").write_bytes(done.stdout)
    assert "markers" in names(tmp_path / "b.tar.gz")


def test_a_folder_replaced_by_a_link_is_not_entered(state, tmp_path):
    """T8: after a folder was listed, and before it is opened, its parent becomes a link."""
    (tmp_path / "outside" / "inner").mkdir(parents=True)
    (tmp_path / "outside" / "inner" / "key").write_text("a secret")
    worktree = state / "worktrees/shop/one"
    (worktree / "inner").mkdir()
    seen = []
    for name, _ in _walk(state):
        seen.append(name)
        if name == "worktrees/shop/one/inner":
            worktree.rename(state / "worktrees/shop/moved")
            worktree.symlink_to(tmp_path / "outside")
    assert "worktrees/shop/one/inner" in seen
    assert not [name for name in seen if name.endswith("/key")]


def test_without_a_state_directory_there_is_no_backup(tmp_path):
    with pytest.raises(CannotStart, match="nothing to back up"):
        back_up(tmp_path / "none", tmp_path / "b.gz")
