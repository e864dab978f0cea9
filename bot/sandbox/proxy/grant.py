"""Grant: what one sandbox may reach through the proxy; and its usage: tokens, refusals, limits."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

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

    def __init__(self) -> None:
        self.tokens = 0
        """Tokens used, as the model's service reported them."""
        self.is_exhausted = False
        """A request was refused because the sandbox has used its tokens."""
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

    def add_tokens(self, tokens: int) -> None:
        self.tokens += tokens

    def record_refusal(self, attempt: str) -> None:
        line = _one_line(attempt)
        if line in self._attempts or len(self._attempts) < _MAX_KINDS:
            self._attempts[line] += 1
        else:
            self._unlisted += 1


def _one_line(text: str) -> str:
    flat = on_one_line(text[: 10 * _MAX_LETTERS])
    return flat if len(flat) <= _MAX_LETTERS else f"{flat[:_MAX_LETTERS]}…"
