"""Login throttle: slows down wrong tokens, by address and over all addresses.

Rule: a login cookie is never slowed down: it is signed with a key of its own, so it cannot be guessed.
"""

import ipaddress
import logging
import math
from collections import OrderedDict
from dataclasses import dataclass, field

from bot.system.clock import Clock, now

log = logging.getLogger(__name__)

_BURST, _SECONDS_PER_TRY = 10.0, 6.0
"""Wrong tokens that one address may send at once, and the time until it may send another one."""
_BURST_OF_ALL, _SECONDS_PER_TRY_OF_ALL = 60.0, 1.0
_MOST_ADDRESSES = 1000
_IPV6_NETWORK = 64
"""One customer of a provider has all addresses of such a network."""


@dataclass(slots=True)
class _Failures:
    """A bucket that each wrong token fills, and that empties with time."""

    burst: float
    seconds_per_try: float
    level: float = 0.0
    at: float = 0.0
    is_logged: bool = False

    def seconds_to_wait(self, now: float) -> float:
        self._empty(now)
        return max(0.0, (self.level - self.burst + 1) * self.seconds_per_try)

    def add(self, now: float) -> bool:
        """Returns True for the failure that begins to slow down the others; once per burst."""
        self._empty(now)
        self.level += 1
        if self.is_logged or self.level < self.burst:
            return False
        self.is_logged = True
        return True

    def _empty(self, now: float) -> None:
        self.level = max(0.0, self.level - (now - self.at) / self.seconds_per_try)
        self.at = now
        self.is_logged = self.is_logged and self.level > 0


@dataclass(slots=True)
class LoginThrottle:
    clock: Clock = now
    _all: _Failures = field(default_factory=lambda: _Failures(_BURST_OF_ALL, _SECONDS_PER_TRY_OF_ALL))
    _by_address: OrderedDict[str, _Failures] = field(default_factory=OrderedDict)

    def seconds_to_wait(self, peer: str) -> int:
        """Returns 0 if this address may try a token now."""
        at, own = self.clock(), self._by_address.get(_network(peer))
        return math.ceil(max(self._all.seconds_to_wait(at), own.seconds_to_wait(at) if own else 0.0))

    def add_failure(self, peer: str) -> None:
        at, address = self.clock(), _network(peer)
        own = self._by_address.setdefault(address, _Failures(_BURST, _SECONDS_PER_TRY))
        self._by_address.move_to_end(address)
        while len(self._by_address) > _MOST_ADDRESSES:
            self._by_address.popitem(last=False)
        is_first, is_first_of_all = own.add(at), self._all.add(at)
        if is_first or is_first_of_all:
            log.warning("wrong tokens slowed down address=%s", "all" if is_first_of_all else address)


def _network(peer: str) -> str:
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return peer
    return (
        str(ipaddress.ip_network((peer, _IPV6_NETWORK), strict=False))
        if isinstance(address, ipaddress.IPv6Address)
        else peer
    )
