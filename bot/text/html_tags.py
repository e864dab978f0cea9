"""Reads HTML tags: strictly where Markdown decides whether it is one, and as browsers do where HTML is passed on."""

import re
from dataclasses import dataclass
from html import unescape
from typing import NamedTuple

LONGEST_WORD = 40
"""Characters; a single shorter word, such as an identifier, carries no message."""
_LONGEST_TAG = 4000

VOID_ELEMENTS = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
SHOWN_AS_TEXT = frozenset({"title", "textarea", "style", "xmp", "iframe", "noembed", "noframes", "script", "plaintext"})
"""Markdown with GitHub's extensions shows these tags: https://github.github.com/gfm/#disallowed-raw-html-extension-"""
_HIDING = (
    "applet|audio|canvas|datalist|dialog|head|map|math|noscript|object|optgroup|picture|rp|select|svg|template|video"
)
_HIDING_ELEMENTS = frozenset(_HIDING.split("|"))
_MAY_HIDE_MORE = re.compile(rf"hidden|style|<[!?]|<(?:{_HIDING})", re.IGNORECASE)
_LINKING = frozenset({"href", "src"})
_LAYOUT = frozenset(
    ("width", "height", "align", "valign", "border", "target", "rel", "colspan", "rowspan", "start", "type", "open",
     "checked", "disabled", "alt")
)  # fmt: skip
_LAYOUT_VALUE = re.compile(r"[\w%.-]{0,40}")
_ADDRESS = re.compile(r"[^\s<>\"'`]{0,2000}")

_HARMLESS_STYLE = re.compile(
    r"(?:(?:text-align|vertical-align|font-weight|font-style|font-family|text-decoration|white-space):[a-z0-9,-]{1,40}"
    r"|color:(?:red|green|blue|orange|purple|brown|gray|grey|black)"
    r"|(?:margin|padding|border)(?:-[a-z]{1,9})?:[0-9]{1,2}(?:px|em|%)?"
    r"|(?:max-)?(?:width|height):[1-9][0-9]{0,3}(?:px|em|%)|font-size:(?:[6-9]|[1-9][0-9])(?:px|pt))?"
)

_NAME = re.compile(r"<(/?)([A-Za-z][^\s/>]*)")
_STRICT_NAME = re.compile(r"<(/?)[A-Za-z][A-Za-z0-9-]*")
_CLOSE = re.compile(r"\s*/?>")
_STRICT_ATTRIBUTE = re.compile(r"\s+[A-Za-z_:][A-Za-z0-9_.:-]*")
_EQUALS = re.compile(r"\s*=\s*")
_STRICT_VALUE = re.compile(r"[^\s\"'=<>`]+")
_BETWEEN = re.compile(r"[\s/]*")
_ATTRIBUTE = re.compile(r"=?[^\s/>=]*")
_VALUE = re.compile(r"[^\s>]*")
_ODD = re.compile(r"[\"'<=`]")


class Attribute(NamedTuple):
    name: str
    value: str
    source: str


@dataclass(frozen=True, slots=True)
class Tag:
    name: str
    """In small letters."""
    source: str
    is_closing: bool
    attributes: tuple[Attribute, ...] = ()
    is_odd: bool = False
    """Parsers may disagree about it."""


class StrictTags:
    """Finds where tags end in Markdown. Each attribute is read once, whatever tag it is a part of."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends: dict[int, int] = {}

    def end_of(self, at: int) -> int:
        """Returns -1 if no tag begins here."""
        found = _STRICT_NAME.match(self._text, at)
        if not found:
            return -1
        if found[1]:
            closed = _CLOSE.match(self._text, found.end())
            return closed.end() if closed and "/" not in closed[0] else -1
        return self._end_of_attributes(found.end())

    def _end_of_attributes(self, at: int) -> int:
        passed: list[int] = []
        while at >= 0 and at not in self._ends:
            passed.append(at)
            if closed := _CLOSE.match(self._text, at):
                self._ends[at] = closed.end()
                break
            at = self._end_of_attribute(at)
        end = self._ends.get(at, -1)
        self._ends.update(dict.fromkeys(passed, end))
        return end

    def _end_of_attribute(self, at: int) -> int:
        name = _STRICT_ATTRIBUTE.match(self._text, at)
        if not name:
            return -1
        equals = _EQUALS.match(self._text, name.end())
        if not equals:
            return name.end()
        at = equals.end()
        if (quote := self._text[at : at + 1]) in {'"', "'"}:
            return self._text.find(quote, at + 1) + 1 or -1
        value = _STRICT_VALUE.match(self._text, at)
        return value.end() if value else -1


def is_lone_tag(line: str) -> bool:
    """Returns True if there is nothing but a tag on the line."""
    end = StrictTags(line).end_of(0)
    return end > 0 and not line[end:].strip()


def read_tag(text: str, at: int) -> Tag | None:
    """Returns the tag that begins here as a browser reads it; None if it has no end."""
    found = _NAME.match(text, at)
    if not found:
        return None
    attributes: list[Attribute] = []
    end = found.end()
    while not text.startswith(">", end := _skip(_BETWEEN, text, end)):
        stop = _end_of_loose_attribute(text, end)
        if stop < 0 or stop >= len(text):
            return None
        attributes.append(_attribute(text[end:stop]))
        end = stop
    is_odd = any(_is_odd(one) for one in attributes) or bool(_ODD.search(found[2]))
    return Tag(found[2].lower(), text[at : end + 1], bool(found[1]), tuple(attributes), is_odd)


def ends_in_quotes(text: str) -> bool:
    """Returns True if a tag without an end stands open in a quoted value."""
    found = _NAME.match(text)
    end = found.end() if found else len(text)
    while (end := _skip(_BETWEEN, text, end)) < len(text):
        end = _end_of_loose_attribute(text, end)
        if end < 0:
            return True
    return False


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _end_of_loose_attribute(text: str, at: int) -> int:
    """Returns -1 if a quote has no end."""
    end = _skip(_ATTRIBUTE, text, at)
    equals = _EQUALS.match(text, end)
    if not equals:
        return end
    at = equals.end()
    if (quote := text[at : at + 1]) in {'"', "'"}:
        return text.find(quote, at + 1) + 1 or -1
    return _skip(_VALUE, text, at)


def _attribute(source: str) -> Attribute:
    end = _skip(_ATTRIBUTE, source, 0)
    _, _, value = source[end:].partition("=")
    return Attribute(source[:end].lower(), unescape(_unquoted(value.strip())), source)


def _unquoted(value: str) -> str:
    return value[1:-1] if value[:1] in {'"', "'"} else value


def _is_odd(attribute: Attribute) -> bool:
    _, _, value = attribute.source.partition("=")
    bare = "" if value.strip()[:1] in {'"', "'"} else value
    return bool(_ODD.search(attribute.name) or _ODD.search(bare))


def hides_content(tag: Tag) -> bool:
    if tag.is_closing or tag.name in VOID_ELEMENTS:
        return False
    return tag.name in _HIDING_ELEMENTS or len(tag.source) > _LONGEST_TAG or any(map(_hides, tag.attributes))


def _hides(attribute: Attribute) -> bool:
    if attribute.name == "hidden":
        return True
    if attribute.name != "style":
        return False
    return not all(map(_HARMLESS_STYLE.fullmatch, "".join(attribute.value.split()).lower().split(";")))


def may_hide_more(text: str) -> bool:
    """Returns True if a tag in it, wherever it begins, may hide what follows."""
    return bool(_MAY_HIDE_MORE.search(text))


def strip_tag(tag: Tag) -> str:
    """Returns the tag with its name, its links and its layout: other attributes are invisible."""
    if len(tag.name) > LONGEST_WORD or tag.name == "source":
        return ""
    kept = [one.source for one in tag.attributes if _is_kept(one)]
    if tag.is_closing:
        return f"</{tag.name}>" if tag.attributes else tag.source
    if len(kept) == len(tag.attributes):
        return tag.source
    slash = "/" if tag.source.endswith("/>") else ""
    return f"<{' '.join([tag.name, *kept])}{slash}>"


def _is_kept(attribute: Attribute) -> bool:
    if attribute.name in _LINKING:
        return is_address(attribute.value)
    return attribute.name in _LAYOUT and bool(_LAYOUT_VALUE.fullmatch(attribute.value))


def is_address(target: str) -> bool:
    """Returns False if it has spaces or is a data URL, which can carry hidden text."""
    return not target.lower().startswith("data:") and bool(_ADDRESS.fullmatch(target))
