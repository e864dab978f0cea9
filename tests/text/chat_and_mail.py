"""Reads a notification as chats, mail programs and desktops do, and names elements that have an effect there."""

import re

import cmarkgfm
import html5lib

from bot.domain.notification import Notification, NotificationKind
from bot.notifications.text import RunContext, render_notifications

OURS = "https://bot.example.com"
_LINES = {
    "Pull request: https://git.example.com/acme/shop/pull/9",
    "Issue: https://git.example.com/i/3",
    f"Dashboard: {OURS}/runs/shop%233",
}
_IN_WORDS = {
    "mention": re.compile(r"@\w|<[!@#&]"),
    "markup": re.compile(r"[<>`*|~\[\]\\]|&\w+;|&#"),
    "address": re.compile(r"[^\W\d]:[/\w]|\w:/|\w\.[^\W\d_]|[^\W\d_]\.\w|\d+\.\d+\.\d+\.\d", re.IGNORECASE),
    "control character": re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]"),
    "hidden text": re.compile("[\u200b\u202a-\u202e\u2066-\u2069]"),
}  # fmt: skip
_LAYOUT = re.compile("html|head|body|p|br|em|strong|[uo]l|li|h[1-6r]|blockquote|table|t(head|body|[rhd])")
"""They change how it looks at most."""
_GITHUB_LIKE = ["table", "autolink", "strikethrough", "tasklist"]


def notification_of(words: str) -> tuple[str, str]:
    """Returns title and body of a notification with the text in every place that takes text."""
    context = RunContext("shop#3", words, "https://git.example.com/acme/shop/pull/9", "https://git.example.com/i/3")
    told = Notification(NotificationKind.ASKING, "shop#3/1", "now", 5.0, words)
    said = render_notifications([(told, context)], link=OURS)
    return said.title, said.body


def breaches_in_chat_and_mail(words: str) -> list[str]:
    title, body = notification_of(words)
    lines = body.split("\n")
    theirs = [line for line in lines if line not in _LINES]
    found = [] if title == "Treehand: shop#3 needs you" else ["another title"]
    found += [] if len(lines) - len(theirs) == len(_LINES) and len(theirs) <= 2 else ["another line"]
    text = "\n".join(theirs).removeprefix("shop#3 needs you")
    found += [what for what, pattern in _IN_WORDS.items() if pattern.search(text)]
    for page in (text, cmarkgfm.markdown_to_html_with_extensions(text, extensions=_GITHUB_LIKE)):
        tree = html5lib.parse(page.translate(_NOT_IN_HTML), namespaceHTMLElements=False)
        found += [f"<{one.tag}>" for one in tree.iter() if not _LAYOUT.fullmatch(one.tag)]
    return found


_NOT_IN_HTML = dict.fromkeys(range(0xD800, 0xE000))
