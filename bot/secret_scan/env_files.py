"""Extracts the secret values from an operator's `.env` file. Pure.

Rule: rather one value too many; but a plain word, a number or a common address is no secret and would match
everywhere.
"""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

_ASSIGNED = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][\w.-]*)\s*[=:](?P<value>.*)")
_SECRET_NAME = re.compile(r"secret|token|key|pass|pwd|credential|private|auth|dsn|salt|signature", re.IGNORECASE)
_SEPARATORS = re.compile(r"[-_.,:;/@+ ]+")
_READABLE_WORD = re.compile(r"[a-z]+\d{0,3}|[A-Z]+\d{0,3}|[A-Z]?[a-z]{2,}(?:[A-Z][a-z]{2,})*\d{0,3}|\d*")
"""A word, number or name a person could read aloud."""
_EXAMPLE_VALUE = re.compile(
    r"(?:change|replace)[-_]?(?:me|this)|password|postgres(?:ql)?|mongodb|minioadmin|rabbitmq|root|admin(?:istrator)?"
    r"|development|production|placeholder|localhost|disabled|undefined|your[-_].*|<.*>|[*x.]+",
    re.IGNORECASE,
)
"""Values that examples use."""
_KEY_BEGINS = "-----BEGIN "


def secrets_in(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Yields the name and the value of each secret."""
    if _KEY_BEGINS in text:
        yield name, text
        return
    for line in text.splitlines():
        found = _ASSIGNED.fullmatch(line)
        if found and not line.lstrip().startswith("#"):
            value = _unquote(found["value"].strip())
            for one in _secret_values(found["name"], value):
                yield f"{found['name']} of {name}", one


def _secret_values(name: str, value: str) -> Iterator[str]:
    if _EXAMPLE_VALUE.fullmatch(value):
        return
    if "://" in value:
        password = _password_of(value)
        if password and not _EXAMPLE_VALUE.fullmatch(password):
            yield from (password, value)
        elif not password and _SECRET_NAME.search(name):
            yield value
    elif _SECRET_NAME.search(name) or not _is_readable(value):
        yield value


def _is_readable(value: str) -> bool:
    return all(_READABLE_WORD.fullmatch(part) for part in _SEPARATORS.split(value))


def _password_of(address: str) -> str:
    try:
        return urlsplit(address).password or ""
    except ValueError:
        return ""


def _unquote(value: str) -> str:
    """Removes quotes, or the comment after an unquoted value."""
    quote = value[:1]
    if quote in {"'", '"'}:
        return value[1:].partition(quote)[0]
    return value.partition(" #")[0].rstrip().rstrip(",").strip("\"'")
