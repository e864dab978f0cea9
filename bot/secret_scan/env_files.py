"""Which values in a file of an operator's are secrets. Pure.

Rule: rather one too many; but a plain word, a number or an address that every project has is nobody's secret, and would
be found everywhere.
"""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

_ASSIGNED = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][\w.-]*)\s*[=:]\s*(?P<value>.*?)\s*")
_TELLS = re.compile(r"secret|token|key|pass|pwd|credential|private|auth|dsn|salt|signature", re.IGNORECASE)
_BETWEEN = re.compile(r"[-_.,:;/@+ ]+")
_SPOKEN = re.compile(r"[a-z]++\d{0,3}|[A-Z]++\d{0,3}|(?:[A-Z]?[a-z]{2,}+)++\d{0,3}|\d*")
"""What a person could read aloud."""
_MADE_UP = re.compile(
    r"(?:change|replace)[-_]?(?:me|this)|password|postgres(?:ql)?|mongodb|minioadmin|rabbitmq|root|admin(?:istrator)?"
    r"|development|production|placeholder|localhost|disabled|undefined|your[-_].*|<.*>|[*x.]+",
    re.IGNORECASE,
)
"""What stands in every example."""
_KEY_BEGINS = "-----BEGIN "


def secrets_in(name: str, text: str) -> Iterator[tuple[str, str]]:
    """What each is called, and its value."""
    if _KEY_BEGINS in text:
        yield name, text
        return
    for line in text.splitlines():
        found = _ASSIGNED.fullmatch(line)
        if found and not line.lstrip().startswith("#"):
            value = _bare(found["value"])
            for one in _telling(found["name"], value):
                yield f"{found['name']} of {name}", one


def _telling(name: str, value: str) -> Iterator[str]:
    if _MADE_UP.fullmatch(value):
        return
    if "://" in value:
        password = _password_of(value)
        if password and not _MADE_UP.fullmatch(password):
            yield from (password, value)
        elif not password and _TELLS.search(name):
            yield value
    elif _TELLS.search(name) or not _is_plain(value):
        yield value


def _is_plain(value: str) -> bool:
    return all(_SPOKEN.fullmatch(part) for part in _BETWEEN.split(value))


def _password_of(address: str) -> str:
    try:
        return urlsplit(address).password or ""
    except ValueError:
        return ""


def _bare(value: str) -> str:
    """Without quotes; and without a comment, where there are none."""
    quote = value[:1]
    if quote in {"'", '"'}:
        return value[1:].partition(quote)[0]
    return value.partition(" #")[0].rstrip().rstrip(",").strip("\"'")
