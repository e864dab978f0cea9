"""Which letters a person sees: whatever nobody sees, or a terminal would obey, is taken out.

Emoji keep what holds them together, and so do the letters of scripts that need joiners; nothing else invisible stays.
"""

import re
import unicodedata

_TERMINAL = re.compile(
    "\x1b\\[[0-?]*+[ -/]*+[@-~]|\x9b[0-?]*+[ -/]*+[@-~]"  # colours, cursor
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*+(?:\x07|\x1b\\\\|\x9c)"  # titles, links, strings
    "|\x1b[ -/]*+[0-~]?"
)
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")

_EMOJI = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_JOINING = "[\u0600-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u18af]"
_ONE_EMOJI = f"{_EMOJI}[\U0001f3fb-\U0001f3ff]?+[\ufe0e\ufe0f]?+"
_SEEN_TOGETHER = re.compile(
    # the flags of England, Scotland and Wales; other tags draw nothing
    "(\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    "|\U000e0077\U000e006c\U000e0073)\U000e007f"
    f"|{_ONE_EMOJI}(?:\u200d{_ONE_EMOJI})*+"
    "|[0-9#*]\ufe0f\u20e3"
    f"|(?<={_JOINING})[\u200c\u200d](?={_JOINING}))"
    "|[\u200c\u200d\ufe0e\ufe0f\U000e0000-\U000e007f]++"
)
_IN_SEQUENCES = frozenset("\u200c\u200d\ufe0e\ufe0f") | {chr(code) for code in range(0xE0000, 0xE0080)}

_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})
# drawn as nothing at all, though they count as letters or marks
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0") | {
    chr(code)
    for first, last in ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
    for code in range(first, last + 1)
}
# new emoji and ideographs are seen, though this Python may not know them yet
_GROWING = ((0x1F000, 0x1FAFF), (0x20000, 0x2FFFD), (0x30000, 0x3FFFD))

_HERE = "\0"


def visible(text: str) -> str:
    """What a person sees of it, with line ends and tabs."""
    return with_count(text)[0]


def with_count(text: str) -> tuple[str, int]:
    """The same, and how many stretches were taken out."""
    if text.isascii() and text.isprintable():
        return text, 0
    text = _LINE_ENDS.sub("\n", text)
    unseen = {letter for letter in set(text) if is_unseen(letter)}
    if not unseen:
        return text, 0
    if unseen & {"\x1b", *map(chr, range(0x80, 0xA0))}:
        text = _TERMINAL.sub(_HERE, text)
    text = text.translate({ord(letter): _HERE for letter in unseen - _IN_SEQUENCES})
    if unseen & _IN_SEQUENCES:
        text = _SEEN_TOGETHER.sub(lambda found: found[1] or _HERE, text)
    return re.subn(f"{_HERE}+", "", text)


def on_one_line(text: str) -> str:
    return " ".join(visible(text).split())


def is_unseen(letter: str) -> bool:
    """By itself it draws nothing, or nothing that everybody sees."""
    if letter in "\n\t":
        return False
    category = unicodedata.category(letter)
    if category == "Cn":
        return not any(first <= ord(letter) <= last for first, last in _GROWING)
    return category in _UNSEEN_CATEGORIES or letter in _UNSEEN
