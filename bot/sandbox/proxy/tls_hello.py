"""TLS ClientHello: reads the server name that a TLS client asks for. Pure.

Rule: nothing is guessed. Anything but exactly one well-formed name in one ClientHello is refused.
"""

from dataclasses import dataclass

MOST_BYTES = 16 * 1024

_HANDSHAKE = 22
_CLIENT_HELLO = 1
_TLS = 3
_SERVER_NAME = 0
_HOST_NAME = 0
_RECORD_HEAD = 5
_MESSAGE_HEAD = 4


class NotTls(ValueError):
    """These bytes do not begin a TLS connection that names its server."""


@dataclass(slots=True)
class _Bytes:
    """Bytes that are taken from the front. Raises NotTls if there are too few."""

    data: bytes

    def take(self, count: int) -> bytes:
        if count > len(self.data):
            raise NotTls
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))

    def block(self, size: int) -> "_Bytes":
        """Bytes with their length, a number of `size` bytes, in front."""
        return _Bytes(self.take(self.number(size)))


def server_name(received: bytes) -> str | None:
    """Returns the name in lower case; empty if the hello has none; None if more bytes are needed."""
    message = _client_hello(received)
    return None if message is None else _name_in_hello(message)


def _client_hello(received: bytes) -> _Bytes | None:
    """The ClientHello, which may be spread over several records."""
    message, rest = b"", received
    while len(rest) >= _RECORD_HEAD:
        size = int.from_bytes(rest[3:5])
        if rest[0] != _HANDSHAKE or rest[1] != _TLS or not 0 < size <= MOST_BYTES:
            raise NotTls
        message, rest = message + rest[_RECORD_HEAD : _RECORD_HEAD + size], rest[_RECORD_HEAD + size :]
        if message[0] != _CLIENT_HELLO if message else False:
            raise NotTls
        if len(message) >= _MESSAGE_HEAD and len(message) >= _MESSAGE_HEAD + int.from_bytes(message[1:4]):
            return _Bytes(message[_MESSAGE_HEAD : _MESSAGE_HEAD + int.from_bytes(message[1:4])])
    if (rest and rest[0] != _HANDSHAKE) or len(received) >= MOST_BYTES:
        raise NotTls
    return None


def _name_in_hello(hello: _Bytes) -> str:
    hello.take(2 + 32)  # version and random
    hello.block(1)  # session
    hello.block(2)  # ciphers
    hello.block(1)  # compressions
    if not hello.data:
        return ""
    names: list[str] = []
    extensions = hello.block(2)
    while extensions.data:
        kind, content = extensions.number(2), extensions.block(2)
        if kind == _SERVER_NAME:
            names.append(_single_name(content))
    if hello.data or len(names) > 1:
        raise NotTls
    return names[0] if names else ""


def _single_name(content: _Bytes) -> str:
    listed = content.block(2)
    kind, name = listed.number(1), listed.block(2)
    if kind != _HOST_NAME or listed.data or content.data:
        raise NotTls
    try:
        return name.data.decode("ascii").lower()
    except UnicodeDecodeError as exc:
        raise NotTls from exc
