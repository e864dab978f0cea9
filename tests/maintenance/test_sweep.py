"""Maintenance: finished workspaces are removed, foreign files stay, and disk space is freed in the right order."""

import os
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bot.domain.branch_name import branch_for
from bot.domain.remote import Remote
from bot.domain.run import Phase, Run, WaitReason
from bot.domain.salvage import RETENTION_SECONDS
from bot.domain.turn import Event, EventKind
from bot.engine.build import policy_for
from bot.errors import Elsewhere, Retryable
from bot.evidence.store import EvidenceStore
from bot.maintenance.fill_pools import PoolFiller
from bot.maintenance.sweep import Maintenance, RunLeftovers, list_removable
from bot.ports import Project
from bot.settings.schema import ProjectSettings, Settings
from bot.store.runs import RunStore
from bot.store.transcripts import Transcripts
from bot.system import clock
from bot.system.disk import MIN_FREE_FILES, Disk, DiskLevel, describe_sizes
from bot.workspace.workspaces import GitWorkspaces
from tests.fakes.runs import a_run
from tests.workspace.conftest import Origin, run_git

SALVAGE = "refs/treehand/salvage/shop-1/1"


@dataclass
class Forge:
    """A forge with the methods that maintenance needs."""

    there: Remote
    away: bool = False

    async def remote(self) -> Remote:
        if self.away:
            raise Retryable("no answer")
        return self.there


@dataclass
class HeldLease:
    """A lease that another daemon takes at the given call."""

    left: int

    def check(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Elsewhere


async def ours(_: Project) -> bool:
    return True


async def anothers(_: Project) -> bool:
    return False


@dataclass
class Home:
    """A state directory and its maintenance."""

    maintenance: Maintenance
    origin: Origin
    forge: Forge
    state: Path
    forgotten: list[float] = field(default_factory=list)

    async def run(self, number: int, phase: Phase, **fields) -> Run:
        """Makes a run with a worktree, a home and a transcript."""
        run = a_run(
            f"shop#{number}", "shop", **{"phase": phase, "turns_number": 1, "changed_at": float(number), **fields}
        )
        self.maintenance.store.save(run, at=clock.now())
        await self.workspaces.ensure(branch_for(run), base="", remote=self.origin.remote)
        self.agent_home(run).mkdir(parents=True)
        self.maintenance.leftovers.transcripts.append(Asked(run.id), Event(EventKind.TEXT, 1.0, "hello"))
        self.maintenance.leftovers.transcripts.flush()
        return run

    @property
    def workspaces(self) -> GitWorkspaces:
        return self.maintenance.workspaces["shop"]

    def folder(self, run: Run) -> Path:
        return self.workspaces.folder(branch_for(run))

    def agent_home(self, run: Run) -> Path:
        return self.state / "homes" / "shop" / branch_for(run).replace("/", "-")

    def salvage_refs(self) -> list[str]:
        return run_git(self.origin.bare, "for-each-ref", "--format=%(refname)", "refs/treehand").split()


@dataclass
class Asked:
    run_id: str
    turn_id: str = "t"


def build_home(state: Path, origin: Origin, *, least_gb: float = 0.0) -> Home:
    state.mkdir(exist_ok=True)
    settings = Settings(state_dir=state, projects=(ProjectSettings(name="shop", repository="ana/shop"),))
    (project,) = settings.projects
    workspaces, forge, forgotten = GitWorkspaces(state, "shop", idle_seconds=0), Forge(origin.remote), []
    projects = {
        "shop": Project("shop", None, forge, workspaces, policy_for(project, settings), None)  # type: ignore[arg-type]
    }
    store, transcripts = RunStore.open(state / "treehand.db"), Transcripts(state / "transcripts")
    disk = Disk(state, least_gb)
    maintenance = Maintenance(
        state, store, RunLeftovers(state, transcripts), projects, {"shop": workspaces},
        PoolFiller(state, {}, disk), disk,
        dict, ours, forgotten.append,
    )  # fmt: skip
    return Home(maintenance, origin, forge, state, forgotten)


@pytest.fixture
def bare_origin(tmp_path):
    bare, clone = tmp_path / "origin.git", tmp_path / "ada"
    run_git(tmp_path, "init", "-q", "--bare", "-b", "main", str(bare))
    run_git(tmp_path, "clone", "-q", str(bare), str(clone))
    origin = Origin(bare, clone)
    origin.commit({"README.md": "hello\n", ".gitignore": "build/\n"})
    return origin


@pytest.fixture
def home(tmp_path, bare_origin):
    made = build_home(tmp_path / "state", bare_origin)
    yield made
    made.maintenance.store.close()


@pytest.fixture
def short(tmp_path, bare_origin):
    """A home on a disk that is always short of space."""
    made = build_home(tmp_path / "state", bare_origin, least_gb=1e9)
    yield made
    made.maintenance.store.close()


async def test_only_the_transcript_of_a_finished_run_is_kept(home):
    done, going = await home.run(1, Phase.DONE, changed_at=clock.now()), await home.run(2, Phase.REVIEW)
    home.agent_home(done).with_name("treehand-shop-1-by-hand").mkdir()
    (home.state / "homes" / "shop" / "notes").mkdir()

    said = await list_removable(
        home.state, home.maintenance.store, home.maintenance.leftovers.transcripts, home.maintenance.workspaces
    )
    await home.maintenance.sweep()

    homes = home.state / "homes" / "shop"
    gone = {"treehand/shop-1", str(home.agent_home(done)), str(homes / "treehand-shop-1-by-hand")}
    assert set(said) == gone
    assert not home.folder(done).exists()
    assert home.folder(going).exists()
    assert sorted(path.name for path in homes.iterdir()) == ["notes", "treehand-shop-2"]
    assert len(list((home.state / "transcripts").iterdir())) == 2
    assert home.forgotten[0] < clock.now() - RETENTION_SECONDS + 5


async def test_a_transcript_is_removed_a_month_after_its_run_ended(home):
    long_ago = clock.now() - RETENTION_SECONDS - 60
    ended = await home.run(1, Phase.DONE, changed_at=long_ago)
    late = await home.run(2, Phase.DONE, changed_at=clock.now())
    going = await home.run(3, Phase.REVIEW, changed_at=long_ago)
    transcripts = home.maintenance.leftovers.transcripts
    (home.state / "transcripts" / "notes.txt").write_text("a person's")
    (home.state / "transcripts" / "linked.jsonl").symlink_to("notes.txt")
    for file in (home.state / "transcripts").iterdir():
        os.utime(file, (long_ago, long_ago), follow_symlinks=False)
    await home.maintenance.sweep()
    left = {path.name for path in (home.state / "transcripts").iterdir()}
    assert left == {transcripts.path(late.id).name, transcripts.path(going.id).name, "notes.txt", "linked.jsonl"}
    assert ended.id


async def test_work_that_no_commit_can_hold_is_removed_after_a_month_and_other_folders_stay(home):
    long_ago, aside = clock.now() - RETENTION_SECONDS - 60, home.state / "aside" / "shop"
    old = ("shop-1-0123456789ab.work", "shop-2.work-0123abcd", "a-persons-folder", "worktree.git")
    for name in (*old, "shop-3-0123456789ab.work"):
        (aside / name).mkdir(parents=True)
        (aside / name / "file").write_text("x")
    for name in old:
        os.utime(aside / name, (long_ago, long_ago))
    done = await home.maintenance.sweep()
    left = {path.name for path in aside.iterdir()}
    assert left == {"a-persons-folder", "worktree.git", "shop-3-0123456789ab.work"}
    assert f"{aside / old[0]} removed" in done


async def test_evidence_is_removed_a_month_after_its_run_ended(home):
    long_ago, evidence = clock.now() - RETENTION_SECONDS - 60, EvidenceStore(home.state / "evidence")
    runs = [
        await home.run(1, Phase.DONE, changed_at=long_ago),
        await home.run(2, Phase.DONE, changed_at=clock.now()),
        await home.run(3, Phase.REVIEW, changed_at=long_ago),
    ]
    for run in runs:
        evidence.save(run.id, "turn-1", "a.log", b"x")
    for folder in evidence.folder.iterdir():
        os.utime(folder, (long_ago, long_ago))
    await home.maintenance.sweep()
    assert [bool(evidence.list_files(run.id)) for run in runs] == [False, True, True]


async def test_unknown_workspaces_are_kept_until_the_trackers_were_read(home):
    lost = await home.run(1, Phase.REVIEW)
    (home.folder(lost) / "half.py").write_text("unfinished\n")
    home.maintenance.store._db.execute("DELETE FROM runs")

    await home.maintenance.sweep()
    assert home.folder(lost).exists()
    assert home.agent_home(lost).exists()

    home.maintenance.trackers_read = True
    home.maintenance.unreadable_projects = lambda: {"shop": Retryable("no answer")}
    await home.maintenance.sweep()
    assert home.folder(lost).exists()
    assert home.agent_home(lost).exists()

    home.maintenance.unreadable_projects = dict
    await home.maintenance.sweep()
    assert not home.folder(lost).exists()
    assert not home.agent_home(lost).exists()
    assert [one.ref for one in await home.workspaces.salvage_store.list()] == [SALVAGE]


async def test_an_unreadable_database_postpones_the_sweep(home, monkeypatch, caplog):
    done = await home.run(1, Phase.DONE)
    home.maintenance.store._db.execute("ALTER TABLE runs RENAME TO away")
    assert await home.maintenance.sweep() == []
    assert home.folder(done).exists()
    assert "sweep postponed" in caplog.text


async def test_homes_behind_a_link_are_not_removed(home, tmp_path):
    done = await home.run(1, Phase.DONE)
    elsewhere = tmp_path / "elsewhere"
    (home.state / "homes" / "shop").rename(elsewhere)
    (home.state / "homes" / "shop").symlink_to(elsewhere)
    await home.maintenance.sweep()
    assert (elsewhere / home.agent_home(done).name).exists()


async def salvaged(home: Home) -> None:
    run = await home.run(1, Phase.REVIEW)
    (home.folder(run) / "half.py").write_text("unfinished\n")
    assert await home.workspaces.salvage(branch_for(run)) == SALVAGE


async def test_salvage_that_could_not_be_shared_is_shared_at_the_next_sync(home):
    await salvaged(home)
    home.forge.away = True
    assert await home.maintenance.sync_salvage() == []
    home.forge.away = False
    assert await home.maintenance.sync_salvage() == [f"{SALVAGE} was pushed to the repository"]
    assert home.salvage_refs() == [SALVAGE]
    assert await home.maintenance.sync_salvage() == []


async def test_blocked_salvage_stays_local_and_does_not_delay_other_salvage(home):
    await salvaged(home)
    second = await home.run(2, Phase.REVIEW)
    (home.folder(second) / "CLAUDE.md").write_text("Obey.\n")
    await home.workspaces.salvage(branch_for(second))
    await home.maintenance.sync_salvage()
    await home.maintenance.sync_salvage()
    assert home.salvage_refs() == [SALVAGE]


async def test_without_the_lease_no_salvage_is_written_to_the_repository(home):
    await salvaged(home)
    home.maintenance.may_write = anothers
    assert await home.maintenance.sync_salvage() == []
    assert home.salvage_refs() == []


async def test_salvage_shared_by_another_daemon_is_fetched_without_the_lease(home, tmp_path, bare_origin):
    await salvaged(home)
    await home.maintenance.sync_salvage()
    elsewhere = build_home(tmp_path / "elsewhere", bare_origin)
    elsewhere.maintenance.may_write = anothers
    assert await elsewhere.maintenance.sync_salvage() == []
    assert [one.ref for one in await elsewhere.workspaces.salvage_store.list()] == [SALVAGE]
    elsewhere.maintenance.store.close()


async def test_a_lease_lost_during_the_sync_prevents_the_write(home):
    await salvaged(home)
    leased = replace(home.maintenance.projects["shop"], lease=HeldLease(0))
    home.maintenance.projects = {"shop": leased}
    await home.maintenance.sync_salvage()
    assert home.salvage_refs() == []


async def test_salvaged_work_is_removed_after_a_month_locally_and_at_the_remote(home):
    await salvaged(home)
    await home.maintenance.sync_salvage()
    long_ago = clock.now() - RETENTION_SECONDS - 60
    await home.workspaces.salvage_store.restart_retention([SALVAGE], now=long_ago)
    home.forge.away = True
    assert await home.maintenance.sync_salvage() == []
    assert len(await home.workspaces.salvage_store.list()) == 1
    home.forge.away = False
    assert await home.maintenance.sync_salvage() == [f"{SALVAGE} was kept for 30 days and is now removed"]
    assert home.salvage_refs() == []
    assert await home.workspaces.salvage_store.list() == ()


async def idle(home: Home, number: int, **fields) -> Run:
    run = await home.run(number, fields.pop("phase", Phase.REVIEW), **fields)
    (home.folder(run) / "build").mkdir()
    (home.folder(run) / "build" / "out.o").write_bytes(bytes(2_000_000))
    (home.folder(run) / "half.py").write_text("unfinished\n")
    return run


async def test_disk_space_is_freed_only_from_idle_runs_that_wait_for_no_person(short):
    idling = await idle(short, 1)
    held = await idle(short, 2, phase=Phase.ASKING, wait_reason=WaitReason.BLOCKED)
    taken = await idle(short, 3, phase=Phase.ASKING, wait_reason=WaitReason.TAKEN_OVER)
    working = await idle(short, 4, phase=Phase.WORKING)

    await short.maintenance.make_room()

    assert not short.folder(idling).exists()
    assert (short.folder(held) / "half.py").exists()
    assert not (short.folder(held) / "build").exists()
    assert (short.folder(taken) / "build").exists()
    assert (short.folder(working) / "build").exists()
    assert await short.maintenance.make_room() == []


async def test_downloads_of_projects_without_active_runs_are_removed(short):
    for name in ("shop", "gone"):
        (short.state / "caches" / name / "shared").mkdir(parents=True)
        (short.state / "caches" / name / "verified.json").write_text("{}")
    run = await idle(short, 1)
    await short.maintenance.make_room()
    assert (short.state / "caches" / "shop" / "shared").exists(), "its tools look there for what they installed"
    assert not (short.state / "caches" / "gone" / "shared").exists()
    short.maintenance.store.save(run.to(Phase.DONE, now=2.0), at=2.0)
    await short.maintenance.make_room()
    assert [path.name for path in (short.state / "caches" / "shop").iterdir()] == ["verified.json"]


async def test_with_enough_disk_space_nothing_is_removed(home):
    run = await idle(home, 1)
    assert list(await home.maintenance.make_room()) == []
    assert (home.folder(run) / "build").exists()


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    options = f"size=40m,nr_inodes={MIN_FREE_FILES + 30_000}"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


async def test_freeing_stops_once_there_is_space_and_begins_with_the_longest_idle_run(small_disk, bare_origin):
    home = build_home(small_disk / "state", bare_origin)
    newer, older = await idle(home, 2), await idle(home, 1)
    free = Disk(small_disk, 0).level().free_gb
    home.maintenance.disk = Disk(small_disk, (free + 0.001) / 1.1)
    home.maintenance.disk._was_short = True
    assert await home.maintenance.make_room() == ["treehand/shop-1: build output removed"]
    assert not (home.folder(older) / "build").exists()
    assert (home.folder(newer) / "build").exists()
    home.maintenance.store.close()


async def test_a_filling_disk_is_logged_once_while_agents_work(short, caplog):
    short.maintenance.watch_disk()
    assert "fills up" not in caplog.text
    await short.run(1, Phase.WORKING)
    short.maintenance.watch_disk()
    short.maintenance.watch_disk()
    assert caplog.text.count("disk is filling up while agents work: only") == 1


def test_a_disk_that_was_short_needs_a_tenth_more_than_required(small_disk):
    free = Disk(small_disk, 0).level().free_gb
    disk, filler = Disk(small_disk, free - 0.003), small_disk / "filler"
    assert disk.level().shortage == ""
    filler.write_bytes(bytes(4_000_000))
    assert disk.level().shortage.startswith("only 0.0 GB of disk are free")
    filler.write_bytes(bytes(2_000_000))
    assert disk.level().shortage, "enough for who had enough, not for who had too little"
    assert not Disk(small_disk, free - 0.003).level().shortage
    filler.unlink()
    assert not Disk(small_disk, free - 0.005).level().shortage


def test_a_disk_without_free_inodes_is_full(small_disk):
    disk = Disk(small_disk, 0.001)
    assert disk.level().shortage == ""
    for number in range(30_001):
        os.mknod(small_disk / str(number))
    assert "more files fit on the disk (50,000 are required)" in disk.level().shortage
    assert Disk(small_disk, 0).level().shortage == ""


def test_less_than_half_of_the_required_space_is_critical():
    assert not DiskLevel(3, 5, None, MIN_FREE_FILES).is_critical
    assert DiskLevel(2, 5, None, MIN_FREE_FILES).is_critical
    assert DiskLevel(9, 5, 20_000, MIN_FREE_FILES).is_critical


def test_sizes_are_measured_without_following_links_and_within_a_time_limit(tmp_path):
    (tmp_path / "big").mkdir()
    (tmp_path / "big" / "file").write_bytes(os.urandom(3_000_000))
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "link").symlink_to(tmp_path / "big")
    folders = [("big", tmp_path / "big"), ("small", tmp_path / "small"), ("none", tmp_path / "none")]
    assert describe_sizes(folders, seconds=10) == "big 3.0 MB, small 0.0 MB"
    assert describe_sizes(folders[:1], seconds=-1) == "big more than 3.0 MB"
