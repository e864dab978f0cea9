"""Rate limits: points an hour, counted by credential and resource."""

from dataclasses import dataclass, field

from tests.fakes.github.model import Token
from tests.fakes.github.state import State

HOURLY = 5000


@dataclass
class Limits:
    world: State
    window: dict[str, int] = field(default_factory=dict)
    """The hour each credential's count is of."""
    forced: dict[str, tuple[int, float]] = field(default_factory=dict)
    """Points left for all accounts and their end, keyed by resource; set by a test."""

    def limit(self, remaining: int, reset: float, *, resource: str = "core") -> None:
        """Leaves every credential so many points until `reset` seconds from now."""
        self.forced[resource] = (remaining, self.world.now + reset)

    def left(self, token: Token | None, resource: str) -> int:
        if resource in self.forced:
            left, reset = self.forced[resource]
            if self.world.now < reset:
                return left
            del self.forced[resource]
        return HOURLY - self._used(token, resource)

    def spend(self, token: Token | None, resource: str, points: int) -> None:
        if resource in self.forced:
            left, reset = self.forced[resource]
            self.forced[resource] = (max(left - points, 0), reset)
        if token:
            token.used[resource] = self._used(token, resource) + points

    def _used(self, token: Token | None, resource: str) -> int:
        if token is None:
            return 0
        hour = int(self.world.now // 3600)
        if self.window.get(token.text) != hour:
            self.window[token.text] = hour
            token.used.clear()
        return token.used.get(resource, 0)

    def headers(self, token: Token | None, resource: str) -> dict[str, str]:
        reset = self.forced[resource][1] if resource in self.forced else (self.world.now // 3600 + 1) * 3600
        left = self.left(token, resource)
        return {
            "x-ratelimit-limit": str(HOURLY),
            "x-ratelimit-remaining": str(left),
            "x-ratelimit-used": str(HOURLY - left),
            "x-ratelimit-reset": str(int(reset)),
            "x-ratelimit-resource": resource,
        }
