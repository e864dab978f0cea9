"""Text of notifications for chat, e-mail and desktop: title, headline, reason and links. Plain and short.

Rule: a channel may render text as Markdown, HTML, a mention or a link, so untrusted text is neutralized.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from bot.domain.notification import Notification, NotificationKind
from bot.text.invisible_characters import on_one_line

LISTED_LIMIT = 20
"""Notifications listed in one message; the rest are counted."""
_TITLE_LENGTH, _TEXT_LENGTH = 120, 300
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
_SCHEME_END = re.compile(r"(?:(?<!\d):|:(?!\d))/*(?=\S)")
"""In an address, a colon is followed at once by the rest; a time of day is none."""
_NAME = re.compile(r"\w+(?:\.+\w+)+|\w*www\.", re.IGNORECASE)
"""Chats make a link of `evil.com` as well, and load its page for a preview."""
_NUMBER = re.compile(r"\d+\.\d+")
_LOOKALIKE_DOT = "\u2024"
_HEADLINES = {
    NotificationKind.ASKING: "needs you",
    NotificationKind.REVIEW: "is in review",
    NotificationKind.FAILED: "failed and waits for you",
    NotificationKind.BUDGET: "has used up its budget",
}
_REPEATED = "(Possibly a repeat: Treehand was stopped while sending this.)"


@dataclass(frozen=True, slots=True)
class RunContext:
    """Key, title and links of the run."""

    key: str = ""
    title: str = ""
    pull_url: str = ""
    issue_url: str = ""


@dataclass(frozen=True, slots=True)
class NotificationText:
    title: str
    body: str


def render_notifications(
    notifications: Sequence[tuple[Notification, RunContext]], *, link: str = "", again: bool = False
) -> NotificationText:
    """`link` is the address of the dashboard."""
    blocks = [_render_one(one, context, link.rstrip("/")) for one, context in notifications[:LISTED_LIMIT]]
    more = len(notifications) - len(blocks)
    rest = [f"And {more} more."] if more else []
    body = "\n\n".join([*([_REPEATED] if again else []), *blocks, *rest])
    first = _headline(*notifications[0]) if len(notifications) == 1 else f"{len(notifications)} notifications"
    return NotificationText(f"Treehand: {first}", body)


def neutralize_plain(text: str, most: int = _TEXT_LENGTH) -> str:
    """Returns one line with look-alikes for characters that Markdown, HTML or a mention would use."""
    flat = on_one_line(text)
    flat = flat if len(flat) <= most else f"{flat[: most - 2]} …"
    return _NAME.sub(_without_dots, _SCHEME_END.sub(": ", flat.translate(_LOOKALIKES)))


def _without_dots(name: re.Match[str]) -> str:
    return name[0] if _NUMBER.fullmatch(name[0]) else name[0].replace(".", _LOOKALIKE_DOT)


def _render_one(one: Notification, context: RunContext, link: str) -> str:
    title = f": {neutralize_plain(context.title, _TITLE_LENGTH)}" if context.title else ""
    page = f"{link}/runs/{quote(context.key, safe='')}" if context.key else link
    places = {
        "Pull request": context.pull_url,
        "Issue": context.issue_url,
        "Dashboard": page if link else "",
    }
    lines = [
        f"{_headline(one, context)}{title}",
        *([neutralize_plain(one.text)] if one.text else []),
        *(f"{name}: {url}" for name, url in places.items() if _is_address(url)),
    ]
    return "\n".join(lines)


def _headline(one: Notification, context: RunContext) -> str:
    name = _name(context.key or one.subject)
    if one.kind is NotificationKind.TROUBLE:
        return f"{name} works again" if one.resolved else f"problem with {name}"
    return f"{name} {_HEADLINES[one.kind]}"


def _name(key: str) -> str:
    """Keeps `#`: channels do not link issue numbers."""
    return neutralize_plain(key, _TITLE_LENGTH).replace("＃", "#")


def _is_address(url: str) -> bool:
    """Rejects URLs with spaces or markup characters."""
    return bool(re.fullmatch(r"https?://[^\s<>\[\]()\"'`@|\\]{1,500}", url))
