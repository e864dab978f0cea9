"""Cost chart of a run: its cost over time as a rising line. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.spend import Spend

WIDTH, HEIGHT = 320, 90


@dataclass(frozen=True, slots=True)
class CostChart:
    points: str
    """Points of an SVG polyline."""
    total_usd: float
    tokens: int
    begin: float
    end: float
    width: int = WIDTH
    height: int = HEIGHT


def cost_chart_of(spending: Sequence[Spend]) -> CostChart | None:
    """Returns None if the run has cost nothing."""
    total = sum(turn.usd for turn in spending)
    if not spending or total <= 0:
        return None
    begin = min(turn.at - turn.seconds for turn in spending)
    end = max(turn.at for turn in spending)
    length = max(end - begin, 1.0)
    points, sum_usd = [(0.0, 0.0)], 0.0
    for turn in spending:
        points.append((max(turn.at - turn.seconds - begin, 0.0) / length, sum_usd / total))
        sum_usd += turn.usd
        points.append(((turn.at - begin) / length, sum_usd / total))
    line = " ".join(f"{x * WIDTH:.1f},{HEIGHT - y * HEIGHT:.1f}" for x, y in points)
    return CostChart(line, total, sum(turn.tokens for turn in spending), begin, end)
