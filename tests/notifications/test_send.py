"""Sends messages through the real Apprise to a web hook and a mail server on the loopback."""

import email
import email.policy
import random
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from bot.domain.notification import Notification, NotificationKind
from bot.notifications.notifier import SLOW_SECONDS, NotificationPreferences, Notifier
from bot.notifications.quiet_hours import parse_quiet_hours
from bot.notifications.send import channel_id, describe_address, send, start_sending
from bot.notifications.text import NotificationText, RunContext, render_notifications
from bot.store.runs import RunStore
from tests.notifications.stand_ins import Hook, hook, mailbox
from tests.text.chat_and_mail import notification_of
from tests.text.hostile_markdown import hostile_text

SAID = NotificationText("Treehand: shop#3 needs you", "shop#3 needs you: Fix ‹b›\nWhich currency?")


@pytest.fixture
def web() -> Iterator[Hook]:
    with hook() as there:
        yield there


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


# One channel


def test_a_message_arrives_unchanged_at_a_web_hook(web):
    assert send(web.url, lambda: SAID) == ""
    assert [(one["title"], one["message"]) for one in web.got] == [(SAID.title, SAID.body)]


def test_a_message_arrives_by_mail():
    with mailbox() as box:
        url = f"mailto://127.0.0.1:{box.port}?from=bot@example.com&to=ana@example.com&format=text"
        assert send(url, lambda: SAID) == ""
        (mail,) = (email.message_from_string(one, policy=email.policy.default) for one in box.mails)
    assert mail["subject"] == SAID.title
    assert mail.get_body().get_content().replace("\r\n", "\n").strip() == SAID.body


@pytest.mark.attack("T18", "A text of an agent adds a header, a receiver or a picture to a mail")
@pytest.mark.parametrize("form", ["text", "html"])
def test_t18_a_mail_has_only_headers_of_ours_and_loads_nothing(form):
    chance = random.Random("mail")
    texts = ["\r\nBcc: eve@evil.invalid\r\n\r\n<img src=https://evil.invalid/x>", *map(hostile_text, [chance] * 9)]
    with mailbox() as box:
        url = f"mailto://127.0.0.1:{box.port}?from=bot@example.com&to=ana@example.com&format={form}"
        for words in ("calm", *texts):
            title, body = notification_of(words)
            assert send(url, lambda title=title, body=body: NotificationText(title, body)) == ""
        calm, *mails = (email.message_from_string(one, policy=email.policy.default) for one in box.mails)
    assert len(mails) == len(texts)
    for mail in mails:
        assert mail.keys() == calm.keys()
        assert (mail["to"], mail["subject"]) == (calm["to"], calm["subject"])
        shown = mail.get_body(("html", "plain")).get_content()
        assert not re.search("<(?!/?(html|head|body|br|a|p)\\b)", shown)
        assert "evil.invalid" not in shown


def test_an_error_of_a_channel_is_reported_without_its_address(web):
    web.status = 500
    problem = send(web.url, lambda: SAID)
    assert "500" in problem
    assert "a1b2c3" not in problem


def test_an_unreachable_or_unknown_channel_is_reported_without_its_address(caplog, capfd):
    caplog.set_level("DEBUG")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        problem = send(f"json://127.0.0.1:{taken.getsockname()[1]}/secrettoken99", lambda: SAID)
    assert problem
    assert "secrettoken99" not in problem + caplog.text + "".join(capfd.readouterr())
    assert (
        send("nonsense", lambda: SAID)
        == send("nosuch://x", lambda: SAID)
        == "Apprise does not know this kind of address"
    )


def test_an_error_while_composing_is_reported(web):
    def broken() -> NotificationText:
        raise KeyError("gone")

    assert send(web.url, broken) == "KeyError: 'gone'"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("json://hooks.example.com:8080/a/token99?x=token99", "json hooks.example.com"),
        ("slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general", "slack"),
        ("tgram://123456789:abcdefg_hijklmnop/12315544/", "tgram"),
        ("discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js", "discord"),
        ("ntfy://my-secret-topic", "ntfy"),
        ("mailtos://ana:hunter2@mail.example.com", "mailtos mail.example.com"),
    ],
)
def test_only_kind_and_host_of_an_address_are_shown(url, name):
    assert describe_address(url) == name


def test_sending_does_not_block_the_caller(web):
    ours, may_go_on = threading.get_ident(), threading.Event()

    def compose() -> NotificationText:
        assert threading.get_ident() == ours or may_go_on.wait(60)
        return SAID

    sending = start_sending(web.url, compose, now=1.0)
    assert not sending.ended.is_set()
    may_go_on.set()
    assert sending.ended.wait(60)
    assert sending.problem == ""


# Several, over time


@dataclass
class Life:
    """The notifications of a daemon, started again after each kill."""

    store: RunStore
    urls: list[str]
    preferences: NotificationPreferences = field(default_factory=NotificationPreferences)
    now: float = 1_000_000.0
    over: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.notifier = Notifier(
            self.urls,
            self.preferences,
            self.store.notifications,
            lambda one: one.subject not in self.over,
            composed,
            lambda: self.now,
        )
        self.notifier.open()

    def happens(self, subject: str, happening: NotificationKind = NotificationKind.ASKING) -> None:
        self.store.notifications.add([Notification(happening, subject, f"at {self.now}", self.now, "why")])

    def goes_round(self, seconds: float = 0.0) -> None:
        self.now += seconds
        self.notifier.send_due()
        until(lambda: not self.notifier.is_sending())
        self.notifier.send_due()

    @property
    def problems(self) -> list[str]:
        return [state.problem for _, state in self.notifier.channels()]


def composed(batch) -> NotificationText:
    return render_notifications([(one, RunContext(one.subject)) for one in batch.notifications], again=batch.again)


def test_people_are_notified_once_and_not_again_after_a_restart(store, web):
    life = Life(store, [web.url])
    life.happens("shop#1")
    life.goes_round()
    life.goes_round(60)
    life.begin()
    life.goes_round(60)
    assert web.bodies == ["shop#1 needs you\nwhy"]


def test_a_new_channel_gets_notifications_from_now_on(store, web):
    life = Life(store, [])
    life.happens("shop#1")
    life.urls = [web.url]
    life.begin()
    life.goes_round()
    assert web.got == []
    life.happens("shop#2")
    life.goes_round()
    assert web.bodies == ["shop#2 needs you\nwhy"]


def test_only_chosen_kinds_are_sent(store, web):
    life = Life(store, [web.url], NotificationPreferences(on=frozenset({NotificationKind.FAILED})))
    life.happens("shop#1")
    life.happens("shop#2", NotificationKind.FAILED)
    life.goes_round()
    assert web.bodies == ["shop#2 failed and waits for you\nwhy"]


def test_a_long_outage_of_ours_ends_with_one_message_of_recent_and_current_events(store, web):
    life = Life(store, [web.url])
    for number in range(100):
        life.happens(f"shop#{number}")
    life.now += 90_000
    life.happens("shop#200")
    life.happens("shop#201")
    life.happens("shop#202")
    life.over.add("shop#201")
    life.begin()
    life.goes_round(3600)
    assert [one["title"] for one in web.got] == ["Treehand: 2 notifications"]
    assert "shop#200 needs you" in web.bodies[0]
    assert "shop#202 needs you" in web.bodies[0]


def test_a_kill_between_sending_and_saving_repeats_a_message_at_most_once_and_marked(store, web):
    life = Life(store, [web.url])
    life.happens("shop#1")
    life.notifier.send_due()
    until(lambda: web.got and not life.notifier.is_sending())
    life.begin()  # what arrived was never noted
    life.goes_round()
    life.begin()
    life.goes_round(3600)
    assert [body.startswith("(Possibly a repeat: ") for body in web.bodies] == [False, True]


def test_two_kills_between_sending_and_saving_give_a_message_up(store, web):
    life = Life(store, [web.url])
    life.happens("shop#1")
    for _ in range(4):
        life.notifier.send_due()
        until(lambda: not life.notifier.is_sending())
        life.begin()
    assert len(web.got) == 2


def test_a_failing_channel_is_retried_more_rarely_and_then_gets_one_message(store, web, caplog):
    caplog.set_level("INFO", "bot.notifications")
    life = Life(store, [web.url])
    web.status = 500
    life.happens("shop#1")
    for _ in range(100):
        life.goes_round(10)
    assert 4 <= len(web.got) <= 6
    assert "500" in life.problems[0]
    life.happens("shop#2")
    web.status = 200
    life.goes_round(3600)
    assert web.got[-1]["title"] == "Treehand: 2 notifications"
    assert life.problems == [""]
    said = [record.getMessage() for record in caplog.records]
    assert [line for line in said if "notifications failing" in line] == [line for line in said if "reason=" in line]
    assert len(said) == 2


def test_an_error_message_with_an_address_is_redacted_before_it_is_shown_or_saved(store, web, caplog, tmp_path):
    life = Life(store, [web.url])

    def compose(_batch) -> NotificationText:
        raise KeyError("/hook/a1b2c3d4e5f6")

    life.notifier.compose, life.notifier.redact = compose, lambda text: text.replace("a1b2c3d4e5f6", "[redacted]")
    life.happens("shop#1")
    life.goes_round()
    assert life.problems == ["KeyError: '/hook/[redacted]'"]
    assert "[redacted]" in caplog.text
    store.close()
    kept = b"".join(one.read_bytes() for one in tmp_path.iterdir() if one.is_file())
    assert b"a1b2c3d4e5f6" not in kept + caplog.text.encode()


def test_a_hanging_channel_delays_no_other_and_is_reported(store, web):
    with hook() as hanging:
        hanging.let_go.clear()
        life = Life(store, [hanging.url, web.url])
        for number in range(3):
            life.happens(f"shop#{number}")
            life.now += 1
            life.notifier.send_due()
            until(lambda: len(web.got) == number + 1)  # noqa: B023
            until(lambda: life.notifier.send_due() or life.notifier.channels()[1][1].sent == number + 1)  # noqa: B023
        assert sum(one.name.startswith("notification") for one in threading.enumerate()) <= 2
        life.now += SLOW_SECONDS
        life.notifier.send_due()
        assert life.problems == ["sending takes too long: the service has not answered", ""]
        hanging.let_go.set()
        until(lambda: not life.notifier.is_sending())
        life.goes_round()
        assert life.problems == ["", ""]
        assert [one["title"] for one in hanging.got] == ["Treehand: shop#0 needs you", "Treehand: 2 notifications"]


def test_a_hanging_channel_does_not_delay_the_shutdown(store):
    with hook() as hanging:
        hanging.let_go.clear()
        life = Life(store, [hanging.url])
        life.happens("shop#1")
        life.notifier.send_due()
        until(lambda: hanging.got)
        assert [one.daemon for one in threading.enumerate() if one.name.startswith("notification")] == [True]
        life.notifier.close()
        life.notifier.send_due()


def test_a_digest_contains_all_events_of_its_period(store, web):
    life = Life(store, [web.url], NotificationPreferences(digest_seconds=600))
    for number in range(3):
        life.happens(f"shop#{number}")
        life.goes_round(100)
    assert web.got == []
    life.goes_round(300)
    assert [one["title"] for one in web.got] == ["Treehand: 3 notifications"]


# Quiet hours


def at(zone: str, *when: int, fold: int = 0) -> float:
    return datetime(*when, tzinfo=ZoneInfo(zone), fold=fold).timestamp()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("clock", "quiet"), [((21, 59), False), ((22, 0), True), ((0, 0), True), ((6, 59), True), ((7, 0), False)]
)
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "UTC"])
def test_quiet_hours_can_span_midnight(clock, quiet, zone):
    hours = parse_quiet_hours("22:00-07:00", ZoneInfo(zone))
    assert hours
    assert hours.covers(at(zone, 2026, 1, 15, *clock)) is quiet


@pytest.mark.parametrize(("clock", "quiet"), [((11, 59), False), ((12, 0), True), ((13, 30), False)])
def test_quiet_hours_within_a_day(clock, quiet):
    hours = parse_quiet_hours("12:00-13:30", ZoneInfo("UTC"))
    assert hours
    assert hours.covers(at("UTC", 2026, 1, 15, *clock)) is quiet


def test_quiet_hours_follow_the_local_clock_across_daylight_saving():
    hours, berlin = parse_quiet_hours("22:00-07:00", ZoneInfo("Europe/Berlin")), "Europe/Berlin"
    assert hours
    spring = [minute for minute in range(0, 24 * 60, 5) if hours.covers(at(berlin, 2026, 3, 28, 12, 0) + minute * 60)]
    autumn = [minute for minute in range(0, 26 * 60, 5) if hours.covers(at(berlin, 2026, 10, 24, 12, 0) + minute * 60)]
    assert len(spring) * 5 == 8 * 60, "an hour of that night is left out"
    assert len(autumn) * 5 == 10 * 60, "an hour of that night comes twice"
    assert (
        hours.covers(at(berlin, 2026, 10, 25, 2, 30)) is hours.covers(at(berlin, 2026, 10, 25, 2, 30, fold=1)) is True
    )


def test_events_in_quiet_hours_are_sent_afterwards_in_one_message(store, web):
    life = Life(
        store, [web.url], NotificationPreferences(quiet=parse_quiet_hours("22:00-07:00", ZoneInfo("Europe/Berlin")))
    )
    life.now = at("Europe/Berlin", 2026, 3, 28, 23, 30)
    life.happens("shop#1")
    life.goes_round()
    life.happens("shop#2")
    while life.now < at("Europe/Berlin", 2026, 3, 29, 6, 59):
        life.goes_round(60)
    assert web.got == []
    life.goes_round(60)
    assert [one["title"] for one in web.got] == ["Treehand: 2 notifications"]


def test_the_same_address_twice_is_one_channel_and_no_address_is_saved(store, web, tmp_path):
    life = Life(store, [web.url, web.url])
    assert len(life.notifier.channels()) == 1
    assert channel_id(web.url) not in web.url
    store.close()
    assert b"a1b2c3d4e5f6" not in b"".join(one.read_bytes() for one in tmp_path.iterdir() if one.is_file())
