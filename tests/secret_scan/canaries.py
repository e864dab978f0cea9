"""Invented secrets in every encoding the scanner should recognize, for tests and benchmarks."""

import base64
import codecs
import gzip
import html
import io
import json
import random
import string
import textwrap
import zipfile
import zlib
from collections.abc import Callable
from urllib.parse import quote

_WORDLIKE = string.ascii_letters + string.digits
_chance = random.Random(4)


def _letters(count: int, alphabet: str = _WORDLIKE) -> str:
    return "".join(_chance.choices(alphabet, k=count))


def private_key(chance: random.Random) -> str:
    """Returns text that looks like a private key and opens nothing."""
    body = base64.b64encode(bytes.fromhex("308204a40201000282010100") + chance.randbytes(900)).decode()
    label = "RSA PRIVATE" + " KEY"
    return f"-----BEGIN {label}-----\n" + "\n".join(textwrap.wrap(body, 64)) + f"\n-----END {label}-----\n"


CANARIES = {
    "the GitHub token": "ghp_" + _letters(36),
    "a fine-grained token": "github_pat_" + _letters(22) + "_" + _letters(59),
    "the model key": "sk-ant-api03-" + _letters(93, _WORDLIKE + "-_") + "AA",
    "the webhook secret": "w/+&<\"'%" + _letters(20, string.printable[:94]),
    "the web token": "swordfish-42",
    "the marker secret": _chance.randbytes(32).hex(),
    "the App's key": private_key(_chance),
}


def _fullwidth(text: str) -> str:
    return "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in text)


def _wrapped(text: str, width: int = 20) -> str:
    return "\n".join(text[at : at + width] for at in range(0, len(text), width))


def _base64(text: str, offset: int = 0) -> str:
    return base64.b64encode(b"some"[:offset] + text.encode() + b" and more").decode()


def _hex(text: str, joint: str, before: str = "") -> str:
    return joint.join(f"{before}{byte:02x}" for byte in text.encode())


ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "in a sentence": lambda text: f"Look: {text}, is it not nice?",
    "glued to words": lambda text: f"abc{text}def",
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64, offset 1": lambda text: _base64(text, 1),
    "base64, offset 2": lambda text: _base64(text, 2),
    "base64, offset 3": lambda text: _base64(text, 3),
    "base64 without padding": lambda text: base64.b64encode(text.encode()).decode().rstrip("="),
    "base64, url-safe": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64, url-safe, offset 1": lambda text: base64.urlsafe_b64encode(b"x" + text.encode()).decode(),
    "base64, wrapped lines": lambda text: _wrapped(_base64(text), 16),
    "base64, wrapped in a diff": lambda text: "+" + _wrapped(_base64(text, 1), 30).replace("\n", "\n+"),
    "base64 twice": lambda text: _base64(_base64(text, 1), 2),
    "base64 of base64 of base64": lambda text: _base64(_base64(_base64(text))),
    "base64 of it reversed": lambda text: _base64(text[::-1]),
    "base64, reversed": lambda text: _base64(text)[::-1],
    "base64 of UTF-16": lambda text: base64.b64encode(text.encode("utf-16-le")).decode(),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "base32, in the middle": lambda text: base64.b32encode(b"abc" + text.encode() + b"z").decode().lower(),
    "hex": lambda text: text.encode().hex(),
    "hex, upper case": lambda text: text.encode().hex().upper(),
    "hex, colons": lambda text: _hex(text, ":"),
    "hex, spaces": lambda text: _hex(text, " "),
    "hex, \\x": lambda text: _hex(text, "", "\\x"),
    "hex, 0x": lambda text: _hex(text, ", ", "0x"),
    "hex, a dump": lambda text: _wrapped(_hex(text, " "), 48),
    "base64 of hex": lambda text: _base64(text.encode().hex()),
    "decimal numbers": lambda text: ", ".join(str(byte) for byte in text.encode()),
    "octal escapes": lambda text: "".join(f"\\{byte:03o}" for byte in text.encode()),
    "binary": lambda text: " ".join(f"{byte:08b}" for byte in text.encode()),
    "reversed": lambda text: text[::-1],
    "URL-encoded": lambda text: quote(text, safe=""),
    "URL-encoded, every letter": lambda text: _hex(text, "", "%"),
    "URL-encoded twice": lambda text: quote(quote(text, safe=""), safe=""),
    "URL-encoded twice, every letter": lambda text: _hex(text, "", "%25"),
    "HTML entities": lambda text: "".join(f"&#{ord(letter)};" for letter in text),
    "HTML entities, hex": lambda text: "".join(f"&#x{ord(letter):X};" for letter in text),
    "HTML, escaped": html.escape,
    "HTML tags in between": "<b></b>".join,
    "HTML comments in between": lambda text: f"{text[:5]}<!-- -->{text[5:]}",
    "JSON": json.dumps,
    "JSON in JSON": lambda text: json.dumps(json.dumps({"a": text})),
    "\\u escapes": lambda text: "".join(f"\\u{ord(letter):04x}" for letter in text),
    "\\u{} escapes": lambda text: "".join(f"\\u{{{ord(letter):x}}}" for letter in text),
    "split by spaces": " ".join,
    "split by line ends": "\n".join,
    "split by zero-width spaces": "\u200b".join,
    "split by soft hyphens in pieces": lambda text: f"{text[:4]}\u00ad{text[4:]}",
    "split into quotes and plus": lambda text: '" + "'.join(textwrap.wrap(text, 2, drop_whitespace=False)),
    "split by quotes": lambda text: f"'{text[:2]}''{text[2:]}'",
    "bold letters": "**".join,
    "case swapped": str.swapcase,
    "upper case": str.upper,
    "ROT13": lambda text: codecs.encode(text, "rot13"),
    "interleaved with dots": ".".join,
    "interleaved with a letter": "x".join,
    "interleaved, filler first": lambda text: "7" + "7".join(text),
    "full-width": _fullwidth,
    "accents": "\u0301".join,
    "its first half": lambda text: text.strip()[: len(text.strip()) * 6 // 10] if len(text) >= 40 else text,
    "its second half": lambda text: text.strip()[len(text.strip()) * 4 // 10 :] if len(text) >= 40 else text,
}


def _zipped(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("harmless.txt", b"nothing here\n" * 40)
        archive.writestr("data", data)
    return file.getvalue()


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "as it is": bytes,
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "UTF-16 without a mark": lambda data: data.decode().encode("utf-16-be"),
    "UTF-32": lambda data: data.decode().encode("utf-32"),
    "in binary": lambda data: random.Random(1).randbytes(3000) + data + random.Random(2).randbytes(3000),
    "gzip": gzip.compress,
    "zlib": zlib.compress,
    "zlib in the middle": lambda data: b"%PDF stream\n" + zlib.compress(data) + b"\nendstream",
    "zip": _zipped,
    "gzip in zip": lambda data: _zipped(gzip.compress(data)),
    "zip in gzip": lambda data: gzip.compress(_zipped(data)),
    "base64 of gzip": lambda data: base64.b64encode(gzip.compress(data)),
    "gzip of base64": lambda data: gzip.compress(base64.b64encode(data)),
}
