"""Refusals of the model's service that are usage limits, and their reset time."""

import pytest

from bot.sandbox.proxy.model_usage_limit import parse_usage_limit
from tests.sandbox.fake_network import answer_of, sandbox, serving, whole

DATE = {"date": "Tue, 18 Nov 2031 10:00:00 GMT"}
SENT = 1_952_762_400.0
REJECTED = {"anthropic-ratelimit-unified-status": "rejected"}
RESET = "anthropic-ratelimit-unified-reset"


@pytest.mark.parametrize(
    ("status", "headers", "over"),
    [
        (429, {**REJECTED, RESET: "1952770000"}, 1_952_770_000.0),
        (429, {**REJECTED, RESET: "1952770000", **DATE, "retry-after": "7"}, 1_952_770_000.0),
        (429, {**REJECTED, **DATE, "retry-after": "7"}, SENT + 7),
        (429, {**DATE, "retry-after": "7200"}, SENT + 7200),
        (429, {**DATE, "retry-after": "60"}, SENT + 60),
        (429, {"retry-after": "7200"}, 0.0),
        (429, {"retry-after": "7200", "date": "soon"}, 0.0),
        (429, REJECTED, 0.0),
        (429, {**REJECTED, RESET: "nan"}, 0.0),
        (429, {**REJECTED, RESET: "inf"}, 0.0),
        (429, {**REJECTED, RESET: "-5"}, 0.0),
        (429, {**DATE, "retry-after": "59"}, None),
        (429, {**DATE, "retry-after": "nan"}, None),
        (429, {"anthropic-ratelimit-unified-status": "allowed", RESET: "1952770000"}, None),
        (429, {}, None),
        (529, {**REJECTED, RESET: "1952770000"}, None),
        (200, {**REJECTED, RESET: "1952770000"}, None),
    ],
)
def test_lasting_refusals_are_usage_limits_with_their_end(status, headers, over):
    assert parse_usage_limit(status, headers) == over


async def test_the_proxy_remembers_only_the_last_response(tmp_path):
    refusal = answer_of(429, b"{}", "anthropic-ratelimit-unified-status: rejected", f"{RESET}: 1952770000")
    answers = [refusal, whole()]

    async def play(heard, write):
        counted = heard.target.endswith("count_tokens")
        await write(answer_of(200, b'{"input_tokens": 3}') if counted else answers.pop(0))

    async with serving(play) as service, sandbox(tmp_path, service) as box:
        assert box.usage.limit_reset_at is None
        assert (await box.ask()).status_code == 429
        assert (await box.ask("/v1/messages/count_tokens")).status_code == 200
        assert box.usage.limit_reset_at == 1_952_770_000.0
        assert (await box.ask()).status_code == 200
        assert box.usage.limit_reset_at is None
