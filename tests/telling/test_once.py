"""A daemon killed at any moment, channels that fail at any moment: nobody is told twice, and few miss anything."""

import random
from collections import Counter
from dataclasses import dataclass, field, replace

import pytest

from bot.domain.notification import Happening, Tiding
from bot.domain.run import Cause, Phase, Run
from bot.engine import notifications as telling
from bot.engine.decision import Decision
from bot.notifications.notifier import Crier, Manner
from bot.notifications.send import Sending
from bot.notifications.text import Announcement
from bot.store.runs import RunStore

URLS = ["json://one.example.com/a", "json://two.example.com/b"]


@dataclass
class Post:
    """Stands between the crier and the world: what is sent arrives at once, later or never."""

    chance: random.Random
    arrived: list[tuple[str, str, bool]] = field(default_factory=list)
    """Channel, subject and occasion of a tiding, and whether it said that it might be a repeat."""
    under_way: list[Sending] = field(default_factory=list)

    def start(self, url, compose, *, now) -> Sending:
        sending = Sending(now)
        fate = self.chance.random()
        if fate < 0.7:
            *told, again = compose().body.split("\n")
            self.arrived += [(url, one, again == "again") for one in told]
        else:
            sending.problem = "refused"
        if self.chance.random() < 0.5:
            sending.ended.set()
        self.under_way.append(sending)
        return sending

    def come_to_an_end(self) -> None:
        for sending in self.under_way:
            sending.ended.set()
        self.under_way.clear()


def composed(batch) -> Announcement:
    return Announcement(
        "", "\n".join([*(f"{one.subject} {one.occasion}" for one in batch.tidings), "again" * batch.again])
    )


@dataclass
class House:
    store: RunStore
    chance: random.Random
    post: Post
    now: float = 1_000_000.0
    killed_while_sending: Counter[str] = field(default_factory=Counter)
    runs: dict[str, Run] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.runs = {f"shop#{n}": Run(f"shop#{n}", "shop", phase=Phase.WORKING, changed_at=self.now) for n in range(4)}
        self.begin()

    def begin(self) -> None:
        holds = lambda told: telling.still_so(told, self.store.find_run(told.subject.rpartition("/")[0]))  # noqa: E731
        self.crier = Crier(
            URLS,
            Manner(digest_seconds=self.chance.choice([0, 60])),
            self.store.tidings,
            holds,
            composed,
            lambda: self.now,
            start=self.post.start,
        )
        self.crier.open()

    def moves(self) -> None:
        key = self.chance.choice(list(self.runs))
        before = self.runs[key]
        if before.phase is Phase.WORKING:
            cause = self.chance.choice([Cause.QUESTION, Cause.FAILED, Cause.BUDGET])
            after = self.chance.choice(
                [before.to(Phase.REVIEW, now=self.now), before.to(Phase.ASKING, cause=cause, now=self.now)]
            )
        else:
            after = replace(before.to(Phase.WORKING, now=self.now), turn=before.turn + 1)
        tidings = telling.tidings_of(before, Decision(after), self.now)
        self.store.save(after, at=self.now, tidings=tidings)
        if self.chance.random() < 0.2:  # killed after saving: the step is decided and saved again
            self.store.save(after, at=self.now, tidings=tidings)
        self.runs[key] = after

    def is_killed(self) -> None:
        for post in self.crier._posts:
            if post.sending is not None:
                self.killed_while_sending[post.url] += 1
        self.begin()

    def lives(self, steps: int) -> None:
        for _ in range(steps):
            self.now += self.chance.choice([1, 5, 40, 400])
            act = self.chance.choice(
                [self.moves, self.moves, self.goes_round, self.goes_round, self.post.come_to_an_end, self.is_killed]
            )
            act()

    def goes_round(self) -> None:
        self.crier.go_round()

    def comes_to_rest(self) -> None:
        self.post.chance = random.Random(0)
        self.post.chance.random = lambda: 0.0  # type: ignore[method-assign]
        for _ in range(6):
            self.now += 4000
            self.post.come_to_an_end()
            self.crier.go_round()


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_nothing_is_told_twice_but_after_a_kill_and_then_once_and_said_so(tmp_path, first):
    for seed in range(first, first + 20):
        store = RunStore.open(tmp_path / f"{seed}.db")
        chance = random.Random(seed)
        post = Post(chance)
        house = House(store, chance, post)
        house.lives(120)
        house.comes_to_rest()
        first_time = Counter((url, told) for url, told, again in post.arrived if not again)
        repeats = Counter((url, told) for url, told, again in post.arrived if again)
        assert max(first_time.values(), default=0) <= 1, seed
        assert max(repeats.values(), default=0) <= 1, seed
        for url in URLS:
            assert len({told for one, told in repeats if one == url}) <= 4 * house.killed_while_sending[url], seed
        for run in house.runs.values():
            happening = telling.happening_of(run)
            if happening:
                told = f"{run.id} {telling.occasion_of(run)}"
                missed = [url for url in URLS if (url, told) not in first_time.keys() | repeats.keys()]
                assert all(house.killed_while_sending[url] > 1 for url in missed), f"{seed}: {told} is missed"
        store.close()


def test_what_waits_in_the_outbox_is_saved_with_the_runs_change_or_not_at_all(store):
    run = Run("shop#1", "shop", phase=Phase.ASKING)
    broken = Tiding(Happening.ASKING, "shop#1/1", "x", "no time")  # type: ignore[arg-type]
    with pytest.raises(Exception, match="REAL"):
        store.save(run, at=1.0, tidings=[broken])
    assert store.find_run("shop#1") is None


async def test_the_engine_saves_what_people_are_to_be_told_of(bot, world, store):
    world.open_issue("shop#1", "ai")
    await bot.tick()
    world.finish_turn(question="Which currency?")
    await bot.tick()
    world.comment("shop#1", "Euro.")
    await bot.tick()
    world.finish_turn()
    await bot.tick(3)
    told = [(one.happening, one.subject) for one in store.tidings.after(0)]
    assert told == [(Happening.ASKING, "shop#1/1"), (Happening.REVIEW, "shop#1/1")]
    assert "Which currency?" in store.tidings.after(0)[0].words


def test_what_is_kept_is_redacted_and_forgotten_in_time(tmp_path):
    store = RunStore.open(tmp_path / "treehand.db", lambda text: text.replace("hunter2", "[redacted]"))
    store.tidings.add([Tiding(Happening.ASKING, "shop#1/1", "x", 5.0, "it is hunter2")])
    assert [one.words for one in store.tidings.after(0)] == ["it is [redacted]"]
    store.tidings.forget_old(5.0 + 31 * 86400)
    assert store.tidings.after(0) == []
    assert store.tidings.last() == 1, "its id is not used again"
    store.close()
