"""Encodings a secret may appear in, and the ways to read a text when searching for it.

Rule: text and secret are compared normalized (lower-case ASCII letters and digits only), so that case, line ends,
quotes, separators, full-width and invisible letters make no difference.
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
"""Covers text that is percent-encoded twice and then escaped in JSON."""
_QUOTED = re.compile(r"%[0-9a-f]{2}", re.IGNORECASE)
_LEADING_ZEROS, _NO_LETTER = re.compile(r"&#0+(?=\d)"), re.compile(r"&#\d{8,};?")
_TAG = re.compile(r"<[^<>]{0,300}>")
_ESCAPE = re.compile(
    r"\\+(?:u\{([0-9a-f]{1,6})\}|u([0-9a-f]{4})|U([0-9a-f]{8})|x([0-9a-f]{2})|([0-7]{1,3})|([nrtbfv])|)", re.IGNORECASE
)
_OCTAL, _SPACE = 5, 6
_BYTE = 0o400
_BASE64_RUN = re.compile(rb"[A-Za-z0-9+/_-]{20,}(?:\r?\n[A-Za-z0-9+/_-]{4,})*")
_HEX_RUN = re.compile(rb"[0-9A-Fa-f]{32,}")
_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def normalize(data: bytes) -> bytes:
    return data.translate(_LOWER, _DROPPED)


def normalized_encodings(value: str) -> Iterator[bytes]:
    """Yields the secret in the usual encodings, normalized. `normalized_readings` covers reversed text."""
    raw = value.encode()
    yield normalize(raw)
    yield normalize(codecs.encode(value, "rot13").encode())
    for text in (*_base64(raw), *_base32(raw), raw.hex().encode()):
        yield normalize(text)
    for form in ("{}", "{:o}", "{:08b}"):
        yield "".join(form.format(byte) for byte in raw).encode()


def literal_encodings(value: str) -> Iterator[str]:
    """Yields the encodings that can appear unbroken in a text, for exact replacement."""
    raw = value.encode()
    yield from (value, value[::-1], value.swapcase(), codecs.encode(value, "rot13"))
    yield from (quote(value, safe=""), quote(quote(value, safe=""), safe=""), html.escape(value))
    yield from (json.dumps(value)[1:-1], "".join(f"\\u{ord(letter):04x}" for letter in value))
    for text in (*_base64(raw), *_base32(raw)):
        yield text.decode()
        yield text.translate(bytes.maketrans(b"+/", b"-_")).decode()
    yield raw.hex()
    yield raw.hex().upper()


def normalized_readings(data: bytes) -> Iterator[bytes]:
    """Yields every normalized reading of the data, reversed and without filler letters included."""
    yield from _readings_of(data.decode("utf-8", "ignore"))
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        yield from _readings_of(data.decode("utf-16", "ignore"))


def _readings_of(text: str) -> Iterator[bytes]:
    plain = _ascii(text)
    yield from _rearrangements(plain)
    bare = _ascii(unescape(text))
    if bare != plain:
        yield from _rearrangements(bare)


def unescape(text: str) -> str:
    """Removes tags and decodes escapes of URLs, HTML, JSON and most languages."""
    for _ in range(_ROUNDS):
        before = text
        text = _percent_decode(text) if _QUOTED.search(text) else text
        text = _unescape_html(text) if "&" in text else text
        text = _ESCAPE.sub(_unescape_match, text) if "\\" in text else text
        text = _TAG.sub("", text) if "<" in text else text
        if text == before:
            break
    return text


def decode_runs(data: bytes) -> bytes:
    """Decodes the long runs of base64 and hexadecimal digits."""
    runs = [_from_base64(match.group()) for match in _BASE64_RUN.finditer(data)]
    runs += [_from_hex(match.group()) for match in _HEX_RUN.finditer(data)]
    return b"\n".join(runs)


def _rearrangements(data: bytes) -> Iterator[bytes]:
    front = normalize(data)
    yield front
    yield front[::-1]
    for start in (0, 1):  # every other letter is a filler
        yield normalize(data[start::2])
    if b"0x" in data or b"0X" in data:
        yield normalize(data.replace(b"0x", b"").replace(b"0X", b""))


def _ascii(text: str) -> bytes:
    return (text if text.isascii() else unicodedata.normalize("NFKD", text)).encode("ascii", "ignore")


def _unescape_match(match: re.Match[str]) -> str:
    kind = match.lastindex
    if kind is None:
        return ""
    if kind == _SPACE:
        return " "
    number = int(match[kind], 8) % _BYTE if kind == _OCTAL else int(match[kind], 16)
    return chr(number) if number <= sys.maxunicode else ""


def _base64(raw: bytes) -> Iterator[bytes]:
    return _unaffected_characters(raw, base64.b64encode, bits=6, offsets=3)


def _base32(raw: bytes) -> Iterator[bytes]:
    return _unaffected_characters(raw, base64.b32encode, bits=5, offsets=5)


def _unaffected_characters(raw: bytes, encode: Callable[[bytes], bytes], *, bits: int, offsets: int) -> Iterator[bytes]:
    """Yields the encoding at each offset without the edge characters, which depend on neighbouring bytes."""
    for offset in range(offsets):
        text = encode(bytes(offset) + raw)
        yield text[-(-8 * offset // bits) : 8 * (offset + len(raw)) // bits]


def _unescape_html(text: str) -> str:
    """Without numbers that are no letter: Python refuses to read the longest of them."""
    return html.unescape(_NO_LETTER.sub("", _LEADING_ZEROS.sub("&#", text)))


def _percent_decode(text: str) -> str:
    return unquote_to_bytes(text.encode(errors="ignore")).decode(errors="ignore")


def _from_hex(run: bytes) -> bytes:
    return bytes.fromhex(run[: len(run) // 2 * 2].decode())


def _from_base64(run: bytes) -> bytes:
    text = run.translate(_URL_SAFE, b"\r\n")
    return base64.b64decode(text[: len(text) // 4 * 4])
