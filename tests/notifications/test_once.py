"""Notifications under kills and failing channels at any moment: none is repeated unmarked, and few are lost."""

import random
from collections import Counter
from dataclasses import dataclass, field, replace

import pytest

from bot.domain.notification import Notification, NotificationKind
from bot.domain.run import Phase, Run, WaitReason
from bot.engine import notifications
from bot.engine.decision import Decision
from bot.notifications.notifier import NotificationPreferences, Notifier
from bot.notifications.send import SentMessage
from bot.notifications.text import NotificationText
from bot.store.runs import RunStore

URLS = ["json://one.example.com/a", "json://two.example.com/b"]


@dataclass
class Post:
    """Stands between the notifier and the channels: a message arrives at once, later or never."""

    chance: random.Random
    arrived: list[tuple[str, str, bool]] = field(default_factory=list)
    """Channel, subject and key of a notification, and whether the message said that it may be a repeat."""
    under_way: list[SentMessage] = field(default_factory=list)

    def start(self, url, compose, *, now) -> SentMessage:
        sending = SentMessage(now)
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


def composed(batch) -> NotificationText:
    return NotificationText(
        "", "\n".join([*(f"{one.subject} {one.dedup_key}" for one in batch.notifications), "again" * batch.again])
    )


@dataclass
class Daemon:
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
        holds = lambda told: notifications.is_still_true(told, self.store.find_run(told.subject.rpartition("/")[0]))  # noqa: E731
        self.notifier = Notifier(
            URLS,
            NotificationPreferences(digest_seconds=self.chance.choice([0, 60])),
            self.store.notifications,
            holds,
            composed,
            lambda: self.now,
            start_sending=self.post.start,
        )
        self.notifier.open()

    def moves(self) -> None:
        key = self.chance.choice(list(self.runs))
        before = self.runs[key]
        if before.phase is Phase.WORKING:
            cause = self.chance.choice([WaitReason.QUESTION, WaitReason.FAILED, WaitReason.BUDGET])
            after = self.chance.choice(
                [before.to(Phase.REVIEW, now=self.now), before.to(Phase.ASKING, wait_reason=cause, now=self.now)]
            )
        else:
            after = replace(
                before.to(Phase.WORKING, now=self.now),
                turns=replace(before.to(Phase.WORKING, now=self.now).turns, number=before.turns.number + 1),
            )
        found = notifications.notifications_of(before, Decision(after), self.now)
        self.store.save(after, at=self.now, notifications=found)
        if self.chance.random() < 0.2:  # killed after saving: the step is decided and saved again
            self.store.save(after, at=self.now, notifications=found)
        self.runs[key] = after

    def is_killed(self) -> None:
        for post in self.notifier._channels:
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
        self.notifier.send_due()

    def comes_to_rest(self) -> None:
        self.post.chance = random.Random(0)
        self.post.chance.random = lambda: 0.0  # type: ignore[method-assign]
        for _ in range(6):
            self.now += 4000
            self.post.come_to_an_end()
            self.notifier.send_due()


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_a_message_is_repeated_only_after_a_kill_once_and_marked(tmp_path, first):
    for seed in range(first, first + 20):
        store = RunStore.open(tmp_path / f"{seed}.db")
        chance = random.Random(seed)
        post = Post(chance)
        daemon = Daemon(store, chance, post)
        daemon.lives(120)
        daemon.comes_to_rest()
        first_time = Counter((url, told) for url, told, again in post.arrived if not again)
        repeats = Counter((url, told) for url, told, again in post.arrived if again)
        assert max(first_time.values(), default=0) <= 1, seed
        assert max(repeats.values(), default=0) <= 1, seed
        for url in URLS:
            assert len({told for one, told in repeats if one == url}) <= 4 * daemon.killed_while_sending[url], seed
        for run in daemon.runs.values():
            happening = notifications.kind_of(run)
            if happening:
                told = f"{run.id} {notifications.dedup_key_of(run)}"
                missed = [url for url in URLS if (url, told) not in first_time.keys() | repeats.keys()]
                assert all(daemon.killed_while_sending[url] > 1 for url in missed), f"{seed}: {told} is missed"
        store.close()


def test_notifications_are_saved_together_with_the_run_or_not_at_all(store):
    run = Run("shop#1", "shop", phase=Phase.ASKING)
    broken = Notification(NotificationKind.ASKING, "shop#1/1", "x", "no time")  # type: ignore[arg-type]
    with pytest.raises(Exception, match="REAL"):
        store.save(run, at=1.0, notifications=[broken])
    assert store.find_run("shop#1") is None


async def test_the_engine_saves_notifications(bot, world, store):
    world.open_issue("shop#1", "ai")
    await bot.tick()
    world.finish_turn(question="Which currency?")
    await bot.tick()
    world.comment("shop#1", "Euro.")
    await bot.tick()
    world.finish_turn()
    await bot.tick(3)
    told = [(one.kind, one.subject) for one in store.notifications.after(0)]
    assert told == [(NotificationKind.ASKING, "shop#1/1"), (NotificationKind.REVIEW, "shop#1/1")]
    assert "Which currency?" in store.notifications.after(0)[0].text


def test_saved_notifications_are_redacted_and_deleted_after_a_time(tmp_path):
    store = RunStore.open(tmp_path / "treehand.db", lambda text: text.replace("hunter2", "[redacted]"))
    store.notifications.add([Notification(NotificationKind.ASKING, "shop#1/1", "x", 5.0, "it is hunter2")])
    assert [one.text for one in store.notifications.after(0)] == ["it is [redacted]"]
    store.notifications.forget_old(5.0 + 31 * 86400)
    assert store.notifications.after(0) == []
    assert store.notifications.last() == 1, "its id is not used again"
    store.close()
