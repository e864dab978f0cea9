"""Rate limiter: no request is sent before its time."""

from contextlib import closing
from email.utils import formatdate

import pytest

from bot.errors import RateLimited
from bot.services.github.cache import open_cache
from bot.services.github.rate_limits import RateLimiter, RateLimitHolds, RequestKind
from bot.services.http.service_reply import ServiceReply
from tests.benchmarks.limits import simulate

US = {"payer": "us", "resource": "core"}


@pytest.fixture
def limiter(db, clock) -> RateLimiter:
    return RateLimiter(RateLimitHolds(db), clock, clock.sleep)


async def go(
    limiter: RateLimiter, kind: RequestKind = RequestKind.READ, *, takes: float = 0, clock=None, **where
) -> None:
    async with limiter.permit(kind, **{**US, **where}):
        if takes:
            clock.now += takes


def refused(status: int = 403, message: str = "", **headers: object) -> ServiceReply:
    named = {name.replace("_", "-"): str(value) for name, value in headers.items()}
    return ServiceReply(status, named, f'{{"message": "{message}"}}')


SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."


async def wait_after(limiter: RateLimiter, reply: ServiceReply, kind: RequestKind = RequestKind.READ) -> float:
    return limiter.update(reply, kind, **US)


async def test_writes_are_a_second_apart_counted_from_the_end_of_the_last(limiter, clock):
    await go(limiter, RequestKind.WRITE, takes=3, clock=clock)
    await go(limiter, RequestKind.WRITE)
    await go(limiter, RequestKind.READ)

    assert clock.slept == [1.0]


async def test_writes_are_a_second_apart_across_a_restart_as_well(db, clock, tmp_path):
    await go(RateLimiter(RateLimitHolds(db), clock, clock.sleep), RequestKind.WRITE)
    with closing(open_cache(tmp_path / "github.db")) as other:
        await go(RateLimiter(RateLimitHolds(other), clock, clock.sleep), RequestKind.WRITE)

    assert clock.slept == [1.0]


async def test_at_most_500_comments_are_created_in_an_hour(limiter, clock):
    began = clock.now
    for _ in range(500):
        await go(limiter, RequestKind.CREATE)
    with pytest.raises(RateLimited) as caught:
        await go(limiter, RequestKind.CREATE)
    assert caught.value.retry_after == pytest.approx(began + 3600 - clock.now)

    await go(limiter, RequestKind.WRITE)  # labels and edits go on
    await go(limiter, RequestKind.MINT)  # looking goes on
    await go(limiter, RequestKind.READ)


async def test_at_most_900_points_are_used_in_a_minute(limiter, clock):
    began = clock.now
    for _ in range(901):
        await go(limiter)

    assert clock.now - began == pytest.approx(60)


async def test_at_most_900_points_are_used_in_a_minute_despite_restarts(db, clock, tmp_path):
    asked, began = 0, clock.now
    while clock.now - began < 120:
        with closing(open_cache(tmp_path / "github.db")) as other:
            limiter = RateLimiter(RateLimitHolds(other), clock, clock.sleep)
            await go(limiter, RequestKind.WRITE)
            for _ in range(60):
                await go(limiter)
        asked += 1 * 5 + 60
        clock.now += 1.0
    assert 2 * 900 * 0.5 < asked <= 2 * 900 + 65


@pytest.mark.parametrize(
    ("reply", "least", "most"),
    [
        (refused(429, retry_after=7), 7, 7),
        (refused(429, retry_after=0), 1, 1),
        (refused(429, retry_after=-30), 1, 1),
        (refused(429, retry_after=10**6), 3600, 3600),
        (refused(429, retry_after="soon"), 60, 60),
        (refused(429), 60, 60),
        (refused(403, SECONDARY), 60, 60),
        (refused(422, "Validation Failed: was submitted too quickly"), 60, 60),
        (refused(429, retry_after="nan"), 60, 60),
        (refused(503, retry_after=20), 20, 20),
        (refused(403, "Resource not accessible by integration"), 0, 0),
        (refused(403, "API rate limit exceeded for user ID 1."), 60, 60),
    ],
)
async def test_each_refusal_causes_its_own_delay(limiter, reply, least, most):
    assert least <= await wait_after(limiter, reply) <= most


async def test_dates_are_read_by_the_clock_of_the_server(limiter, clock):
    ahead = clock.now + 7200
    date = formatdate(ahead, usegmt=True)
    assert await wait_after(limiter, refused(429, retry_after=formatdate(ahead + 30, usegmt=True), date=date)) == 31
    used_up = {"x_ratelimit_remaining": 0, "date": date}
    assert await wait_after(limiter, refused(403, "no", x_ratelimit_reset=int(ahead + 40), **used_up)) == 41
    assert await wait_after(limiter, refused(403, "no", x_ratelimit_reset=int(ahead - 40), **used_up)) == 60


async def test_a_limit_without_a_time_doubles_up_to_a_quarter_of_an_hour(limiter):
    waits = [await wait_after(limiter, refused(403, SECONDARY)) for _ in range(6)]
    assert waits == [60, 120, 240, 480, 900, 900]

    limiter.update(ServiceReply(200), RequestKind.READ, **US)
    assert await wait_after(limiter, refused(403, SECONDARY)) == 60


async def test_a_short_delay_is_waited_for_and_a_long_one_is_raised(limiter, clock):
    limiter.update(refused(429, retry_after=4), RequestKind.READ, **US)
    await go(limiter)
    assert clock.slept == [4.0]

    limiter.update(refused(429, retry_after=6), RequestKind.READ, **US)
    with pytest.raises(RateLimited) as caught:
        await go(limiter)
    assert caught.value.retry_after == pytest.approx(6)


async def test_a_limit_survives_a_restart(limiter, db, clock, tmp_path):
    limiter.update(refused(429, retry_after=600), RequestKind.READ, **US)
    with closing(open_cache(tmp_path / "github.db")) as other:
        restarted = RateLimiter(RateLimitHolds(other), clock, clock.sleep)
        with pytest.raises(RateLimited):
            await go(restarted)
        clock.now += 601
        await go(restarted)


async def test_an_exhausted_limit_stops_only_its_own_kind(limiter, clock):
    reset = {"x_ratelimit_remaining": 0, "x_ratelimit_reset": int(clock.now + 900)}
    limiter.update(
        ServiceReply(200, {name.replace("_", "-"): str(value) for name, value in reset.items()}), RequestKind.READ, **US
    )
    with pytest.raises(RateLimited):
        await go(limiter)
    await go(limiter, resource="graphql")
    await go(limiter, payer="another installation")

    limiter.update(refused(403, SECONDARY), RequestKind.READ, **US)
    with pytest.raises(RateLimited):
        await go(limiter, resource="graphql")


@pytest.mark.parametrize("jump", [-86400, -7200, 7200, 86400])
async def test_a_jumping_clock_delays_requests_for_at_most_a_minute(limiter, clock, jump):
    limiter.update(refused(429, retry_after=900), RequestKind.READ, **US)
    await_free = clock.now + 901
    clock.now = await_free
    await go(limiter, RequestKind.WRITE)
    limiter.update(refused(429, retry_after=900), RequestKind.READ, **US)
    clock.now += jump
    try:
        await go(limiter, RequestKind.WRITE)
    except RateLimited as limited:
        assert limited.retry_after <= 60
        clock.now += limited.retry_after
        await go(limiter, RequestKind.WRITE)
    assert all(seconds > 0 for seconds in clock.slept)


async def test_no_request_is_sent_before_its_time_for_any_limits():
    found = await simulate(400, seed=7)

    assert (found.early, found.close, found.crowded) == (0, 0, 0)
    assert found.requests == 400
    assert found.limits > 10
