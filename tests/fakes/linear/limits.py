"""Rate limits: leaky buckets of requests and complexity, by credential."""

from dataclasses import dataclass, field

from tests.fakes.linear.clock import Clock, milliseconds
from tests.fakes.linear.errors import Refusal, rate_limited, too_complex


@dataclass
class Limits:
    clock: Clock
    requests: float = 5000
    complexity: float = 250_000
    single: float = 10_000
    """The most points of one query."""
    period: float = 3600
    used: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    """Level and time of each bucket, keyed by credential and kind."""

    def limit(self, kind: str) -> float:
        return self.requests if kind == "requests" else self.complexity

    def _used(self, token: str, kind: str) -> float:
        used, at = self.used.get((token, kind), (0.0, self.clock.now))
        return max(0.0, used - (self.clock.now - at) * self.limit(kind) / self.period)

    def left(self, token: str, kind: str) -> float:
        return max(0.0, self.limit(kind) - self._used(token, kind))

    def spend(self, token: str, *, requests: float = 0, complexity: float = 0) -> None:
        for kind, amount in (("requests", requests), ("complexity", complexity)):
            self.used[token, kind] = self._used(token, kind) + amount, self.clock.now

    def refusal(self, token: str, points: int) -> Refusal | None:
        """Returns the reason why the request is refused now."""
        if points > self.single:
            return too_complex(points, self.single)
        for kind, amount in (("requests", 1), ("complexity", points)):
            if self.left(token, kind) < amount:
                return rate_limited(kind, self.limit(kind))
        return None

    def reset(self, token: str, kind: str) -> int:
        """Time when the bucket is full again, in milliseconds."""
        limit = self.limit(kind)
        return milliseconds(self.clock.now + (self._used(token, kind) * self.period / limit if limit else self.period))

    def headers(self, token: str, points: int) -> dict[str, str]:
        told = {"X-Complexity": str(points)}
        for kind in ("requests", "complexity"):
            name = f"X-RateLimit-{kind.capitalize()}"
            told |= {
                f"{name}-Limit": f"{self.limit(kind):.0f}",
                f"{name}-Remaining": str(int(self.left(token, kind))),
                f"{name}-Reset": str(self.reset(token, kind)),
            }
        return told
