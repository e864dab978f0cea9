"""Lease: one of several daemons acts on a repository at a time, despite lost responses and crashes."""

import asyncio
import json
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

import pytest

from bot.domain.remote import Remote
from bot.errors import Elsewhere, Retryable
from bot.ports import LeaseState
from bot.workspace.lease import DaemonId, GitLease
from bot.workspace.lease_ref import LEASE_REF, MAX_SECONDS, LeaseEntry, LeaseRecord, LeaseRef, parse_record
from bot.workspace.mirror import Mirror
from tests.workspace.conftest import run_git

SECONDS = 180.0
OURS, REGAINED, OTHERS = LeaseState.HELD, LeaseState.REACQUIRED, LeaseState.HELD_ELSEWHERE


class Hand:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Ground:
    origin: object
    folder: object
    clock: Hand
    reachable: bool = True

    async def remote(self) -> Remote:
        return self.origin.remote if self.reachable else Remote(str(self.folder / "nowhere" / "at" / "all.git"))

    def daemon(self, name: str, seconds: float = SECONDS, folder: str = "", quiet_seconds: float = 0.0) -> GitLease:
        register = LeaseRef(Mirror(self.folder / (folder or name) / "mirror.git"))
        return GitLease(
            register, self.remote, own=DaemonId(name), seconds=seconds, clock=self.clock, quiet_seconds=quiet_seconds
        )

    @property
    def record(self) -> dict:
        return json.loads(run_git(self.origin.bare, "log", "-1", "--format=%B", LEASE_REF))

    async def pass_by(self, seconds: float, *daemons: GitLease, quiet: bool = False) -> list[LeaseState]:
        """Calls ensure like the loops do."""
        said = []
        for _ in range(int(seconds // 5)):
            self.clock.now += 5.0
            said += [await one.ensure(quiet=quiet) for one in daemons]
        return said


@pytest.fixture
def ground(empty_origin, tmp_path):
    return Ground(empty_origin, tmp_path, Hand())


def holds(claim: GitLease) -> bool:
    try:
        claim.check()
    except Elsewhere:
        return False
    return True


async def test_the_first_daemon_gets_the_lease_and_keeps_it_while_it_runs(ground):
    one, two = ground.daemon("one"), ground.daemon("two")
    assert not holds(one)
    assert (await one.ensure(), await two.ensure()) == (OURS, OTHERS)
    said = await ground.pass_by(600, one, two)
    assert said == [OURS, OTHERS] * 120
    assert (holds(one), holds(two)) == (True, False)
    assert ground.record["term"] == 600 // 60 + 1
    assert ground.record["by"] == "one"


async def test_the_record_tells_nothing_about_the_machine_and_the_process(ground):
    await ground.daemon("one").ensure()
    assert ground.record.keys() == {"by", "life", "term", "seconds", "free", "taken"}


async def test_while_no_agent_works_the_lease_is_renewed_144_times_a_day(ground):
    one, two = ground.daemon("one", 90.0, quiet_seconds=900.0), ground.daemon("two", 90.0, quiet_seconds=900.0)
    await one.ensure()
    await ground.pass_by(600, one, quiet=True)
    begun = ground.record["term"]
    said = await ground.pass_by(3600, one, two, quiet=True)
    assert set(said[::2]) == {OURS}
    assert set(said[1::2]) == {OTHERS}
    assert (ground.record["term"] - begun) * 24 == 144


async def test_the_lease_becomes_short_when_an_agent_begins_to_work(ground):
    one, two = ground.daemon("one", quiet_seconds=10 * SECONDS), ground.daemon("two", quiet_seconds=10 * SECONDS)
    await one.ensure()
    await ground.pass_by(600, one, quiet=True)
    await two.ensure()
    assert ground.record["seconds"] == 10 * SECONDS
    await ground.pass_by(30, one, two)
    assert ground.record["seconds"] == SECONDS
    assert REGAINED in await ground.pass_by(SECONDS * 1.2, two), "whoever dies during a turn is soon replaced"
    assert not holds(one)


async def test_a_daemon_that_dies_while_no_agent_works_is_replaced_after_the_longer_time(ground):
    one, two = ground.daemon("one", quiet_seconds=10 * SECONDS), ground.daemon("two")
    await one.ensure()
    await ground.pass_by(600, one, quiet=True)
    assert set(await ground.pass_by(SECONDS * 10, two)) == {OTHERS}
    assert not holds(one)
    assert REGAINED in await ground.pass_by(SECONDS * 1.2, two)


async def test_projects_that_share_a_lease_keep_it_short_while_one_of_them_works(ground):
    one = ground.daemon("one", quiet_seconds=10 * SECONDS)
    await one.ensure()
    for _ in range(60):
        await ground.pass_by(5, one, quiet=True)
        await ground.pass_by(5, one)
    assert ground.record["seconds"] == SECONDS
    assert ground.record["term"] <= 1 + 600 // 60


async def test_a_lease_whose_shortening_gets_no_answer_counts_as_short(ground):
    one = ground.daemon("one", quiet_seconds=10 * SECONDS)
    await one.ensure()
    await ground.pass_by(600, one, quiet=True)
    ground.reachable = False
    assert set(await ground.pass_by(145, one)) == {OURS}
    ground.clock.now += 10.0
    assert not holds(one)


async def test_the_record_of_an_earlier_version_is_understood(ground):
    said = {"by": "old", "life": "x", "term": 7, "seconds": 180.0, "host": "shop-1", "pid": 5}
    (ground.origin.clone / "note").write_text("mine\n")
    run_git(ground.origin.clone, "add", ".")
    run_git(ground.origin.clone, "commit", "-q", "-m", json.dumps({**said, "free": False, "taken": False}))
    run_git(ground.origin.clone, "push", "-q", "-f", "origin", f"HEAD:{LEASE_REF}")
    two = ground.daemon("two")
    assert set(await ground.pass_by(SECONDS, two)) == {OTHERS}
    assert REGAINED in await ground.pass_by(60, two)
    assert (ground.record["term"], parse_record(json.dumps(said)).holder) == (8, "shop-1, pid 5")


async def test_a_lease_is_one_empty_commit(ground):
    one = ground.daemon("one")
    await one.ensure()
    assert run_git(ground.origin.bare, "rev-list", "--count", LEASE_REF) == "1"
    assert run_git(ground.origin.bare, "ls-tree", LEASE_REF) == ""
    assert run_git(ground.origin.bare, "for-each-ref", "--format=%(refname)") == LEASE_REF


async def test_a_silent_holder_loses_the_lease_and_the_new_holder_is_notified_once(ground):
    one, two = ground.daemon("one"), ground.daemon("two")
    await one.ensure(), await two.ensure()
    said = await ground.pass_by(SECONDS, two)
    assert set(said) == {OTHERS}
    assert not holds(one), "its right has ended before anybody else's begins"
    said = await ground.pass_by(60, two)
    assert said.count(REGAINED) == 1
    assert said[-1] is OURS
    assert await one.ensure() is OTHERS
    assert not holds(one)


async def test_a_holder_that_was_suspended_for_long_may_not_write(ground):
    one, two = ground.daemon("one"), ground.daemon("two")
    await one.ensure(), await two.ensure()
    await ground.pass_by(240, two)
    with pytest.raises(Elsewhere):
        one.check()
    holds_now = [holds(one), holds(two)]
    assert holds_now == [False, True]


async def test_the_lease_ends_counted_from_before_its_record_was_written(ground):
    one = ground.daemon("one")
    register, swap = one._store, one._store.compare_and_swap

    def slow(remote, old, record):
        made = swap(remote, old, record)
        ground.clock.now += SECONDS  # stopped in the middle of it
        return made

    register.compare_and_swap = slow
    with pytest.raises(Retryable):
        await one.ensure()
    assert not holds(one)


async def test_a_suspended_holder_continues_if_no_other_daemon_took_the_lease(ground):
    one = ground.daemon("one")
    await one.ensure()
    ground.clock.now += 5000.0
    assert not holds(one)
    assert await one.ensure() is OURS
    assert holds(one)


async def test_a_restarted_holder_gets_its_lease_back_at_once(ground):
    one, two = ground.daemon("one"), ground.daemon("two")
    await one.ensure(), await two.ensure()
    again = ground.daemon("one")
    assert await again.ensure() is OURS
    assert await two.ensure() is OTHERS
    assert await one.ensure() is OURS, "its right has not ended, and it did not have to ask"


async def test_a_restart_during_a_takeover_of_the_lease_still_reports_it(ground):
    one, two = ground.daemon("one"), ground.daemon("two")
    await one.ensure()
    await one.release()
    assert await two.ensure() is REGAINED
    again = ground.daemon("two")
    assert await again.ensure() is REGAINED
    await ground.pass_by(120, again)
    assert await ground.daemon("two").ensure() is OURS


async def test_a_released_lease_can_be_taken_at_once(ground):
    one, two = ground.daemon("one"), ground.daemon("two")
    assert await one.ensure() is OURS
    await one.release()
    assert not holds(one)
    assert (await two.ensure(), await two.ensure()) == (REGAINED, OURS)
    await two.release()
    assert await ground.daemon("two").ensure() is OURS, "nobody else has had it since"


async def test_a_lease_released_right_after_a_write_is_taken_after_a_delay(ground):
    one, two = ground.daemon("one"), ground.daemon("two")
    await one.ensure()
    one.check()
    await one.release()
    with pytest.raises(Retryable):
        await two.ensure()
    ground.clock.now += 9.0
    with pytest.raises(Retryable):
        await two.ensure()
    assert REGAINED in await ground.pass_by(10, two)


async def test_releasing_the_lease_of_another_daemon_changes_nothing(ground):
    one, two = ground.daemon("one"), ground.daemon("two")
    await one.ensure(), await two.ensure()
    await two.release()
    await ground.daemon("three").release()
    assert ground.record["free"] is False
    assert await ground.daemon("three").ensure() is OTHERS


async def test_a_running_copy_with_the_same_name_counts_as_another_daemon(ground):
    one, copy = ground.daemon("one"), ground.daemon("one", folder="copy")
    await one.ensure()
    await copy.ensure()
    said = await ground.pass_by(600, one, copy)
    assert set(said[60::2]) == {OTHERS}
    assert set(said[61::2]) == {OURS}


async def test_an_unreachable_remote_is_retried_until_the_lease_ends(ground):
    one = ground.daemon("one")
    await one.ensure()
    ground.reachable = False
    assert set(await ground.pass_by(145, one)) == {OURS}
    ground.clock.now += 10.0
    with pytest.raises(Exception, match="nowhere"):
        await one.ensure()
    ground.reachable = True
    ground.clock.now += 20.0
    assert await one.ensure() is OURS


@pytest.mark.parametrize("how", ["hook", "hidden"])
async def test_a_remote_that_refuses_lease_refs_lets_every_daemon_act(ground, how, caplog):
    if how == "hidden":
        run_git(ground.origin.bare, "config", "receive.hideRefs", "refs/treehand")
    else:
        hook = ground.origin.bare / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\nexit 1\n")
        hook.chmod(0o755)
    one, two = ground.daemon("one"), ground.daemon("two")
    assert [await one.ensure(), await two.ensure(), await one.ensure()] == [OURS, OURS, OURS]
    assert holds(one)
    assert len([entry for entry in caplog.records if "lease refused" in entry.message]) == 2
    await one.release()


async def test_a_ref_that_is_being_written_is_no_refusal(ground):
    one = ground.daemon("one")
    await one.ensure()
    lock = ground.origin.bare / f"{LEASE_REF}.lock"
    lock.touch()
    assert set(await ground.pass_by(100, one)) == {OURS}
    lock.unlink()
    assert set(await ground.pass_by(100, one)) == {OURS}


async def test_a_deleted_lease_record_is_written_again_and_an_unreadable_one_is_waited_for(ground):
    one, two = ground.daemon("one"), ground.daemon("two")
    await one.ensure(), await two.ensure()
    run_git(ground.origin.bare, "update-ref", "-d", LEASE_REF)
    ground.clock.now += 16.0
    assert await two.ensure() is OTHERS, "whoever had it does not know yet"
    ground.clock.now += 50.0
    assert await one.ensure() is OURS
    (ground.origin.clone / "note").write_text("mine\n")
    run_git(ground.origin.clone, "add", ".")
    run_git(ground.origin.clone, "commit", "-q", "-m", "[1, 2]")
    run_git(ground.origin.clone, "push", "-q", "-f", "origin", f"HEAD:{LEASE_REF}")
    said = await ground.pass_by(SECONDS, two)
    assert set(said) == {OTHERS}
    assert REGAINED in await ground.pass_by(60, two)


async def test_one_of_several_simultaneous_daemons_gets_the_lease(ground):
    for _ in range(5):
        daemons = [ground.daemon(f"{number}") for number in range(4)]
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(one.ensure()) for one in daemons]
        said = [one.result() for one in asked]
        assert sum(map(holds, daemons)) == 1, said
        assert said.count(OTHERS) == 3
        holder = next(one for one in daemons if holds(one))
        ground.clock.now += 40.0
        await holder.release()


def test_an_invalid_lease_record_is_rejected():
    good = LeaseRecord("a", "b", 3, 60.0, "host", 5, free=True, taken=True)
    said = {
        "by": "a",
        "life": "b",
        "term": 3,
        "seconds": 60,
        "host": "ho\x1bst\n",
        "pid": 5,
        "free": True,
        "taken": True,
    }
    assert parse_record(json.dumps(said)) == good
    assert parse_record(json.dumps({**said, "seconds": 1e300})) == replace(good, seconds=MAX_SECONDS)
    assert parse_record(json.dumps({**said, "seconds": -5})) == replace(good, seconds=0.0)
    for bad in (
        "",
        "[]",
        "7",
        "null",
        "{}",
        '{"by": 1',
        json.dumps({**said, "term": "x"}),
        '{"term": 1e999}',
        "[" * 100_000,
    ):
        assert parse_record(bad) is None
    assert parse_record(json.dumps({**said, "term": None})) is None
    assert parse_record(json.dumps(said).replace("60", "NaN")) is None


# Any order of events


class Register:
    """A value with atomic compare-and-set, on a network that loses responses."""

    def __init__(self, chance: random.Random, cells: list[LeaseEntry], wait: Callable[[float], None]) -> None:
        self.chance, self.cells, self.wait = chance, cells, wait

    def read(self, _: Remote) -> LeaseEntry:
        self._lose()
        return self.cells[-1]

    def compare_and_swap(self, _: Remote, old: str, record: LeaseRecord) -> str:
        self._lose()
        if self.cells[-1].id != old:
            raise Retryable("stale")
        self.cells.append(LeaseEntry(f"{len(self.cells)}", record))
        self._lose()
        return self.cells[-1].id

    def _lose(self) -> None:
        if self.chance.random() < 0.2:
            self.wait(self.chance.uniform(0, 8))
        if self.chance.random() < 0.1:
            raise Retryable("no answer")


@dataclass
class Daemon:
    """A daemon with its own clock, which runs at its own speed."""

    name: str
    chance: random.Random
    cells: list[LeaseEntry]
    wait_all: Callable[[float], None]
    speed: float
    clock: Hand = field(default_factory=Hand)
    stopped: float = 0.0
    is_quiet: bool = True
    claim: GitLease | None = None

    def start(self) -> None:
        register = Register(self.chance, self.cells, self.wait_all)
        own = DaemonId(self.name)
        self.claim = GitLease(register, self.remote, own=own, seconds=30.0, clock=self.clock, quiet_seconds=90.0)

    async def remote(self) -> Remote:
        return Remote("")

    def wait(self, seconds: float) -> None:
        self.clock.now += seconds * self.speed
        self.stopped = max(0.0, self.stopped - seconds)

    async def live(self) -> LeaseState | None:
        """Returns the last lease state; None without a response."""
        event = self.chance.random()
        if self.stopped or event < 0.02:
            self.stopped = self.stopped or self.chance.uniform(5, 120)
        elif event < 0.04:
            self.start()
        elif event < 0.06:
            await self.claim.release()
        else:
            with suppress(Retryable):
                if self.chance.random() < 0.02:
                    self.is_quiet = not self.is_quiet
                state = await self.claim.ensure(quiet=self.is_quiet)
                assert holds(self.claim) == (state is not OTHERS)
                return state
        return None


@pytest.mark.parametrize("seed", range(200))
async def test_two_daemons_never_hold_the_lease_at_the_same_time(seed):
    """Responses are lost; daemons are stopped and killed; the next holder is notified that it reacquired the lease."""
    chance, cells = random.Random(seed), [LeaseEntry()]
    daemons: list[Daemon] = []

    def wait_all(seconds: float) -> None:
        for daemon in daemons:
            daemon.wait(seconds)

    daemons += [Daemon(name, chance, cells, wait_all, chance.uniform(0.97, 1.03)) for name in ("one", "two")]
    for daemon in daemons:
        daemon.start()
    last: Daemon | None = None
    for _ in range(300):
        wait_all(chance.choice((0.5, 2.0, 5.0)))
        for daemon in daemons:
            state = await daemon.live()
            if state in {OURS, REGAINED} and daemon is not last:
                assert last is None or state is REGAINED
                last = daemon
        assert not all(holds(daemon.claim) for daemon in daemons)
    assert last, "somebody must have had it"
