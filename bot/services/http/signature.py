"""Our seal: what carries it was written by us, for just this place. And what goes along with it unseen, packed.

Several secrets may be ours: what one of them sealed stays ours when another takes its place.
"""

import base64
import hmac
import zlib
from collections.abc import Collection

_LONGEST = 1_000_000


class Seal:
    def __init__(self, secret: bytes, *, older: Collection[bytes] = ()) -> None:
        self._secrets = (secret, *older)

    def of(self, *words: str) -> str:
        return _sealed(self._secrets[0], words)

    def is_on(self, given: str, *words: str) -> bool:
        return any(hmac.compare_digest(given, _sealed(secret, words)) for secret in self._secrets)


def packed(text: str) -> str:
    return base64.urlsafe_b64encode(zlib.compress(text.encode(errors="surrogatepass"), 9)).decode()


def unpacked(text: str) -> str:
    """Empty when it is nothing at all; only what we sealed gets here."""
    try:
        unpacking = zlib.decompressobj()
        return unpacking.decompress(base64.urlsafe_b64decode(text), _LONGEST).decode(errors="surrogatepass")
    except (ValueError, zlib.error):
        return ""


def _sealed(secret: bytes, words: Collection[str]) -> str:
    return hmac.digest(secret, "\0".join(words).encode(errors="surrogatepass"), "sha256").hex()
