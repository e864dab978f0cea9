"""What the customer takes home."""

from teashop.basket import Basket
from teashop.prices import format_price


def receipt(basket: Basket) -> str:
    lines = [f"{line.quantity} x {line.name}" for line in basket.lines]
    return "\n".join([*lines, f"Total: {format_price(basket.total())}", "Thank you!"])
