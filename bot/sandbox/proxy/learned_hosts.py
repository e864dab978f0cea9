"""Learned hosts: lets one sandbox reach every public host on port 443, and records which ones it reached.

Rule: only a setup of commits that people merged has this, and only after the operator agreed. It is never part of a
sandbox that shows an agent's work.
"""

import re
from dataclasses import dataclass, field

from bot.sandbox.proxy.host_and_port import HostPort

_HTTPS = 443
_MAX_HOSTS = 40
"""More hosts than a setup needs: a list that nobody can read is no question for a person."""
_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?")


@dataclass(slots=True)
class LearnedHosts:
    reached: dict[str, None] = field(default_factory=dict)
    """Names of hosts that answered, in the order of the first connection."""
    private: dict[str, None] = field(default_factory=dict)
    """Names with a private address, which were refused."""

    def admits(self, target: HostPort) -> bool:
        if target.port != _HTTPS or not target.is_named or not _NAME.fullmatch(target.host):
            return False
        return target.host in self.reached or len(self.reached) < _MAX_HOSTS

    def record(self, target: HostPort) -> None:
        if self.admits(target):
            self.reached[target.host] = None

    def record_private(self, target: HostPort) -> None:
        if len(self.private) < _MAX_HOSTS:
            self.private[target.host] = None
