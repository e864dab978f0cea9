"""The agent's script of the demo: the edits and answers of the model for each of the four issues.

Rule: stateless. The comments in the conversation choose the act, the number of answers since then the step, so that a
demo that was killed continues where it was.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.demo.messages_api import MessagesRequest
from bot.demo.scripted_model import Pause, SayText, Script, ScriptedReply, ScriptStep, UseTool

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
"""Part of the prompt for an agent whose branch conflicts with the base."""

_TESTS = UseTool("Bash", {"command": "python3 -m unittest -q 2>&1 | tail -3", "description": "Run the tests"})


@dataclass(frozen=True, slots=True)
class _Act:
    """Applies once people have written all its cues; the last act that applies is played."""

    cues: Sequence[str]
    steps: Sequence[Sequence[ScriptStep]]


_UNKNOWN_ISSUE = SayText("This scripted model knows only the issues of the demo. A real model would start now.")


def agent_script(pace: float) -> Script:
    """Waits `pace` seconds before each answer."""

    def answer(request: MessagesRequest) -> ScriptedReply:
        written = "\n".join(request.user_texts)
        title = next((title for title in _ACTS if title in written), "")
        acts = [act for act in _ACTS.get(title, ()) if all(cue in written for cue in act.cues)]
        if not acts:
            return (_UNKNOWN_ISSUE,)
        steps = acts[-1].steps
        return (Pause(pace), *_with_known_tools(steps[min(request.answers_since_user_text, len(steps) - 1)], request))

    return answer


def _with_known_tools(steps: Sequence[ScriptStep], request: MessagesRequest) -> ScriptedReply:
    """Leaves out tools that this version of the agent does not have."""
    return tuple(step for step in steps if not isinstance(step, UseTool) or step.tool in request.tools)


def _plan(done: int, *texts: str) -> UseTool:
    todos = [
        {"content": text, "activeForm": text, "status": _status(number, done)} for number, text in enumerate(texts)
    ]
    return UseTool("TodoWrite", {"todos": todos})


def _status(number: int, done: int) -> str:
    return "completed" if number < done else "in_progress" if number == done else "pending"


def _read(path: str) -> UseTool:
    return UseTool("Read", {"file_path": path})


def _write(path: str, content: str) -> UseTool:
    return UseTool("Write", {"file_path": path, "content": content})


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

_BUSY = (SayText("Let me see whether anything else depends on this."), UseTool("Bash", {"command": "sleep 1"}))

_ACTS: Mapping[str, Sequence[_Act]] = {
    TOTAL: (
        _Act(
            (TOTAL,),
            (
                (
                    SayText("I will look at the basket first."),
                    _plan(0, "Fix the total", "Test it"),
                    _read("teashop/basket.py"),
                ),
                (_write("teashop/basket.py", _BASKET_WITH_QUANTITY),),
                (_plan(1, "Fix the total", "Test it"), _write("tests/test_quantity.py", _QUANTITY_TEST)),
                (_TESTS,),
                (SayText("`Basket.total()` now counts the quantity, and a new test says so. I ran all the tests."),),
            ),
        ),
    ),
    PRICES: (
        _Act(
            (PRICES,),
            (
                (SayText("I will look at how prices are written."), _read("teashop/prices.py")),
                (_write("teashop/prices.py", _PRICES % ".2f"),),
                (_TESTS,),
                *(_BUSY,) * 40,
                (SayText("Prices are shown with two decimals now."),),
            ),
        ),
        _Act(
            (REDIRECT_PRICES,),
            (
                (
                    SayText("Good point about the gift boxes. I will group the thousands, too."),
                    _read("teashop/prices.py"),
                ),
                (_write("teashop/prices.py", _PRICES % ",.2f"),),
                (_TESTS,),
                (SayText("Prices have two decimals, and thousands are grouped, as Mira asked while I was at it."),),
            ),
        ),
    ),
    DISCOUNT: (
        _Act(
            (DISCOUNT,),
            (
                (SayText("A discount belongs into the basket."), _read("teashop/basket.py")),
                (_write("teashop/basket.py", _BASKET_WITH_DISCOUNT),),
                (_TESTS,),
                (SayText("`Basket.discount(percent)` sets a discount, and `total()` counts it in."),),
            ),
        ),
        _Act(
            (REDIRECT_DISCOUNT,),
            (
                (SayText("I will refuse discounts that make no sense."), _read("teashop/basket.py")),
                (_write("teashop/basket.py", _BASKET_WITH_LIMITED_DISCOUNT),),
                (_TESTS,),
                (SayText("Discounts under 0 or over 100 percent are refused with a `ValueError` now."),),
            ),
        ),
        _Act(
            (CONFLICT,),
            (
                (SayText("Both sides changed `total()`."), _read("teashop/basket.py")),
                (_write("teashop/basket.py", _BASKET_WITH_DISCOUNT_AND_QUANTITY),),
                (_TESTS,),
                (SayText("`total()` counts the quantity, as on the main branch, and takes the discount off."),),
            ),
        ),
        _Act(
            (CONFLICT, REDIRECT_DISCOUNT),
            (
                (
                    SayText("The total must count the quantity, and the discount has its limits."),
                    _read("teashop/basket.py"),
                ),
                (_write("teashop/basket.py", _BASKET_WITH_BOTH),),
                (_TESTS,),
                (SayText("`total()` counts the quantity, as on the main branch, and takes the limited discount off."),),
            ),
        ),
    ),
    GERMAN: (
        _Act(
            (GERMAN,),
            (
                (SayText("The receipt needs a language."), _read("teashop/receipt.py")),
                (_write("teashop/receipt.py", _GERMAN),),
                *(_BUSY,) * 60,
                (SayText("`receipt(basket, 'de')` speaks German."),),
            ),
        ),
    ),
}
