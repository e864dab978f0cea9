"""Formats money, such as `$5.02`."""


def dollars(usd: float) -> str:
    return f"${usd:.2f}"


def grouped_dollars(usd: float) -> str:
    """Separates thousands, for totals: `$1,234.50`."""
    return f"${usd:,.2f}"
