"""Words of others, where we repeat them: they are read, and do nothing. Pure text in, text out.

Nothing in them notifies, closes, orders, loads or hides anything, and nothing leaves the quotation. What an agent has
written as code stays code, between fences of ours.
"""

import re
from collections.abc import Iterator

from bot.text.visible import on_one_line, visible

_QUOTED_LETTERS = 3000
_LINE_LETTERS = 400

_FENCE = re.compile(
    r"(?P<indent>[ \t]*)(?:(?:[-*+>]|\d+[.)])[ \t]+)*(?P<marks>`{3,}(?=[^`]*$)|~{3,})[ \t]*(?P<language>[\w+.-]{0,20})"
)
_CLOSES = r"(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|complete[sd]?|implement(?:s|ed)?)"
_NUMBER = r"(?:[\w.-]+(?:/[\w.-]+)?)?#\d+|GH-\d+"
_TELLS_SOMEBODY = re.compile(r"/(?:issues|issue|pull|commit|profiles)/\w")
"""An address that becomes a link back, or a mention."""
_MEANS_SOMETHING = re.compile(
    r"(?P<code>(?<!`)(?P<ticks>`+)(?!`)(?P<inside>.+?)(?<!`)(?P=ticks)(?!`))"
    r"|(?P<tick>\\?`)"
    r"|(?P<escape>\\+(?=[@#&<!])|\\[\\])"
    r"|(?P<spelled>&(?:lt|amp|\#33|\#96);)"
    r"|(?P<order>^[\s>*+\-\d.)#_~|\\]*(?P<slash>/[A-Za-z][\w-]*)(?![\w/.-]))"
    r"|(?P<url>https?://[^\s<>`)\]|]+)"
    rf"|(?P<closing>\b{_CLOSES}:?\s+)(?P<key>[A-Z][A-Z0-9]*-\d+)"
    rf"|(?P<number>{_NUMBER})"
    r"|(?P<mail>[A-Za-z0-9_.+-]*[A-Za-z0-9]@[A-Za-z0-9-]+)"
    r"|(?P<mention>@(?:[A-Za-z0-9][\w./-]*)?)"
    r"|(?P<entity>&\#?\w+;)"
    r"|(?P<letter><(?=[A-Za-z/!?])|!(?=\[))",
    re.IGNORECASE,
)
_SPELLED = {"<": "&lt;", "!": "&#33;", "`": "&#96;"}

_PLAIN_MENTION = re.compile(r"(?<![A-Za-z0-9_])@(?=[A-Za-z0-9])")
_PLAIN_CLOSING = re.compile(
    rf"\b(?P<verb>(?i:{_CLOSES}):?\s*)"
    r"(?:(?i:https?)://(?P<place>\S+/\d)|(?P<name>(?:[\w.-]+(?:/[\w.-]+)?)?)\#(?=\d)|(?P<team>(?i:GH)|[A-Z][A-Z0-9]+)-(?=\d))"
)
_NO_CHECKS = re.compile(
    r"\[(skip[ -]ci|ci[ -]skip|no[ -]ci|skip actions|actions skip|skip-checks[^\]]*)\]|\*{3}(NO_CI)\*{3}", re.IGNORECASE
)


def quote(words: str) -> str:
    """Somebody's words, as somebody's."""
    cut = words.strip()
    cut = cut if len(cut) <= _QUOTED_LETTERS else f"{cut[:_QUOTED_LETTERS]} …"
    return "\n".join(f"> {line}".rstrip() for line in harmless(cut).splitlines())


def harmless(text: str) -> str:
    """Any number of lines of Markdown."""
    return "\n".join(_blocks(visible(text).split("\n")))


def line(text: str) -> str:
    """One line of Markdown."""
    flat = on_one_line(text)
    return _prose(flat if len(flat) <= _LINE_LETTERS else f"{flat[:_LINE_LETTERS]} …")


def code(text: str) -> str:
    """Between ticks, also in a table."""
    inside = on_one_line(text).replace("`", "'").replace("|", "¦")
    return f"`{inside or ' '}`"


def plain(text: str) -> str:
    """One line that is no Markdown: a title, the subject of a commit."""
    flat = _NO_CHECKS.sub(lambda found: f"({found[1] or found[2]})", on_one_line(text))
    return _PLAIN_CLOSING.sub(_closing_nothing, _PLAIN_MENTION.sub("", flat))


def _closing_nothing(found: re.Match[str]) -> str:
    named = found["name"] or found["team"]
    return found["verb"] + (found["place"] or (f"{named} " if named else ""))


def short(text: str) -> str:
    """A few words among ours, or at the head of a commit."""
    return inline(plain(text))


def inline(text: str) -> str:
    """A few words between ticks of ours."""
    return "".join(letter for letter in on_one_line(text) if letter not in "`<>")[:80]


def fence(text: str, language: str = "") -> str:
    """Nothing inside can end it, or hide in it."""
    seen = visible(text).rstrip()
    longest = max((len(run) for run in re.findall("`+", seen)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{seen}\n{ticks}"


def _blocks(lines: list[str]) -> Iterator[str]:
    """Fences are written anew, at the margin: where one begins and ends is then beyond doubt."""
    at = 0
    while at < len(lines):
        found = _FENCE.match(lines[at])
        if found is None:
            yield _prose(lines[at])
            at += 1
            continue
        end = next((n for n in range(at + 1, len(lines)) if _ends(lines[n], found["marks"])), len(lines))
        indent = len(found["indent"])
        yield fence("\n".join(_dedented(each, indent) for each in lines[at + 1 : end]), found["language"])
        at = end + 1


def _ends(line: str, marks: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(marks) and set(stripped) == {marks[0]}


def _dedented(line: str, most: int) -> str:
    return line[min(most, len(line) - len(line.lstrip())) :]


def _prose(line: str) -> str:
    out, at = "", 0
    for found in _MEANS_SOMETHING.finditer(line):
        out += line[at : found.start()]
        at = found.end()
        out += _spelled(found, before=out[-1:], after=line[at : at + 1])
    return out + line[at:]


def _spelled(found: re.Match[str], *, before: str, after: str) -> str:
    """As it reads, without what it would do."""
    match found.lastgroup:
        case "code":
            return _span(found)
        case "tick" | "letter":
            return _SPELLED[found[0][-1]]
        case "escape":
            return found[0] if found[0] == "\\\\" else ""
        case "order":
            return found[0].replace("\\", "").replace(found["slash"], _as_code(found["slash"], "", after))
        case "url" if not _TELLS_SOMEBODY.search(found[0]):
            return found[0].replace("@", "%40")
        case "key":
            return found["closing"] + _as_code(found["key"], "", after)
        case "mail" | "spelled":
            return found[0]
        case _:
            return _as_code(found[0], before, after)


def _span(found: re.Match[str]) -> str:
    """In a table, a bar would end the cell and the code with it."""
    if "|" not in found["inside"] or _prose(found["inside"]) == found["inside"]:
        return found[0]
    return f"&#96;{_prose(found['inside'])}&#96;"


def _as_code(text: str, before: str, after: str) -> str:
    """Its ticks must not join others, nor be escaped."""
    return f"{' ' if before in {'`', chr(92)} else ''}`{text}`{' ' if after == '`' else ''}"
