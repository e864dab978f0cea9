"""Signature (HMAC) that proves we wrote a text for this place; and packing of notes that travel with it.

Several secrets may be ours: a text signed with an older one stays ours after a rotation.
"""

import base64
import hmac
import zlib
from collections.abc import Collection

_MAX_BYTES = 1_000_000


class Signature:
    def __init__(self, secret: bytes, *, older: Collection[bytes] = ()) -> None:
        self._secrets = (secret, *older)

    def sign(self, *words: str) -> str:
        return _mac(self._secrets[0], words)

    def verify(self, given: str, *words: str) -> bool:
        return any(hmac.compare_digest(given, _mac(secret, words)) for secret in self._secrets)


def pack(text: str) -> str:
    return base64.urlsafe_b64encode(zlib.compress(text.encode(errors="surrogatepass"), 9)).decode()


def unpack(text: str) -> str:
    """Empty if it cannot be read. Verify its signature first."""
    try:
        decompressor = zlib.decompressobj()
        return decompressor.decompress(base64.urlsafe_b64decode(text), _MAX_BYTES).decode(errors="surrogatepass")
    except (ValueError, zlib.error):
        return ""


def _mac(secret: bytes, words: Collection[str]) -> str:
    return hmac.digest(secret, "\0".join(words).encode(errors="surrogatepass"), "sha256").hex()
