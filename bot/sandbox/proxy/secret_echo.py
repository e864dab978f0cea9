"""Secret echo: passes an answer on unchanged, and stops before a secret that the server repeats in it. Pure."""

from collections.abc import Iterable


class SecretEchoed(Exception):
    """The answer contains a secret. What came before it may have been passed on."""


class EchoGuard:
    def __init__(self, secrets: Iterable[bytes]) -> None:
        self._secrets = tuple(filter(None, secrets))
        self._held = max(map(len, self._secrets), default=1) - 1
        self._waiting = b""

    def feed(self, data: bytes) -> bytes:
        """Returns what may be passed on; the end waits, because a secret may have begun there. Raises SecretEchoed."""
        self.check(waiting := self._waiting + data)
        passed = max(0, len(waiting) - self._held)
        self._waiting = waiting[passed:]
        return waiting[:passed]

    def finish(self) -> bytes:
        rest, self._waiting = self._waiting, b""
        return rest

    def check(self, text: bytes) -> None:
        if any(secret in text for secret in self._secrets):
            raise SecretEchoed
