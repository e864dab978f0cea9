"""Of the writes that wait, the most urgent goes first, and none waits for ever."""

import asyncio
from collections.abc import Awaitable

import pytest

from bot.services.github.rate_limits import RateLimiter, RateLimitHolds, RequestKind
from bot.services.github.write_queue import WriteRank

US = {"payer": "us", "resource": "core"}


class Writers:
    """Writes that note when they are sent. Waiting lets the others run."""

    def __init__(self, db, clock) -> None:
        self.limiter = RateLimiter(RateLimitHolds(db), clock, self.sleep)
        self.clock, self.sent = clock, list[str]()

    async def sleep(self, seconds: float) -> None:
        await self.clock.sleep(seconds)
        await asyncio.sleep(0)

    async def write(self, name: str, rank: WriteRank, *, kind: RequestKind = RequestKind.WRITE, mutations: int = 1):
        async with self.limiter.permit(kind, **US, rank=rank, mutations=mutations):
            self.sent.append(name)


@pytest.fixture
def writers(db, clock) -> Writers:
    return Writers(db, clock)


async def while_another_is_under_way(writers: Writers, *writes: Awaitable[None]) -> None:
    """All of them wait before the first may go."""
    gate = asyncio.Event()

    async def first() -> None:
        async with writers.limiter.permit(RequestKind.WRITE, **US):
            await gate.wait()

    tasks = [asyncio.ensure_future(one) for one in (first(), *writes)]
    for _ in range(3):
        await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(*tasks)


async def test_the_most_urgent_write_goes_first_and_equal_ones_in_their_order(writers):
    ranks = (
        WriteRank.REACTION, WriteRank.EDIT, WriteRank.ANSWER, WriteRank.OFFER, WriteRank.SIGN, WriteRank.OFFER,
    )  # fmt: skip
    writes = (writers.write(f"{rank.name} {place}", rank) for place, rank in enumerate(ranks))
    await while_another_is_under_way(writers, *writes)

    assert writers.sent == ["SIGN 4", "OFFER 3", "OFFER 5", "ANSWER 2", "EDIT 1", "REACTION 0"]


async def test_a_new_token_goes_before_every_write(writers):
    label = writers.write("label", WriteRank.SIGN)
    token = writers.write("token", WriteRank.ANSWER, kind=RequestKind.MINT)
    await while_another_is_under_way(writers, label, token)

    assert writers.sent == ["token", "label"]


async def test_no_write_is_overtaken_by_more_later_ones_than_its_rank_says(writers):
    async def labels() -> None:
        for number in range(100):
            await writers.write(f"label {number}", WriteRank.SIGN)

    await asyncio.gather(labels(), labels(), writers.write("reaction", WriteRank.REACTION))

    earlier = 2
    assert writers.sent.index("reaction") - earlier <= WriteRank.REACTION


async def test_a_more_urgent_write_overtakes_one_that_waits_for_its_second(writers, clock):
    await writers.write("first", WriteRank.SIGN)

    async def sleep(seconds: float) -> None:
        writers.limiter._sleep = writers.sleep
        urgent.append(asyncio.ensure_future(writers.write("label", WriteRank.SIGN)))
        await clock.sleep(seconds)
        await asyncio.sleep(0)

    urgent: list[asyncio.Future] = []
    writers.limiter._sleep = sleep
    await writers.write("edit", WriteRank.EDIT)
    await asyncio.gather(*urgent)

    assert writers.sent == ["first", "label", "edit"]


async def test_a_write_that_is_given_up_leaves_the_queue(writers):
    await writers.write("first", WriteRank.SIGN)
    gate = asyncio.Event()

    async def sleep(_: float) -> None:
        await gate.wait()

    writers.limiter._sleep = sleep
    waiting = [asyncio.ensure_future(writers.write(name, WriteRank.EDIT)) for name in ("one", "two", "three")]
    await asyncio.sleep(0)
    waiting[0].cancel()
    waiting[1].cancel()
    await asyncio.wait(waiting[:2])
    writers.clock.now += 1
    gate.set()
    await waiting[2]

    assert writers.sent == ["first", "three"]


async def test_each_mutation_of_a_request_costs_as_much_as_a_request(writers, clock):
    began = clock.now
    for number in range(10):  # 900 points a minute, five for each mutation
        await writers.write(str(number), WriteRank.REACTION, mutations=20)

    assert clock.now - began == pytest.approx(60)
