"""A figure as CSV, for spreadsheets. Rule: what others named things never becomes a formula there."""

import csv
import io
import time

from bot.domain.statistics import Figure
from bot.text.visible import on_one_line

_BEGIN_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""https://owasp.org/www-community/attacks/CSV_Injection"""


def sheet(figure: Figure) -> str:
    """A row per day or week, by the day it begins; a column per series. What nobody knows is empty."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["from", *(harmless(f"{series.name} ({figure.unit})") for series in figure.series)])
    for column, start in enumerate(figure.starts):
        values = [series.values[column] for series in figure.series]
        writer.writerow([time.strftime("%Y-%m-%d", time.gmtime(start)), *map(_number, values)])
    return out.getvalue()


def harmless(text: str) -> str:
    plain = on_one_line(text)
    return f"'{plain}" if plain.startswith(_BEGIN_FORMULAS) else plain


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}".rstrip("0").rstrip(".")
