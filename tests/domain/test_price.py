"""Prices of models: known by any of their names, never too low, and those of the agent's own program."""

import mmap
import re
from collections.abc import Mapping
from pathlib import Path

import claude_agent_sdk
import pytest

from bot.domain.price import PRICES, Price, TokenCounts, find_price, price_from, price_of

PROGRAM = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
_ENTRY = re.compile(rb'\{id:"(claude-[a-z0-9-]+)",family:.{0,2000}?pricing:"(\w+)"', re.DOTALL)
_TIER = re.compile(rb"(\w+):\{input:([\d.e]+),output:([\d.e]+),cache_write_5m:([\d.e]+),cache_write_1h:([\d.e]+),"
                   rb"cache_read:([\d.e]+),web_search:0.01(,long_prompt:\{above_prompt_tokens:([\d.e]+))?")  # fmt: skip


def catalog() -> Mapping[str, Price]:
    """The agent's program holds its prices as text."""
    with PROGRAM.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        begin = content.find(b"pricing_tiers:{tier_")
        text = content[begin : begin + 100_000]
    tiers = {name: tuple(map(float, numbers)) for name, *numbers, _, _ in _TIER.findall(text)}
    return {name.decode(): _price(tiers[tier]) for name, tier in _ENTRY.findall(text)}


def _price(tier: tuple[float, ...]) -> Price:
    dollars_in, dollars_out, write, write_hour, read = tier
    return Price(dollars_in, dollars_out, read, write, write_hour)


def test_the_prices_are_those_of_the_agents_program():
    theirs = catalog()
    assert len(theirs) > 20
    ours = {name: Price(one.input, one.output, one.cache_read, one.cache_write, one.cache_write_hour)
            for name, one in PRICES.items()}  # fmt: skip
    assert ours.keys() == theirs.keys()
    for name, one in ours.items():
        found = (one.input, one.output, one.cache_read, one.cache_write, one.cache_write_hour)
        their = theirs[name]
        assert found == pytest.approx(
            (their.input, their.output, their.cache_read, their.cache_write, their.cache_write_hour)
        )


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("claude-opus-5-5", "claude-opus-5-5"),
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("claude-opus-4-20250514", "claude-opus-4-0"),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", "claude-sonnet-4-0"),
        ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("claude-sonnet-5-5[1m]", "claude-sonnet-5-5"),
        ("Claude-Opus-5", "claude-opus-5"),
    ],
)
def test_a_model_is_known_by_its_full_name_as_well(name, known):
    assert find_price(name) == PRICES[known]


@pytest.mark.parametrize("name", ["claude-opus-5-9", "claude-opus-6", "gateway-model", "claude-opus-55"])
def test_an_unknown_model_costs_as_much_as_the_dearest(name):
    assert find_price(name) is None
    assert price_of(name, {}).output == max(one.output for one in PRICES.values())


def test_what_the_operator_set_comes_first():
    own = price_from(1, 2)
    assert price_of("claude-opus-5-5", {"claude-opus-5-5": own}) is own
    assert own == Price(1, 2, 0.1, 1.25, 2)


def test_a_long_prompt_has_its_own_price():
    haiku = PRICES["claude-haiku-5-5"]
    assert haiku.cost(TokenCounts(input=100_000)) == pytest.approx(0.01)
    assert haiku.cost(TokenCounts(input=50_000, cache_read=50_001)) == pytest.approx(
        (50_000 * 0.5 + 50_001 * 0.05) / 1e6
    )


def test_searches_and_answers_bound_to_a_place_cost_more():
    opus = PRICES["claude-opus-5-5"]
    assert opus.cost(TokenCounts(output=1_000_000, web_searches=3, in_us=True)) == pytest.approx(22.03)
