"""What is told reaches whoever watches, once, in order; and what is remembered for those who come back has an end."""

import pytest

from bot.web.event_hub import Hub, News


def told(hub: Hub, topic: str, *data: str) -> None:
    for one in data:
        hub.tell(topic, "line", one)


async def heard(hub: Hub, topic: str, since: str) -> list[str]:
    with hub.watching(topic, since) as viewer:
        return [news.data if news.kind == "line" else news.kind for news in await hub.news_for(viewer, within=0.01)]


async def test_whoever_comes_after_a_page_was_made_gets_what_came_since():
    hub = Hub()
    told(hub, "a", "1", "2")
    place = hub.place("a")
    told(hub, "b", "x")
    told(hub, "a", "3", "4")
    assert await heard(hub, "a", place) == ["3", "4"]


async def test_a_place_holds_also_where_nothing_was_told_before():
    hub = Hub()
    place = hub.place("a")
    told(hub, "b", "x")
    told(hub, "a", "1")
    assert await heard(hub, "a", place) == ["1"]


async def test_whoever_is_up_to_date_is_told_nothing():
    hub = Hub()
    told(hub, "a", "1")
    assert await heard(hub, "a", hub.place("a")) == []
    assert await heard(hub, "a", "") == []


@pytest.mark.parametrize(
    "since", ["x", "-1", "anotherlife-0", "LIFE-99", "LIFE--1", "LIFE-", "LIFE-x", "LIFE-²", f"LIFE-{'9' * 5000}"]
)
async def test_a_place_that_makes_no_sense_is_answered_with_look_anew(since):
    hub = Hub()
    life = hub.place("a").partition("-")[0]
    assert await heard(hub, "a", since.replace("LIFE", life)) == ["resync"]


@pytest.mark.parametrize("data", ["x", "x" * 100_000], ids=["many", "long"])
async def test_what_is_too_long_ago_is_not_remembered(data):
    hub = Hub()
    place = hub.place("a")
    told(hub, "a", *[data] * 600)
    assert await heard(hub, "a", place) == ["resync"]
    assert sum(len(news.data) for _, news in hub._pasts["a"].news) <= 500_000


async def test_topics_that_nobody_asks_about_are_forgotten_and_a_place_in_them_is_not_mistaken():
    hub = Hub()
    told(hub, "a", "1")
    place = hub.place("a")
    with hub.watching("watched"):
        told(hub, "watched", "1")
        for number in range(500):
            told(hub, f"topic {number}", "1")
        assert len(hub._pasts) <= 102
        assert "watched" in hub._pasts
    told(hub, "a", "2")
    assert await heard(hub, "a", place) == ["resync"]


async def test_telling_while_somebody_watches_reaches_them_in_order():
    hub = Hub()
    with hub.watching("a") as viewer:
        told(hub, "a", "1", "2")
        assert [type(one) for one in viewer.waiting] == [News, News]
        assert [one.data for one in await hub.news_for(viewer, within=1)] == ["1", "2"]
        assert await hub.news_for(viewer, within=0.01) == ()
