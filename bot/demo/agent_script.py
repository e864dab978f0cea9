"""What the stand-in for the model does with the demo's issues: real edits to a real project, from a script.

It keeps nothing: which act is played follows from what people have said in the conversation, which step from how
often the model has answered since. So a demo that was killed goes on where it was.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.demo.messages_api import Request
from bot.demo.model import Play, Reply, Say, Step, Use, Wait

TOTAL, PRICES, DISCOUNT, GERMAN = (
    "The total forgets the quantity",
    "Prices need two decimals",
    "Add a discount code",
    "Print the receipt in German",
)

BODIES: Mapping[str, str] = {
    TOTAL: "Three packets of Assam cost as much as one. `Basket.total()` must count the quantity.",
    PRICES: "A tea for 4.50 EUR is shown as `4.5 EUR`. Always show two decimals.",
    DISCOUNT: "A basket should take a discount in percent, and `total()` should count it in.",
    GERMAN: "Our shop in Hamburg wants `receipt()` in German, too.",
}

REDIRECT_PRICES = "And please group the thousands: 1,234.50 EUR. We do sell gift boxes."
REDIRECT_DISCOUNT = "Nobody may get money back: refuse discounts over 100 percent."
CONFLICT = "conflict markers"
"""Of what an agent is told when its branch conflicts with what was merged meanwhile."""

_TESTS = Use("Bash", {"command": "python3 -m unittest -q 2>&1 | tail -3", "description": "Run the tests"})


@dataclass(frozen=True, slots=True)
class _Act:
    """From the moment all its cues were said; the last act of which that is so is played."""

    cues: Sequence[str]
    steps: Sequence[Sequence[Step]]


_AT_A_LOSS = Say("I am a scripted stand-in and know only the demo's own issues. A real model would begin now.")


def play(pace: float) -> Play:
    """`pace`: seconds the model takes to think before each answer."""

    def answer(request: Request) -> Reply:
        said = "\n".join(request.said)
        title = next((title for title in _ACTS if title in said), "")
        acts = [act for act in _ACTS.get(title, ()) if all(cue in said for cue in act.cues)]
        if not acts:
            return (_AT_A_LOSS,)
        steps = acts[-1].steps
        return (Wait(pace), *_possible(steps[min(request.answers_since_said, len(steps) - 1)], request))

    return answer


def _possible(steps: Sequence[Step], request: Request) -> Reply:
    """Only tools this agent has: their set differs from version to version."""
    return tuple(step for step in steps if not isinstance(step, Use) or step.tool in request.tools)


def _plan(done: int, *texts: str) -> Use:
    todos = [
        {"content": text, "activeForm": text, "status": _status(number, done)} for number, text in enumerate(texts)
    ]
    return Use("TodoWrite", {"todos": todos})


def _status(number: int, done: int) -> str:
    return "completed" if number < done else "in_progress" if number == done else "pending"


def _read(path: str) -> Use:
    return Use("Read", {"file_path": path})


def _write(path: str, content: str) -> Use:
    return Use("Write", {"file_path": path, "content": content})


_LINES = '''"""What a customer wants to buy."""

from dataclasses import dataclass, field


@dataclass
class Line:
    name: str
    cents: int
    quantity: int = 1


@dataclass
class Basket:
    lines: list[Line] = field(default_factory=list)
'''

_ADD = """
    def add(self, name: str, cents: int, quantity: int = 1) -> None:
        self.lines.append(Line(name, cents, quantity))
"""

_BASKET_WITH_QUANTITY = f"""{_LINES}{_ADD}
    def total(self) -> int:
        return sum(line.cents * line.quantity for line in self.lines)
"""

_QUANTITY_TEST = """import unittest

from teashop.basket import Basket


class QuantityTest(unittest.TestCase):
    def test_three_cost_three_times_as_much_as_one(self):
        basket = Basket()
        basket.add("Assam", 450, quantity=3)
        self.assertEqual(basket.total(), 1350)
"""

_BASKET_WITH_DISCOUNT = f"""{_LINES}    discount_percent: int = 0
{_ADD}
    def discount(self, percent: int) -> None:
        self.discount_percent = percent

    def total(self) -> int:
        full = sum(line.cents for line in self.lines)
        return full - full * self.discount_percent // 100
"""

_BASKET_WITH_LIMITED_DISCOUNT = _BASKET_WITH_DISCOUNT.replace(
    "        self.discount_percent = percent\n",
    """        if not 0 <= percent <= 100:
            raise ValueError("a discount is between 0 and 100 percent")
        self.discount_percent = percent
""",
)

_SUM, _SUM_WITH_QUANTITY = "sum(line.cents for", "sum(line.cents * line.quantity for"
_BASKET_WITH_DISCOUNT_AND_QUANTITY = _BASKET_WITH_DISCOUNT.replace(_SUM, _SUM_WITH_QUANTITY)
_BASKET_WITH_BOTH = _BASKET_WITH_LIMITED_DISCOUNT.replace(_SUM, _SUM_WITH_QUANTITY)

_PRICES = '''"""How prices are written."""


def format_price(cents: int) -> str:
    return f"{cents / 100:%s} EUR"
'''

_GERMAN = '''"""What the customer takes home."""

from teashop.basket import Basket
from teashop.prices import format_price

WORDS = {"en": ("Total", "Thank you!"), "de": ("Summe", "Vielen Dank!")}


def receipt(basket: Basket, language: str = "en") -> str:
    total, thanks = WORDS[language]
    lines = [f"{line.quantity} x {line.name}" for line in basket.lines]
    return "\\n".join([*lines, f"{total}: {format_price(basket.total())}", thanks])
'''

_THINKING = (Say("Let me see whether anything else depends on this."), Use("Bash", {"command": "sleep 1"}))

_ACTS: Mapping[str, Sequence[_Act]] = {
    TOTAL: (
        _Act(
            (TOTAL,),
            (
                (
                    Say("I will look at the basket first."),
                    _plan(0, "Mend the total", "Test it"),
                    _read("teashop/basket.py"),
                ),
                (_write("teashop/basket.py", _BASKET_WITH_QUANTITY),),
                (_plan(1, "Mend the total", "Test it"), _write("tests/test_quantity.py", _QUANTITY_TEST)),
                (_TESTS,),
                (Say("`Basket.total()` now counts the quantity, and a new test says so. I ran all the tests."),),
            ),
        ),
    ),
    PRICES: (
        _Act(
            (PRICES,),
            (
                (Say("I will look at how prices are written."), _read("teashop/prices.py")),
                (_write("teashop/prices.py", _PRICES % ".2f"),),
                (_TESTS,),
                *(_THINKING,) * 40,
                (Say("Prices are shown with two decimals now."),),
            ),
        ),
        _Act(
            (REDIRECT_PRICES,),
            (
                (Say("Good point about the gift boxes. I will group the thousands, too."), _read("teashop/prices.py")),
                (_write("teashop/prices.py", _PRICES % ",.2f"),),
                (_TESTS,),
                (Say("Prices have two decimals, and thousands are grouped, as Mira asked while I was at it."),),
            ),
        ),
    ),
    DISCOUNT: (
        _Act(
            (DISCOUNT,),
            (
                (Say("A discount belongs into the basket."), _read("teashop/basket.py")),
                (_write("teashop/basket.py", _BASKET_WITH_DISCOUNT),),
                (_TESTS,),
                (Say("`Basket.discount(percent)` sets a discount, and `total()` counts it in."),),
            ),
        ),
        _Act(
            (REDIRECT_DISCOUNT,),
            (
                (Say("I will refuse discounts that make no sense."), _read("teashop/basket.py")),
                (_write("teashop/basket.py", _BASKET_WITH_LIMITED_DISCOUNT),),
                (_TESTS,),
                (Say("Discounts under 0 or over 100 percent are refused with a `ValueError` now."),),
            ),
        ),
        _Act(
            (CONFLICT,),
            (
                (Say("Both sides changed `total()`."), _read("teashop/basket.py")),
                (_write("teashop/basket.py", _BASKET_WITH_DISCOUNT_AND_QUANTITY),),
                (_TESTS,),
                (Say("`total()` counts the quantity, as on the main branch, and takes the discount off."),),
            ),
        ),
        _Act(
            (CONFLICT, REDIRECT_DISCOUNT),
            (
                (
                    Say("The total must count the quantity, and the discount has its limits."),
                    _read("teashop/basket.py"),
                ),
                (_write("teashop/basket.py", _BASKET_WITH_BOTH),),
                (_TESTS,),
                (Say("`total()` counts the quantity, as on the main branch, and takes the limited discount off."),),
            ),
        ),
    ),
    GERMAN: (
        _Act(
            (GERMAN,),
            (
                (Say("The receipt needs a language."), _read("teashop/receipt.py")),
                (_write("teashop/receipt.py", _GERMAN),),
                *(_THINKING,) * 60,
                (Say("`receipt(basket, 'de')` speaks German."),),
            ),
        ),
    ),
}
