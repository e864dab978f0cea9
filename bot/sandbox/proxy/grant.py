"""Grant: what one sandbox may reach through the proxy; and its usage: tokens, money, refusals, limits."""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from bot.errors import Retryable
from bot.sandbox.proxy.learned_hosts import LearnedHosts
from bot.text.invisible_characters import on_one_line

_MAX_KINDS = 20
_MAX_LETTERS = 100


@dataclass(frozen=True, slots=True)
class ModelUpstream:
    """Address of the model, and the headers with the credential that the proxy adds."""

    address: str
    """May be loopback or private, because the operator chose it."""
    headers: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Grant:
    token: str = field(repr=False)
    """Used instead of the model's key, and valid only here. Empty: this sandbox has no access to the model."""
    hosts: frozenset[str] = frozenset()
    """Allowed hosts, as `name` (port 443) or `name:port`."""
    model: str = ""
    """A full name is the only model allowed; with an alias, or an empty name, the first request chooses."""
    max_tokens: int = 0
    """0: no limit."""
    max_usd: float = 0.0
    """0: no limit."""
    private_hosts: frozenset[str] = frozenset()
    """Names among `hosts` that may have addresses of a private network; others here allow nothing."""
    learned: LearnedHosts | None = None
    """Admits all public hosts and records them; None: only `hosts`."""


class UsedUp(Enum):
    """The limit that a sandbox has reached. Only `NOTHING` is false."""

    NOTHING = ""
    TOKENS = "tokens"
    MONEY = "money"
    DAY = "day"

    def __bool__(self) -> bool:
        return self is not UsedUp.NOTHING


@dataclass(slots=True)
class DayBudget:
    """Money that all sandboxes together may spend today."""

    limit_usd: float = 0.0
    """0: no limit."""
    read_spent_usd: Callable[[], float] = lambda: 0.0
    """Money spent today, with every answer that was counted so far: asked before each request."""
    reserved_usd: float = 0.0
    """Most that the requests in flight may cost, of all sandboxes."""

    @property
    def left_usd(self) -> float:
        return self.limit_usd - self.read_spent_usd() if self.limit_usd else math.inf


@dataclass(frozen=True, slots=True)
class UsageChange:
    tokens: int = 0
    usd: float = 0.0
    reserved_usd: float = 0.0
    """Most that the requests in flight may still cost, from now on."""
    unpriced: str = ""
    """The last model whose price is not known; empty if there is none."""


OnUsage = Callable[[UsageChange], None]
"""Called as tokens are counted, before the sandbox gets the answer, and before each request to the model.

Raises Retryable if a new reservation cannot be saved.
"""


def ignore_usage(_change: UsageChange) -> None:
    """Used where nothing can be spent."""


class ProxyRefusal(Exception):
    """Sent back as an answer, and shown to people as an attempt of the sandbox."""

    def __init__(self, status: int, reason: str, *, attempt: str = "") -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.attempt = attempt
        """Completes "it tried to ..."; empty if people need not know."""


class SandboxUsage:
    """Live usage of one sandbox."""

    def __init__(self, on_usage: OnUsage = ignore_usage) -> None:
        self._on_usage = on_usage
        self.tokens = 0
        """Tokens used, as the model's service reported them."""
        self.usd = 0.0
        """Cost of these tokens."""
        self.reserved_usd = 0.0
        """Most that requests in flight may still cost, besides what was counted of them."""
        self.unpriced = ""
        """The last model that was asked for whose price is not known, on one harmless line."""
        self.unsaved = ""
        """Why the last reservation could not be saved, so that its request was refused; empty if it was saved."""
        self.used_up = UsedUp.NOTHING
        """The limit for which a request was refused."""
        self.unreachable = ""
        """Why the last request got no answer of the model's service, for people; empty if it got one."""
        self.is_key_refused = False
        """The model's service refused the key."""
        self.limit_reset_at: float | None = None
        """Reset time of the usage limit that the last answer reported; 0 if unknown; None if there is no limit."""
        self._attempts: Counter[str] = Counter()
        self._unlisted = 0

    @property
    def refusals(self) -> tuple[str, ...]:
        """Refused attempts in words, some chosen by the sandbox, each on one harmless line."""
        listed = [attempt if times == 1 else f"{attempt} ({times} times)" for attempt, times in self._attempts.items()]
        return (*listed, *([f"and {self._unlisted} more"] if self._unlisted else []))

    def reserve(self, usd: float) -> None:
        """Returns when the reservation is saved. Raises Retryable if it cannot be saved: then nothing is reserved."""
        try:
            self._on_usage(UsageChange(reserved_usd=self.reserved_usd + usd, unpriced=self.unpriced))
        except Retryable as problem:
            self.unsaved = str(problem)
            raise
        self.unsaved = ""
        self.reserved_usd += usd

    def add(self, tokens: int, usd: float, *, settled_usd: float = 0.0) -> None:
        """`settled_usd`: so much is not reserved any more."""
        self.tokens += tokens
        self.usd += usd
        self.reserved_usd = max(0.0, self.reserved_usd - settled_usd)
        self._on_usage(UsageChange(tokens, usd, self.reserved_usd, self.unpriced))

    def record_unpriced(self, model: str) -> None:
        self.unpriced = _one_line(model)

    def record_refusal(self, attempt: str) -> None:
        line = _one_line(attempt)
        if line in self._attempts or len(self._attempts) < _MAX_KINDS:
            self._attempts[line] += 1
        else:
            self._unlisted += 1


def _one_line(text: str) -> str:
    flat = on_one_line(text[: 10 * _MAX_LETTERS])
    return flat if len(flat) <= _MAX_LETTERS else f"{flat[:_MAX_LETTERS]}…"
