"""Tells the log what is paused by trouble that is no run's own: once when it begins, and once when it is over."""

import logging
from collections.abc import Mapping

log = logging.getLogger(__name__)


class Bulletin:
    def __init__(self) -> None:
        self._told: frozenset[str] = frozenset()

    def tell(self, paused: Mapping[str, str]) -> None:
        """By what is paused: why."""
        for name in sorted(paused.keys() - self._told):
            log.warning("paused %s reason=%s", name, paused[name])
        for name in sorted(self._told - paused.keys()):
            log.info("going on %s", name)
        self._told = frozenset(paused)
