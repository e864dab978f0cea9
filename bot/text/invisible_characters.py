"""Removes invisible characters and terminal escape sequences from text.

Joiners stay inside emoji and in scripts that need them.
"""

import re
import unicodedata

_TERMINAL_ESCAPE = re.compile("[\x1b\x90\x98\x9b\x9d-\x9f]")
_TERMINAL_COMMAND = re.compile("(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]")
"""Colours, cursor."""
_TERMINAL_STRING = re.compile("\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f]")
"""Titles, links."""
_END_OF_STRING = re.compile("[\x07\x1b\x9c]")
_OTHER_ESCAPE = re.compile("\x1b[ -/]*[0-~]?|.", re.DOTALL)
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")

_EMOJI = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_JOINING = "[\u0600-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u18af]"
_ONE_EMOJI = f"{_EMOJI}[\U0001f3fb-\U0001f3ff]?[\ufe0e\ufe0f]?"
_JOINED_SEQUENCE = re.compile(
    # the flags of England, Scotland and Wales; other tags are invisible
    "(\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    "|\U000e0077\U000e006c\U000e0073)\U000e007f"
    f"|{_ONE_EMOJI}(?:\u200d{_ONE_EMOJI})*"
    "|[0-9#*]\ufe0f\u20e3"
    f"|(?<={_JOINING})[\u200c\u200d](?={_JOINING}))"
    "|[\u200c\u200d\ufe0e\ufe0f\U000e0000-\U000e007f]+"
)
_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f") | {chr(code) for code in range(0xE0000, 0xE0080)}

_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})
# invisible, though Unicode counts them as letters or marks
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0") | {
    chr(code)
    for first, last in ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
    for code in range(first, last + 1)
}
# ranges for new emoji and ideographs that this Python may not know yet
_EMOJI_AND_IDEOGRAPHS = ((0x1F000, 0x1FAFF), (0x20000, 0x2FFFD), (0x30000, 0x3FFFD))

_REMOVED = "\0"


def strip_invisible(text: str) -> str:
    """Keeps line ends and tabs."""
    return strip_invisible_counted(text)[0]


def escape_invisible(text: str) -> str:
    """Shows what cannot be seen as an escape; keeps line ends and tabs. For changes that people review."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(ascii(letter)[1:-1] if is_invisible(letter) else letter for letter in text)


def printable_path(path: bytes) -> str:
    """On one line; bytes and letters that cannot be printed are escaped."""
    text = path.decode(errors="backslashreplace")
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def strip_invisible_counted(text: str) -> tuple[str, int]:
    """Returns the visible text and the number of passages removed."""
    if text.isascii() and text.isprintable():
        return text, 0
    text = _LINE_ENDS.sub("\n", text)
    unseen = {letter for letter in set(text) if is_invisible(letter)}
    if not unseen:
        return text, 0
    if unseen & {"\x1b", *map(chr, range(0x80, 0xA0))}:
        text = _replace_escapes(text)
    text = text.translate({ord(letter): _REMOVED for letter in unseen - _JOINERS})
    if unseen & _JOINERS:
        text = _JOINED_SEQUENCE.sub(lambda found: found[1] or _REMOVED, text)
    return re.subn(f"{_REMOVED}+", "", text)


def _replace_escapes(text: str) -> str:
    parts: list[str] = []
    at = endless_until = 0
    while found := _TERMINAL_ESCAPE.search(text, at):
        parts += (text[at : found.start()], _REMOVED)
        at, endless_until = _end_of_escape(text, found.start(), endless_until)
    return "".join([*parts, text[at:]])


def _end_of_escape(text: str, at: int, endless_until: int) -> tuple[int, int]:
    """Returns where it ends, and until where no string ends that begins before, so that nobody looks again."""
    begin = _TERMINAL_STRING.match(text, at)
    if begin and begin.end() > endless_until:
        found = _END_OF_STRING.search(text, begin.end())
        if found and (found[0] != "\x1b" or text.startswith("\\", found.end())):
            return found.end() + (found[0] == "\x1b"), 0
        endless_until = found.start() if found else len(text)
    other = _TERMINAL_COMMAND.match(text, at) or _OTHER_ESCAPE.match(text, at)
    return other.end() if other else at + 1, endless_until


def on_one_line(text: str) -> str:
    return " ".join(strip_invisible(text).split())


def is_invisible(letter: str) -> bool:
    """Returns True if a character renders as nothing."""
    if letter in "\n\t":
        return False
    category = unicodedata.category(letter)
    if category == "Cn":
        return not any(first <= ord(letter) <= last for first, last in _EMOJI_AND_IDEOGRAPHS)
    return category in _INVISIBLE_CATEGORIES or letter in _INVISIBLE
