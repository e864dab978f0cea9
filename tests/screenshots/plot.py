"""Scripts of the stand-in model for the issues in the pictures: real edits to the demo's shop."""

import asyncio
from collections.abc import Mapping, Sequence
from textwrap import dedent

from bot.demo.messages_api import MessagesRequest
from bot.demo.scripted_model import Pause, SayText, ScriptedReply, ScriptStep, UseTool

TOTAL = "The total forgets the quantity"
PRICES = "Prices need two decimals"
DISCOUNT = "Add a discount code"
SUPPLIERS = "Read the suppliers' price lists"
HISTORY = "Remember what a customer ordered before"
GERMAN = "Print the receipt in German"
TAX = "Show the tax on the receipt"
WRAPPING = "Offer gift wrapping"
POSTAGE = "Orders over 50 EUR ship free"
VOUCHERS = "Sell vouchers"

BODIES: Mapping[str, str] = {
    TOTAL: "Three packets of Assam cost as much as one. `Basket.total()` must count the quantity.",
    PRICES: "A tea for 4.50 EUR is shown as `4.5 EUR`. Always show two decimals.",
    DISCOUNT: "A basket should take a discount in percent, and `total()` should count it in.",
    SUPPLIERS: "Each sends a CSV file of its own every Monday. We type them in by hand.",
    HISTORY: "So that they can buy the same again.",
    GERMAN: "Our shop in Hamburg wants `receipt()` in German, too.",
    TAX: "Seven percent on tea, nineteen on pots. The tax office wants to see both.",
    WRAPPING: "2 EUR for each parcel, and a line on the receipt.",
    POSTAGE: "4.90 EUR otherwise.",
    VOUCHERS: "For 10, 20 and 50 EUR.",
}

REDIRECTION = "Nobody may get money back: refuse discounts over 100 percent. And test that, please."
WISH = "Formal German, please: our customers in Hamburg expect it."

HEARD, _NEVER = asyncio.Event(), asyncio.Event()
_TESTS = UseTool("Bash", {"command": "python3 -m unittest 2>&1 | tail -4", "description": "Run the tests"})


def play(request: MessagesRequest) -> ScriptedReply:
    said = "\n".join(request.user_texts)
    title = next(title for title in BODIES if title in said)
    cue = next((cue for cue in (REDIRECTION, WISH) if cue in request.last_user_text), title)
    steps = _ACTS[cue]
    chosen = steps[min(request.answers_since_user_text, len(steps) - 1)]
    return (Pause(0.3), *chosen)


def _todo(done: int, *texts: str) -> UseTool:
    states = ["completed"] * done + ["in_progress"] + ["pending"] * len(texts)
    todos = [{"content": text, "activeForm": text, "status": state} for text, state in zip(texts, states, strict=False)]
    return UseTool("TodoWrite", {"todos": todos})


def _read(path: str) -> UseTool:
    return UseTool("Read", {"file_path": path})


def _write(path: str, content: str) -> UseTool:
    return UseTool("Write", {"file_path": path, "content": dedent(content).lstrip("\n")})


def _edit(path: str, old: str, new: str) -> UseTool:
    return UseTool("Edit", {"file_path": path, "old_string": old, "new_string": new})


def _ask(question: str) -> UseTool:
    return UseTool("mcp__treehand__ask", {"question": question})


_BASKET, _RECEIPT, _PRICES = "teashop/basket.py", "teashop/receipt.py", "teashop/prices.py"

_DISCOUNT_TODO = ("Take a discount", "Count it into the total", "Test it")
_GERMAN_TODO = ("Put the words in one place", "Print them in German", "Test both languages", "Name it in the README")
_TAX_TODO = ("Give each line a rate", "Sum the tax by rate", "Print it on the receipt")
_WRAPPING_TODO = ("Add the price", "Count parcels", "Print the line", "Test it")

_TOTAL_TEST = """
    import unittest

    from teashop.basket import Basket


    class QuantityTest(unittest.TestCase):
        def test_three_cost_three_times_as_much_as_one(self):
            basket = Basket()
            basket.add("Assam", 450, quantity=3)
            self.assertEqual(basket.total(), 1350)
"""

_PRICES_TEST = """
    import unittest

    from teashop.prices import format_price


    class PriceTest(unittest.TestCase):
        def test_it_always_has_two_decimals(self):
            self.assertEqual(format_price(450), "4.50 EUR")

        def test_what_costs_nothing_has_them_too(self):
            self.assertEqual(format_price(0), "0.00 EUR")
"""

_SET_DISCOUNT = """    def discount(self, percent: int) -> None:
        self.discount_percent = percent
"""

_LIMITED_DISCOUNT = """    def discount(self, percent: int) -> None:
        if not 0 <= percent <= 100:
            raise ValueError("a discount is between 0 and 100 percent")
        self.discount_percent = percent
"""

_DISCOUNT_TEST = """
    import unittest

    from teashop.basket import Basket


    class DiscountTest(unittest.TestCase):
        def setUp(self):
            self.basket = Basket()
            self.basket.add("Assam", 450)

        def test_ten_percent_are_taken_off(self):
            self.basket.discount(10)
            self.assertEqual(self.basket.total(), 405)
"""

_LIMIT_TEST = """            self.assertEqual(self.basket.total(), 405)

    def test_nobody_gets_money_back(self):
        with self.assertRaises(ValueError):
            self.basket.discount(101)
""".replace("            self.assertEqual", "        self.assertEqual", 1)

_WORDS = '''"""The words on a receipt, by language."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    total: str
    thanks: str


WORDS = {
    "en": Words("Total", "Thank you!"),
    "de": Words("Summe", "Danke!"),
}
'''

_GERMAN_RECEIPT = '''"""What the customer takes home."""

from teashop.basket import Basket
from teashop.prices import format_price
from teashop.words import WORDS


def receipt(basket: Basket, language: str = "en") -> str:
    words = WORDS[language]
    lines = [f"{line.quantity} x {line.name}" for line in basket.lines]
    return "\\n".join([*lines, f"{words.total}: {format_price(basket.total())}", words.thanks])
'''

_LANGUAGES_TEST = """
    import unittest

    from teashop.basket import Basket
    from teashop.receipt import receipt


    class LanguageTest(unittest.TestCase):
        def setUp(self):
            self.basket = Basket()
            self.basket.add("Assam", 450)

        def test_it_is_english_unless_asked(self):
            self.assertIn("Thank you!", receipt(self.basket))

        def test_hamburg_is_thanked_formally(self):
            self.assertIn("Vielen Dank", receipt(self.basket, "de"))
"""

_PLAN = """1. A module `teashop/history.py` that keeps each paid basket in SQLite, by the customer's e-mail address.
2. `Basket.again(email)` fills a basket with what was bought last.
3. Tests with a database in memory.

No price is stored twice: what is bought again costs what it costs today."""

_ACTS: Mapping[str, Sequence[Sequence[ScriptStep]]] = {
    TOTAL: (
        (SayText("I will look at the basket first."), _todo(0, "Mend the total", "Test it"), _read(_BASKET)),
        (
            _edit(_BASKET, "sum(line.cents for", "sum(line.cents * line.quantity for"),
            _todo(1, "Mend the total", "Test it"),
        ),
        (_write("tests/test_quantity.py", _TOTAL_TEST), _TESTS),
        (_todo(2, "Mend the total", "Test it"),),
        (SayText("`Basket.total()` now counts the quantity, and a new test says so."),),
    ),
    PRICES: (
        (SayText("I will look at how prices are written."), _read(_PRICES)),
        (_edit(_PRICES, "{cents / 100} EUR", "{cents / 100:.2f} EUR"),),
        (_write("tests/test_prices.py", _PRICES_TEST), _TESTS),
        (SayText("Prices always have two decimals now. Nothing else formats them, so `receipt()` follows by itself."),),
    ),
    DISCOUNT: (
        (SayText("A discount belongs into the basket."), _todo(0, *_DISCOUNT_TODO), _read(_BASKET)),
        (
            _edit(
                _BASKET,
                "field(default_factory=list)\n",
                "field(default_factory=list)\n    discount_percent: int = 0\n",
            ),
        ),
        (_edit(_BASKET, "    def total(", f"{_SET_DISCOUNT}\n    def total("), _todo(1, *_DISCOUNT_TODO)),
        (
            _edit(
                _BASKET,
                "        return sum(line.cents * line.quantity for line in self.lines)\n",
                "        full = sum(line.cents * line.quantity for line in self.lines)\n"
                "        return full - full * self.discount_percent // 100\n",
            ),
            _todo(2, *_DISCOUNT_TODO),
        ),
        (_write("tests/test_discount.py", _DISCOUNT_TEST), _TESTS),
        (_todo(3, *_DISCOUNT_TODO),),
        (SayText("`Basket.discount(percent)` sets a discount, and `total()` takes it off."),),
    ),
    REDIRECTION: (
        (SayText("I will refuse discounts that make no sense."), _read(_BASKET), _read("tests/test_discount.py")),
        (_edit(_BASKET, _SET_DISCOUNT, _LIMITED_DISCOUNT),),
        (
            _edit("tests/test_discount.py", "        self.assertEqual(self.basket.total(), 405)\n", _LIMIT_TEST),
            _TESTS,
        ),
        (
            SayText(
                "`Basket.discount(percent)` sets a discount, and `total()` takes it off. Less than 0 or more than 100 "
                "percent is refused with a `ValueError`, as Jonas asked, and a test says so.\n\n"
                "One discount counts for the whole basket; a second call replaces the first."
            ),
        ),
    ),
    SUPPLIERS: (
        (
            SayText("I will see what reads files here already."),
            UseTool("Grep", {"pattern": "csv|open\\("}),
            _read(_PRICES),
        ),
        (_ask("Are prices without a currency in EUR, or is such a file to be refused? Two suppliers name none."),),
        (SayText("I have asked."),),
    ),
    HISTORY: (
        (SayText("I will look at what a basket knows of its customer."), _read(_BASKET), _read(_RECEIPT)),
        (SayText(_PLAN),),
    ),
    GERMAN: (
        (
            SayText("The words on the receipt stand in the code. I will put them in one place first, then add German."),
            _todo(0, *_GERMAN_TODO),
            _read(_RECEIPT),
        ),
        (_write("teashop/words.py", _WORDS), _todo(1, *_GERMAN_TODO)),
        (Pause(until=HEARD), _TESTS),
    ),
    WISH: (
        (
            SayText("Formal it is: `Vielen Dank für Ihren Einkauf!` instead of `Danke!`."),
            _edit("teashop/words.py", "Danke!", "Vielen Dank für Ihren Einkauf!"),
        ),
        (_write(_RECEIPT, _GERMAN_RECEIPT), _todo(2, *_GERMAN_TODO)),
        (_TESTS,),
        (
            SayText("All green still. Now a test for each language."),
            _write("tests/test_languages.py", _LANGUAGES_TEST),
        ),
        (Pause(until=_NEVER),),
    ),
    TAX: (
        (SayText("Each line needs a rate of its own."), _todo(0, *_TAX_TODO), _read(_BASKET)),
        (_edit(_BASKET, "    quantity: int = 1\n\n", "    quantity: int = 1\n    tax_percent: int = 7\n\n"),),
        (_todo(1, *_TAX_TODO), _read(_RECEIPT)),
        (Pause(until=_NEVER),),
    ),
    WRAPPING: (
        (SayText("Wrapping is a price like any other."), _todo(0, *_WRAPPING_TODO), _read(_PRICES)),
        (_edit(_PRICES, "def format_price", "WRAPPING_CENTS = 200\n\n\ndef format_price"),),
        (_todo(1, *_WRAPPING_TODO), _TESTS),
        (Pause(until=_NEVER),),
    ),
}
