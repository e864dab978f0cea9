"""How prices are written."""


def format_price(cents: int) -> str:
    return f"{cents / 100} EUR"
