"""Collects everything that Treehand has published, and finds canaries and live elements in it.

The search is not the product's: a secret scan that is broken must not judge itself.
"""

import asyncio
import base64
import re
import sqlite3
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path

import cmarkgfm
from cmarkgfm.cmark import Options

from tests.fakes.github import gits
from tests.fakes.github.model import Repository

_LOOPBACK = "http://127.0.0.1:"


def on_github(home: Repository) -> Iterator[str]:
    """Yields every text of the repository on the stand-in, by anybody, and every git object and name."""
    for thing in (*home.issues.values(), *home.comments.values(), *home.reviews.values(), *home.inlines.values()):
        yield f"{getattr(thing, 'title', '')}\n{thing.body}"
    yield from in_git(home.path)


def in_git(bare: Path) -> Iterator[str]:
    """Yields the names of all refs, and all objects as git prints them."""
    yield gits.git(bare, "for-each-ref")
    for line in gits.git(bare, "cat-file", "--batch-all-objects", "--batch-check").splitlines():
        name, kind, _ = line.split()
        yield gits.git(bare, "cat-file", "-p" if kind == "tree" else kind, name)


def in_database(file: Path) -> Iterator[str]:
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        yield from database.iterdump()


def leaks(texts: Iterable[str], canaries: Mapping[str, str]) -> list[str]:
    """Names the canaries in them: as they are, reversed, in hexadecimal or base64, and with anything in between."""
    bare = "\n".join(_bare(text) for text in texts)
    return [name for name, value in canaries.items() if any(form in bare for form in _forms(value))]


def _bare(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "", text).lower()


def _forms(value: str) -> Iterator[str]:
    yield from (_bare(value), _bare(value[::-1]), value.encode().hex(), value.encode()[::-1].hex())
    for before in range(3):
        encoded = base64.b64encode(b" " * before + value.encode()).decode().rstrip("=")
        yield _bare(encoded[4:-4])  # its ends depend on the neighbours


class _Pictures(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value for name, value in attrs if tag in {"img", "source", "video"} and value]


async def open_pages(texts: Iterable[str]) -> int:
    """Renders them as GitHub does and loads their pictures, as a reader's browser would; returns how many."""
    page = _Pictures()
    for text in texts:
        page.feed(cmarkgfm.github_flavored_markdown_to_html(text, options=Options.CMARK_OPT_UNSAFE))
    for address in page.addresses:
        if address.startswith(_LOOPBACK):
            await asyncio.to_thread(_load, address)
    return len(page.addresses)


def _load(address: str) -> None:
    with urllib.request.urlopen(address, timeout=10) as answer:
        answer.read(1)
