"""Short form of `make chaos ONLY=writes`: a fault at a system call loses nothing, and repeats nothing."""

import time
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

from tests.chaos import compressed
from tests.chaos.forked_machine import nurseries
from tests.chaos.people import Stage
from tests.chaos.syscalls import Fault, Place, is_possible, places_in
from tests.chaos.writes import Bench, chosen, installed_daemon, small_daemon

pytestmark = pytest.mark.skipif(not is_possible(), reason="strace is missing, or may not trace here")

_TRIES, _SECONDS = 12, 30.0


@pytest.fixture
def fast() -> Iterator[Path]:
    with TemporaryDirectory(prefix="treehand-writes-", dir=compressed.fast_folder()) as name:
        yield Path(name)


async def test_a_fault_at_any_write_of_an_issue_loses_nothing_and_repeats_nothing(fast: Path):
    async with nurseries(1) as born:
        bench = Bench(fast, partial(small_daemon, born=born))
        places = await bench.places(times=1)
        assert len(places) > 1000
        end = time.monotonic() + _SECONDS
        for place, fault in islice(chosen(places, Random(5)), _TRIES):
            tried = await bench.story(place, fault)
            assert not tried.broken, f"{fault} at {place}: {tried.broken}\n{tried.log}"
            if time.monotonic() > end:
                break
    assert any(tried.hit for tried in bench.tried)


@pytest.mark.parametrize(
    ("place", "fault", "advice"),
    [
        (Place("pwrite64", "state/treehand.db-wal", 5, Stage.LABELLED), Fault.EIO, "Check its disk: it needs free"),
        (Place("write", "state/daemon.lock", 1, Stage.LABELLED), Fault.ENOSPC, "is full. Free some space"),
    ],
    ids=lambda value: str(value).partition(" ")[0],
)
async def test_a_daemon_that_cannot_start_on_its_disk_says_what_to_do_and_starts_later(fast, place, fault, advice):
    tried = await Bench(fast, installed_daemon).start(place, fault)
    assert (bool(tried.hit), tried.fell, list(tried.broken)) == (True, 1, []), tried.log
    assert advice in tried.log


def test_calls_are_counted_by_thread_and_file_since_the_last_stage(tmp_path: Path):
    log = tmp_path / "log"
    file = f"5<{tmp_path}/state/x>"
    log.write_text(
        f"7 1.0 write({file}, ...) = 1\n7 2.0 clone3() = 8\n8 2.5 write({file}) = 1\n8 2.6 clone3() = 9\n"
        f"7 3.0 write(2<{tmp_path}/daemon.log>, ...) = 1\n7 4.0 write({file}, ...) = 1\n"
        f'7 12.0 rename("{tmp_path}/state/x", "{tmp_path}/state/y") = 0\n'
    )
    assert places_in(log, tmp_path, {Stage.LABELLED: 0.0, Stage.MERGED: 10.0}) == {
        Place("write", "state/x", 1, Stage.LABELLED),
        Place("write", "state/x", 2, Stage.LABELLED),
        Place("clone3", "", 1, Stage.LABELLED),
        Place("rename", "state/x", 1, Stage.MERGED),
    }
