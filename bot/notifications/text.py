"""The words in which people are told, far from any page of ours: plain, short, and with nothing in them that acts.

Rule: whatever shows what others wrote may read it as Markdown, HTML or a mention, so nothing of that is left in it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from bot.domain.notification import Happening, Tiding
from bot.text.visible import on_one_line

MOST_TIDINGS = 20
"""So many are told one by one; of the others how many there are."""
_TITLE, _WORDS = 120, 300
_LOOKALIKES = str.maketrans(
    {
        "@": "＠",
        "<": "‹",
        ">": "›",
        "`": "'",
        "*": "∗",
        "[": "(",
        "]": ")",
        "|": "¦",
        "~": "∼",
        "\\": "/",
        "&": "＆",
        "#": "＃",
    }
)
_ADDRESS = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*):/*")
_HEADLINES = {
    Happening.ASKING: "needs you",
    Happening.REVIEW: "is in review",
    Happening.FAILED: "failed, and waits for you",
    Happening.BUDGET: "has used up its budget",
}
_AGAIN = "(You may have had this before: I was stopped while I sent it.)"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known of a run besides what is told."""

    key: str = ""
    title: str = ""
    pull_url: str = ""
    issue_url: str = ""


@dataclass(frozen=True, slots=True)
class Announcement:
    title: str
    body: str


def announcement_of(
    told: Sequence[tuple[Tiding, Surroundings]], *, link: str = "", again: bool = False
) -> Announcement:
    """`link` is where the dashboard is reached."""
    blocks = [_block(tiding, known, link.rstrip("/")) for tiding, known in told[:MOST_TIDINGS]]
    more = len(told) - len(blocks)
    rest = [f"And {more} more."] if more else []
    body = "\n\n".join([*([_AGAIN] if again else []), *blocks, *rest])
    first = _headline(*told[0]) if len(told) == 1 else f"{len(told)} things to know"
    return Announcement(f"Treehand: {first}", body)


def harmless(text: str, most: int = _WORDS) -> str:
    """One line, as it reads, in letters that mean nothing to a machine."""
    flat = on_one_line(text)
    flat = flat if len(flat) <= most else f"{flat[: most - 2]} …"
    return _ADDRESS.sub(r"\1: ", flat.translate(_LOOKALIKES))


def _block(tiding: Tiding, known: Surroundings, link: str) -> str:
    title = f": {harmless(known.title, _TITLE)}" if known.title else ""
    page = f"{link}/runs/{quote(known.key, safe='')}" if known.key else link
    places = {
        "Pull request": known.pull_url,
        "Issue": known.issue_url,
        "Dashboard": page if link else "",
    }
    lines = [
        f"{_headline(tiding, known)}{title}",
        *([harmless(tiding.words)] if tiding.words else []),
        *(f"{name}: {url}" for name, url in places.items() if _is_address(url)),
    ]
    return "\n".join(lines)


def _headline(tiding: Tiding, known: Surroundings) -> str:
    name = _name(known.key or tiding.subject)
    if tiding.happening is Happening.TROUBLE:
        return f"{name} is well again" if tiding.over else f"trouble with {name}"
    return f"{name} {_HEADLINES[tiding.happening]}"


def _name(key: str) -> str:
    """`#` and a number are what people know it by, and do nothing where this is read."""
    return harmless(key, _TITLE).replace("＃", "#")


def _is_address(url: str) -> bool:
    """Those of a service's own making; one that could end the line, or hold markup, is none."""
    return bool(re.fullmatch(r"https?://[^\s<>\[\]()\"'`@|\\]{1,500}", url))
