"""Checks and cleans what people type: titles, texts, labels, names and keys of local issues."""

import re
import unicodedata

from bot.errors import NeedsHuman

BOT = "treehand[bot]"
MAX_TITLE_LENGTH = 256
MAX_TEXT_BYTES = 256 * 1024

MAX_LABEL_LENGTH = 100
_KEY = re.compile(r"(?:(?P<project>[^#\s]*)#)?(?P<number>[0-9]{1,9})", re.ASCII)


def check_title(text: str) -> str:
    """Returns one line."""
    title = " ".join(clean_text(text).split())
    if not title:
        raise NeedsHuman("An issue needs a title.")
    if len(title) > MAX_TITLE_LENGTH:
        raise NeedsHuman(
            f"The title is {len(title)} characters long; the limit is {MAX_TITLE_LENGTH}. Move the rest to the body."
        )
    return title


def check_text(text: str) -> str:
    """Returns any number of lines; may be empty."""
    clean = clean_text(text)
    size = len(clean.encode())
    if size > MAX_TEXT_BYTES:
        raise NeedsHuman(f"The text has {size // 1024} KiB; the limit is {MAX_TEXT_BYTES // 1024} KiB.")
    return clean


def check_comment(text: str) -> str:
    clean = check_text(text)
    if not clean.strip():
        raise NeedsHuman("A comment needs some text.")
    return clean


def check_label(name: str) -> str:
    """Returns the label in lower case, except the value of `ai:model=Some-Name`."""
    head, equals, value = " ".join(clean_text(name).split()).partition("=")
    label = head.lower() + equals + value
    if not label:
        raise NeedsHuman("A label needs a name.")
    if len(label) > MAX_LABEL_LENGTH:
        raise NeedsHuman(f"The label is {len(label)} characters long; the limit is {MAX_LABEL_LENGTH}.")
    return label


def check_person(name: str) -> str:
    person = " ".join(clean_text(name).replace("<", "").replace(">", "").split())
    if not person:
        raise NeedsHuman("A name is missing. Type your name.")
    if person == BOT:
        raise NeedsHuman(f"{BOT} is Treehand's own name. Choose another.")
    return person


def clean_text(text: str) -> str:
    """Removes control characters except line ends and tabs, so that the text can be stored and printed."""
    sound = text.encode(errors="replace").decode().replace("\r\n", "\n").replace("\r", "\n")
    return "".join(char for char in sound if char in "\n\t" or unicodedata.category(char) != "Cc")


def parse_local_key(text: str) -> tuple[str, int] | None:
    """Returns project and number of `shop#3`; the project is empty for `#3` and `3`."""
    match = _KEY.fullmatch(text.strip())
    return (match["project"] or "", int(match["number"])) if match else None
