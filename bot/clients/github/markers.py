"""The hidden signature of our comments: nobody else can say something in our name, or in an operator's."""

import hashlib
import hmac
import re
from urllib.parse import quote, unquote

_LONGEST = 65_000
"""Characters; GitHub refuses more than 65,536."""
_MARKER = re.compile(r"\s*<!-- treehand:(?P<slug>[\w./%~+-]+) (?P<mac>[0-9a-f]{64}) -->")
_ANY = "<!-- treehand:"
_OPERATOR = "operator/"


class Markers:
    def __init__(self, secret: bytes, repository: str) -> None:
        self._secret = secret
        self._repository = repository.lower()

    def signed(self, text: str, *, number: int, slug: str) -> str:
        marker = f"\n\n<!-- treehand:{quote(slug, safe='/')} {self._mac(number, slug)} -->"
        text = text.replace(_ANY, "<!-- treehand ")  # what we quote must not speak for us
        return _cut(text, _LONGEST - len(marker)) + marker

    def in_the_name_of(self, person: str, text: str, *, number: int) -> str:
        return self.signed(text, number=number, slug=f"{_OPERATOR}{person}")

    def find_slug(self, body: str, number: int) -> str:
        """Empty: there is no marker of ours that was made for this place."""
        last = next(reversed(list(_MARKER.finditer(body))), None)
        if last is None:
            return ""
        slug = unquote(last["slug"])
        return slug if hmac.compare_digest(last["mac"], self._mac(number, slug)) else ""

    def find_operator(self, body: str, number: int) -> str:
        slug = self.find_slug(body, number)
        return slug.removeprefix(_OPERATOR) if slug.startswith(_OPERATOR) else ""

    def _mac(self, number: int, slug: str) -> str:
        said = "\0".join((self._repository, str(number), slug))
        return hmac.new(self._secret, said.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()


def looks_marked(body: str) -> bool:
    """Valid or not: nobody writes that by hand."""
    return _ANY in body


def without_marker(body: str) -> str:
    return _MARKER.sub("", body)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 20]}\n\n(cut)"
