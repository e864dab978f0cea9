"""Prices of models: what the tokens of an answer cost, by their class.

Rule: list prices in dollars for a million tokens, as the agent's program knows them. A model without a price here costs
as much as the dearest: no budget is overrun because a model is new.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

_MILLION = 1_000_000
_WEB_SEARCH_USD = 0.01
_IN_US_FACTOR = 1.1
"""Factor for answers that are bound to the United States."""


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Tokens of one answer, by what they cost."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    """Kept for five minutes."""
    cache_write_hour: int = 0
    """Kept for an hour."""
    web_searches: int = 0
    in_us: bool = False

    @property
    def prompt(self) -> int:
        return self.input + self.cache_read + self.cache_write + self.cache_write_hour

    @property
    def tokens(self) -> int:
        return self.prompt + self.output


NO_TOKENS = TokenCounts()


@dataclass(frozen=True, slots=True)
class Price:
    input: float
    output: float
    cache_read: float
    cache_write: float
    cache_write_hour: float
    long_prompt: "Price | None" = None
    """Price of answers to longer prompts than `long_prompt_tokens`."""
    long_prompt_tokens: int = 0

    def cost(self, counts: TokenCounts) -> float:
        """Returns dollars."""
        if self.long_prompt and counts.prompt > self.long_prompt_tokens:
            return self.long_prompt.cost(counts)
        tokens = (
            counts.input * self.input
            + counts.output * self.output
            + counts.cache_read * self.cache_read
            + counts.cache_write * self.cache_write
            + counts.cache_write_hour * self.cache_write_hour
        )
        factor = _IN_US_FACTOR if counts.in_us else 1.0
        return tokens / _MILLION * factor + counts.web_searches * _WEB_SEARCH_USD


def price_from(dollars_in: float, dollars_out: float, cache_read: float | None = None) -> Price:
    """Prices of the cache follow from that of the input, unless they are named."""
    read = dollars_in / 10 if cache_read is None else cache_read
    return Price(dollars_in, dollars_out, read, dollars_in * 1.25, dollars_in * 2)


_HAIKU_5_5_LONG = price_from(0.5, 2.5)
PRICES: Mapping[str, Price] = {
    "claude-3-5-haiku": price_from(0.8, 4),
    "claude-haiku-4-5": price_from(1, 5),
    "claude-haiku-5-5": Price(0.1, 0.5, 0.01, 0.125, 0.2, _HAIKU_5_5_LONG, 100_000),
    "claude-3-5-sonnet": price_from(3, 15),
    "claude-3-7-sonnet": price_from(3, 15),
    "claude-sonnet-4-0": price_from(3, 15),
    "claude-sonnet-4-5": price_from(3, 15),
    "claude-sonnet-4-6": price_from(3, 15),
    "claude-sonnet-5": price_from(2, 10),
    "claude-sonnet-5-5": price_from(2, 10, 0.1),
    "claude-opus-4-0": price_from(15, 75),
    "claude-opus-4-1": price_from(15, 75),
    "claude-opus-4-5": price_from(5, 25),
    "claude-opus-4-6": price_from(5, 25),
    "claude-opus-4-7": price_from(5, 25),
    "claude-opus-4-8": price_from(5, 25),
    "claude-opus-5": price_from(5, 25),
    "claude-opus-5-5": price_from(4, 20, 0.2),
    "claude-fable-5": price_from(10, 50),
    "claude-fable-5-1": price_from(10, 50, 0.25),
    "claude-fable-5-2": price_from(8, 40, 0.2),
    "claude-mythos-5": price_from(10, 50),
    "claude-mythos-5-1": price_from(10, 50, 0.25),
    "claude-mythos-5-2": price_from(8, 40, 0.2),
}
_DEAREST = max(PRICES, key=lambda name: PRICES[name].output)
_DATED = re.compile(r"(claude-(?:opus|sonnet)-4)-20\d{6}")
"""The first models of a generation carry no second number in their full names."""
_NAME_END = r"(?!-?\d{1,2}(?!\d))"
"""Another version may follow no name: `claude-opus-5-9` is not `claude-opus-5`, but `claude-opus-4-5-20251101` is."""


def price_of(model: str, own: Mapping[str, Price]) -> Price:
    """`own`: prices that the operator set, by the name of the model."""
    return own.get(model) or find_price(model) or PRICES[_DEAREST]


def is_unpriced(model: str, own: Collection[str]) -> bool:
    """Returns True if its cost is a guess. `own`: models whose prices the operator set."""
    return model not in own and find_price(model) is None


def why_guessed(model: str) -> str:
    """A sentence about the cost of a model without a price."""
    return (
        f"counted at the price of {_DEAREST}, the dearest, because the price of {model} is not known: set it in "
        "`budget.prices`"
    )


def find_price(model: str) -> Price | None:
    """Returns the list price of a model by its short or its full name; None if it is not known."""
    name = _DATED.sub(r"\1-0", model.lower())
    fitting = [known for known in PRICES if re.search(re.escape(known) + _NAME_END, name)]
    return PRICES[max(fitting, key=len)] if fitting else None
