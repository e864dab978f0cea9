"""Text of notifications, with untrusted text in it."""

import random

import pytest

from bot.domain.notification import Notification, NotificationKind
from bot.notifications.text import LISTED_LIMIT, RunContext, neutralize_plain, render_notifications
from tests.text.chat_and_mail import breaches_in_chat_and_mail
from tests.text.hostile_markdown import FRAGMENTS, hostile_text

KNOWN = RunContext(
    "shop#3", "Fix the basket", "https://git.example.com/acme/shop/pull/9", "https://git.example.com/i/3"
)


def told(
    happening: NotificationKind = NotificationKind.ASKING, words: str = "Which currency?", *, over: bool = False
) -> Notification:
    return Notification(happening, "shop#3/1", "now", 5.0, words, over, 1)


def test_one_event_is_shown_with_its_reason_and_links():
    said = render_notifications([(told(), KNOWN)], link="https://bot.example.com/")
    assert said.title == "Treehand: shop#3 needs you"
    assert said.body.splitlines() == [
        "shop#3 needs you: Fix the basket",
        "Which currency?",
        "Pull request: https://git.example.com/acme/shop/pull/9",
        "Issue: https://git.example.com/i/3",
        "Dashboard: https://bot.example.com/runs/shop%233",
    ]


def test_without_a_link_or_a_title_the_text_is_shorter():
    assert (
        render_notifications([(told(NotificationKind.REVIEW, ""), RunContext("shop#3"))]).body == "shop#3 is in review"
    )


def test_a_fault_and_its_end_have_different_titles():
    trouble = Notification(NotificationKind.TROUBLE, "github acme/shop", "x", 5.0, "refuses us")
    well = Notification(NotificationKind.TROUBLE, "github acme/shop", "x", 5.0, "answers", resolved=True)
    titles = [render_notifications([(one, RunContext())]).title for one in (trouble, well)]
    assert titles == ["Treehand: problem with github acme/shop", "Treehand: github acme/shop works again"]


def test_many_events_are_one_message_of_bounded_length():
    said = render_notifications([(told(words="w" * 5000), KNOWN)] * 500, link="https://bot.example.com")
    assert said.title == "Treehand: 500 notifications"
    assert said.body.endswith(f"And {500 - LISTED_LIMIT} more.")
    assert len(said.body) < LISTED_LIMIT * 900


def test_a_possible_repeat_is_marked():
    assert render_notifications([(told(), KNOWN)], again=True).body.startswith("(Possibly a repeat: ")


@pytest.mark.parametrize(
    "hostile",
    [
        "@everyone look", "<!channel> hi", "<@U123>", "[click](https://evil.example/x)", "**bold** `code` ~~no~~",
        "<script>alert(1)</script>", "<img src=x>", "javascript:alert(1)", "a\nTo: all@example.com\n\nspoof",
        "\x1b[31mred", "||spoiler||", "&lt;b&gt;", "\u202egnp.exe", "tg://user?id=1", "# headline", "\\[x\\]",
    ],
)  # fmt: skip
def test_untrusted_text_is_shown_without_effect(hostile):
    said = render_notifications(
        [(told(words=hostile), RunContext("shop#3", hostile, "", f"https://x.example/{hostile}"))]
    )
    assert said.title == "Treehand: shop#3 needs you"
    assert len(said.body.splitlines()) in {2, 3}
    ours = said.body.replace("shop#3", "")
    assert not set("@<>`*[]|~\\&\x1b\u202e\n") & set(ours.partition("Issue:")[0].replace("\n", ""))
    assert "://" not in ours.partition("Issue:")[0]
    assert "javascript:a" not in ours


def test_a_hostile_key_is_escaped_in_the_title():
    assert "@" not in render_notifications([(told(), RunContext("@all/x#1"))]).title


def test_long_text_is_cut():
    assert len(neutralize_plain("word " * 500)) <= 300


@pytest.mark.attack("T18", "4,000 texts made of hostile pieces act somewhere in a chat, a mail or on the desktop")
@pytest.mark.parametrize("seed", range(2))
def test_t18_hostile_text_has_no_effect_in_chats_and_mail(seed):
    chance = random.Random(f"chat {seed}")
    for words in (*FRAGMENTS, *(hostile_text(chance) for _ in range(2000))):
        assert breaches_in_chat_and_mail(words) == [], ascii(words)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("see evil.com/leak?d=1", "see evil․com/leak?d=1"),
        ("_http://evil.com", "_http: evil․com"),
        ("app.py took 1.5 s at 12:30 for $0.40", "app․py took 1.5 s at 12:30 for $0.40"),
        ("10.0.0.1/x", "10․0․0․1/x"),
        ("пример.рф", "пример․рф"),
    ],
)
def test_t18_no_name_becomes_a_link_and_numbers_read_the_same(words, shown):
    assert neutralize_plain(words) == shown
