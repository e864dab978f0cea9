"""What a run has cost so far, as a line that climbs. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.spend import Spend

WIDTH, HEIGHT = 320, 90


@dataclass(frozen=True, slots=True)
class Chart:
    line: str
    """The points of a polyline, in the picture's own units."""
    total_usd: float
    tokens: int
    begin: float
    end: float
    width: int = WIDTH
    height: int = HEIGHT


def chart_of(spending: Sequence[Spend]) -> Chart | None:
    """None: nothing was spent."""
    total = sum(one.usd for one in spending)
    if not spending or total <= 0:
        return None
    begin = min(one.at - one.seconds for one in spending)
    end = max(one.at for one in spending)
    length = max(end - begin, 1.0)
    points, sum_usd = [(0.0, 0.0)], 0.0
    for one in spending:
        points.append((max(one.at - one.seconds - begin, 0.0) / length, sum_usd / total))
        sum_usd += one.usd
        points.append(((one.at - begin) / length, sum_usd / total))
    line = " ".join(f"{x * WIDTH:.1f},{HEIGHT - y * HEIGHT:.1f}" for x, y in points)
    return Chart(line, total, sum(one.tokens for one in spending), begin, end)
