"""What people type, checked and cleaned once, where it comes in."""

import re
import unicodedata

from bot.errors import NeedsHuman

BOT = "treehand[bot]"
TITLE_LIMIT = 256
TEXT_LIMIT = 256 * 1024

_LABEL_LIMIT = 100
_KEY = re.compile(r"(?:(?P<project>[^#\s]*)#)?(?P<number>[0-9]{1,9})", re.ASCII)


def checked_title(text: str) -> str:
    """One line."""
    title = " ".join(cleaned(text).split())
    if not title:
        raise NeedsHuman("An issue needs a title.")
    if len(title) > TITLE_LIMIT:
        raise NeedsHuman(
            f"The title is {len(title)} characters long; {TITLE_LIMIT} is the most. Put the rest into the body."
        )
    return title


def checked_text(text: str) -> str:
    """Any number of lines, also none."""
    clean = cleaned(text)
    size = len(clean.encode())
    if size > TEXT_LIMIT:
        raise NeedsHuman(f"The text has {size // 1024} KiB; {TEXT_LIMIT // 1024} KiB is the most.")
    return clean


def checked_comment(text: str) -> str:
    clean = checked_text(text)
    if not clean.strip():
        raise NeedsHuman("A comment needs some text.")
    return clean


def checked_label(name: str) -> str:
    """In lower case, but for the value of `ai:model=Some-Name`."""
    head, equals, value = " ".join(cleaned(name).split()).partition("=")
    label = head.lower() + equals + value
    if not label:
        raise NeedsHuman("A label needs a name.")
    if len(label) > _LABEL_LIMIT:
        raise NeedsHuman(f"The label is {len(label)} characters long; {_LABEL_LIMIT} is the most.")
    return label


def checked_name(name: str) -> str:
    person = " ".join(cleaned(name).replace("<", "").replace(">", "").split())
    if not person:
        raise NeedsHuman("Say who you are.")
    if person == BOT:
        raise NeedsHuman(f"{BOT} is the bot's own name.")
    return person


def cleaned(text: str) -> str:
    """Without control characters, but with line ends and tabs; storable and printable whatever the terminal sent."""
    sound = text.encode(errors="replace").decode().replace("\r\n", "\n").replace("\r", "\n")
    return "".join(char for char in sound if char in "\n\t" or unicodedata.category(char) != "Cc")


def parsed_key(text: str) -> tuple[str, int] | None:
    """Project and number of `shop#3`; the project is empty in `#3` and `3`."""
    match = _KEY.fullmatch(text.strip())
    return (match["project"] or "", int(match["number"])) if match else None
