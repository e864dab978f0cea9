"""Event hub: a viewer gets each event once and in order; the history is limited."""

import pytest

from bot.web.event_hub import EventHub, HubEvent


def told(hub: EventHub, topic: str, *data: str) -> None:
    for one in data:
        hub.publish(topic, "line", one)


async def heard(hub: EventHub, topic: str, since: str) -> list[str]:
    with hub.subscribe(topic, since) as viewer:
        return [news.data if news.kind == "line" else news.kind for news in await hub.next_events(viewer, within=0.01)]


async def test_a_page_gets_the_events_since_it_was_made():
    hub = EventHub()
    told(hub, "a", "1", "2")
    place = hub.position("a")
    told(hub, "b", "x")
    told(hub, "a", "3", "4")
    assert await heard(hub, "a", place) == ["3", "4"]


async def test_a_position_is_valid_before_the_first_event():
    hub = EventHub()
    place = hub.position("a")
    told(hub, "b", "x")
    told(hub, "a", "1")
    assert await heard(hub, "a", place) == ["1"]


async def test_a_page_that_is_up_to_date_gets_no_event():
    hub = EventHub()
    told(hub, "a", "1")
    assert await heard(hub, "a", hub.position("a")) == []
    assert await heard(hub, "a", "") == []


@pytest.mark.parametrize(
    "since", ["x", "-1", "anotherlife-0", "LIFE-99", "LIFE--1", "LIFE-", "LIFE-x", "LIFE-²", f"LIFE-{'9' * 5000}"]
)
async def test_a_malformed_position_is_answered_with_a_resync(since):
    hub = EventHub()
    life = hub.position("a").partition("-")[0]
    assert await heard(hub, "a", since.replace("LIFE", life)) == ["resync"]


@pytest.mark.parametrize("data", ["x", "x" * 100_000], ids=["many", "long"])
async def test_old_events_are_dropped(data):
    hub = EventHub()
    place = hub.position("a")
    told(hub, "a", *[data] * 600)
    assert await heard(hub, "a", place) == ["resync"]
    assert sum(len(news.data) for _, news in hub._histories["a"].events) <= 500_000


async def test_unused_topics_are_dropped_and_their_positions_get_a_resync():
    hub = EventHub()
    told(hub, "a", "1")
    place = hub.position("a")
    with hub.subscribe("watched"):
        told(hub, "watched", "1")
        for number in range(500):
            told(hub, f"topic {number}", "1")
        assert len(hub._histories) <= 102
        assert "watched" in hub._histories
    told(hub, "a", "2")
    assert await heard(hub, "a", place) == ["resync"]


async def test_a_viewer_gets_published_events_in_order():
    hub = EventHub()
    with hub.subscribe("a") as viewer:
        told(hub, "a", "1", "2")
        assert [type(one) for one in viewer.queue] == [HubEvent, HubEvent]
        assert [one.data for one in await hub.next_events(viewer, within=1)] == ["1", "2"]
        assert await hub.next_events(viewer, within=0.01) == ()
