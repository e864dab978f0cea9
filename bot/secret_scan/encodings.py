"""How one secret may be spelled: what to look for, and from which sides to look at a text.

Rule: a text is looked at squeezed (lower-case ASCII letters and digits only), and so is what is looked for: case, line
ends, quotes, separators, full-width and invisible letters then make no difference.
"""

import base64
import codecs
import html
import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from urllib.parse import quote, unquote_to_bytes

_LOWER = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"abcdefghijklmnopqrstuvwxyz")
_DROPPED = bytes(code for code in range(256) if code >= 128 or not chr(code).isalnum())  # noqa: PLR2004 - ASCII
_ROUNDS = 3
"""Escaped twice, as in the query of a query, and once more in JSON."""
_QUOTED = re.compile(r"%[0-9a-f]{2}", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]{0,300}>")
_ESCAPE = re.compile(
    r"\\+(?:u\{([0-9a-f]{1,6})\}|u([0-9a-f]{4})|U([0-9a-f]{8})|x([0-9a-f]{2})|([0-7]{1,3})|([nrtbfv])|)", re.IGNORECASE
)
_OCTAL, _SPACE = 5, 6
_BYTE = 0o400
_BASE64_RUN = re.compile(rb"[A-Za-z0-9+/_-]{20,}(?:\r?\n[A-Za-z0-9+/_-]{4,})*")
_HEX_RUN = re.compile(rb"[0-9A-Fa-f]{32,}")
_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def squeezed(data: bytes) -> bytes:
    return data.translate(_LOWER, _DROPPED)


def spellings(value: str) -> Iterator[bytes]:
    """What a secret becomes in the usual encodings, squeezed. Reversed ones are met from the other side."""
    raw = value.encode()
    yield squeezed(raw)
    yield squeezed(codecs.encode(value, "rot13").encode())
    for text in (*_base64(raw), *_base32(raw), raw.hex().encode()):
        yield squeezed(text)
    for form in ("{}", "{:o}", "{:08b}"):
        yield "".join(form.format(byte) for byte in raw).encode()


def contiguous(value: str) -> Iterator[str]:
    """The spellings that stand in a text as one piece, exactly: what can be cut out of it."""
    raw = value.encode()
    yield from (value, value[::-1], value.swapcase(), codecs.encode(value, "rot13"))
    yield from (quote(value, safe=""), quote(quote(value, safe=""), safe=""), html.escape(value))
    yield from (json.dumps(value)[1:-1], "".join(f"\\u{ord(letter):04x}" for letter in value))
    for text in (*_base64(raw), *_base32(raw)):
        yield text.decode()
        yield text.translate(bytes.maketrans(b"+/", b"-_")).decode()
    yield raw.hex()
    yield raw.hex().upper()


def views_of(data: bytes) -> Iterator[bytes]:
    """Squeezed, from every side that a secret may be read from."""
    yield from _views_of(data.decode("utf-8", "ignore"))
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        yield from _views_of(data.decode("utf-16", "ignore"))


def _views_of(text: str) -> Iterator[bytes]:
    plain = _ascii(text)
    yield from _sides(plain)
    bare = _ascii(unescaped(text))
    if bare != plain:
        yield from _sides(bare)


def unescaped(text: str) -> str:
    """Without tags, and what is escaped for URLs, HTML, JSON and most languages as it was before."""
    for _ in range(_ROUNDS):
        before = text
        text = _unquoted(text) if _QUOTED.search(text) else text
        text = html.unescape(text) if "&" in text else text
        text = _ESCAPE.sub(_letter, text) if "\\" in text else text
        text = _TAG.sub("", text) if "<" in text else text
        if text == before:
            break
    return text


def decoded(data: bytes) -> bytes:
    """What its long runs of base64 and hexadecimal digits say, one after the other."""
    runs = [_from_base64(match.group()) for match in _BASE64_RUN.finditer(data)]
    runs += [_from_hex(match.group()) for match in _HEX_RUN.finditer(data)]
    return b"\n".join(runs)


def _sides(data: bytes) -> Iterator[bytes]:
    front = squeezed(data)
    yield front
    yield front[::-1]
    for start in (0, 1):  # every other letter is a filler
        yield squeezed(data[start::2])
    if b"0x" in data or b"0X" in data:
        yield squeezed(data.replace(b"0x", b"").replace(b"0X", b""))


def _ascii(text: str) -> bytes:
    return (text if text.isascii() else unicodedata.normalize("NFKD", text)).encode("ascii", "ignore")


def _letter(match: re.Match[str]) -> str:
    kind = match.lastindex
    if kind is None:
        return ""
    if kind == _SPACE:
        return " "
    number = int(match[kind], 8) % _BYTE if kind == _OCTAL else int(match[kind], 16)
    return chr(number) if number <= sys.maxunicode else ""


def _base64(raw: bytes) -> Iterator[bytes]:
    return _whole_letters(raw, base64.b64encode, bits=6, offsets=3)


def _base32(raw: bytes) -> Iterator[bytes]:
    return _whole_letters(raw, base64.b32encode, bits=5, offsets=5)


def _whole_letters(raw: bytes, encode: Callable[[bytes], bytes], *, bits: int, offsets: int) -> Iterator[bytes]:
    """In the middle of something longer its first and last letters depend on the neighbours: those are left out."""
    for offset in range(offsets):
        text = encode(bytes(offset) + raw)
        yield text[-(-8 * offset // bits) : 8 * (offset + len(raw)) // bits]


def _unquoted(text: str) -> str:
    return unquote_to_bytes(text.encode(errors="ignore")).decode(errors="ignore")


def _from_hex(run: bytes) -> bytes:
    return bytes.fromhex(run[: len(run) // 2 * 2].decode())


def _from_base64(run: bytes) -> bytes:
    text = run.translate(_URL_SAFE, b"\r\n")
    return base64.b64decode(text[: len(text) // 4 * 4])
