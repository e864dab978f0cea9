"""What one sandbox may reach through the gate, and what came of it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.text.visible import on_one_line

_KINDS_LISTED = 20
_LETTERS = 100


@dataclass(frozen=True, slots=True)
class Upstream:
    """Where the model is, and the credential that is added on our side of the gate."""

    address: str
    """May be loopback or private: the operator chose it."""
    headers: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Passport:
    token: str = field(repr=False)
    """Shown instead of a key; worth nothing elsewhere. Empty: the model is not for this sandbox."""
    hosts: frozenset[str] = frozenset()
    """Exactly these, as `name` (port 443) or `name:port`."""
    model: str = ""
    """A full name is the only one that may be asked for; an alias, or none, lets the first request choose."""
    most_tokens: int = 0
    """0: no limit."""


class Refusal(Exception):
    """Goes back as an answer, and is told to people as something the sandbox tried to do."""

    def __init__(self, status: int, reason: str, *, tried: str = "") -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.tried = tried
        """As in "it tried to ..."; empty: nothing people need to know."""


class Passage:
    """The live figures of one sandbox."""

    def __init__(self) -> None:
        self.tokens = 0
        """As the model's service told them."""
        self.is_exhausted = False
        """A request was refused because the tokens of this sandbox are used up."""
        self.is_key_refused = False
        """By the model's service itself."""
        self.limit: float | None = None
        """The service's last answer was that nothing more may be used until then; 0: it did not say when."""
        self._tried: Counter[str] = Counter()
        self._more = 0

    @property
    def refusals(self) -> tuple[str, ...]:
        """What it tried and may not do, in words; the sandbox chose some of them."""
        told = [what if times == 1 else f"{what} ({times} times)" for what, times in self._tried.items()]
        return (*told, *([f"and {self._more} more"] if self._more else []))

    def count(self, tokens: int) -> None:
        self.tokens += tokens

    def note(self, tried: str) -> None:
        what = _harmless(tried)
        if what in self._tried or len(self._tried) < _KINDS_LISTED:
            self._tried[what] += 1
        else:
            self._more += 1


def _harmless(text: str) -> str:
    flat = on_one_line(text[: 10 * _LETTERS])
    return flat if len(flat) <= _LETTERS else f"{flat[:_LETTERS]}…"
