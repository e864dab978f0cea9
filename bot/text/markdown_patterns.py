"""The marks in Markdown that may hide something from people, as patterns.

Rule: no pattern looks twice at the same stretch of text for long, so that nobody can keep us busy.
"""

import re

LONGEST_WORD = 40
"""A single short word says nothing by itself; an identifier is one."""

_BLANK = r"(?=[ \t]*+\n)"
_LEAD = r"[ \t>*+\-\d.)]*+"
_ATTRIBUTES = r"""(?:[^<>"']++|"[^"]*+"|'[^']*+')*+"""
_TARGET = r"(?:<[^<>\n]*+>|(?!<)[^\s()]*+(?:\([^\s()]*+\))?+[^\s()]*+)"
_TITLE = r"""(?:"[^"]*+"|'[^']*+'|\([^()]*+\))"""

_ATTRIBUTE = r"""\s++[A-Za-z_:][\w.:-]*+(?:\s*+=\s*+(?:[^\s"'=<>`]++|'[^']*+'|"[^"]*+"))?+"""
_TAG = rf"<(?:/[A-Za-z][A-Za-z0-9-]*+\s*+|[A-Za-z][A-Za-z0-9-]*+(?:{_ATTRIBUTE})*+\s*+/?)>"
_NAMED_TAG = rf"(?P<tag>(?={_TAG})<(?P<closing>/?)(?P<name>[A-Za-z0-9-]++)(?P<rest>{_ATTRIBUTES})>)"

_CODE = (
    r"(?P<span>(?<!`)(?P<ticks>`+)(?!`)[^\n]{0,2000}?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<loose>`+)|"
)
_IN_TEXT = (
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<odd><(?:\?|![A-Za-z\[]))|"
)
_IN_MARKUP = r"(?P<odd><(?:\?|!(?!--)|/[^A-Za-z>]))|"
_BROKEN = (
    r"|(?P<endless><[A-Za-z](?:[^>\"'=]++|=\s*+\"[^\"]*+\"|=\s*+'[^']*+'|=(?!\s*+[\"'])|[\"'])*+=\s*+[\"'])"
    r"|(?P<broken></?[A-Za-z](?:(?:[^>\"']++|\"[^\"]*+\"|'[^']*+')*+|[^>]*+)>)"
    rf"|(?P<cut></?[A-Za-z](?:[^>\n]++|\n(?!{_BLANK}))*+)"
)
_LANGUAGE = rf"[ \t]*+(?:[\w.+#-]{{1,{LONGEST_WORD}}}+(?!\S))?+"
_ANYWHERE = (
    rf"(?P<blank>\n{_BLANK})"
    rf"|(?P<definition>\n{_LEAD}\[(?P<label>(?!\^)[^\[\]]{{1,999}}+)\]:[ \t]*+\n?[ \t]*+(?P<to><[^<>\n]*+>|[^\s<]\S*+)"
    rf"(?P<named>\s++{_TITLE})?+[ \t]*+(?=\n|\Z))"
    r"|(?P<note>\n[ \t>]*+\[\^(?P<key>[^\[\]\s]{1,999})\]:)"
    rf"|(?P<info>\n{_LEAD}(?:`{{3,}}+(?=[^`\n]*+(?:\n|\Z))|~{{3,}}+){_LANGUAGE}(?P<more>[^\n]*+))"
    rf"|(?P<markup>\n(?={_LEAD}<))"
    r"|(?P<comment><!--(?:-?>)?)"
    r"|(?P<autolink><[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*>)"
    rf"|{_NAMED_TAG}"
    r"|(?P<image>!\[(?P<alt>(?:[^\[\]\\]++|\\.|\[[^\[\]]*+\])*+)\]"
    rf"(?:\(\s*+(?P<at>{_TARGET})(?:\s++{_TITLE})?+\s*+\)|(?P<reference>\[[^\[\]]*+\]))?)"
    rf"|(?P<link>\]\(\s*+(?P<target>{_TARGET})(?P<hint>\s++{_TITLE})?+\s*+\))"
    r"|(?P<entity>&(?:\#[0-9]{1,8}|\#[xX][0-9a-fA-F]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});)"
)

IN_TEXT = re.compile(rf"(?=[\n`\\<!\]&])(?:{_CODE}{_IN_TEXT}{_ANYWHERE})", re.DOTALL)
AFTER_A_LOOSE_TICK = re.compile(rf"(?=[\n\\<!\]&])(?:{_IN_TEXT}{_ANYWHERE})", re.DOTALL)
"""Whatever looks like code from here on may be none, until the paragraph ends."""
IN_MARKUP = re.compile(rf"(?=[\n<!\]&])(?:{_IN_MARKUP}{_ANYWHERE}{_BROKEN})", re.DOTALL)
"""Where ticks and backslashes are nothing but letters, and a browser makes something of everything."""
PARAGRAPH = re.compile(rf"(?:[^\n]++|\n(?!{_BLANK}))*+")

STARTS_WITH_MARKUP = re.compile(rf"\n?{_LEAD}<")
WORTH_A_LOOK = re.compile(r"[<&]|!\[|\]\(|\]:|```|~~~")
FENCE = re.compile(rf" *+(?:`++|~++){_LANGUAGE}")
LABEL = re.compile(r"\[([^\[\]]{1,999})\](:?)")
_LINES = rf"(?:\n(?!{_BLANK}|[ \t>]*+\[\^)[^\n]++)*+"
REST_OF_NOTE = re.compile(rf"[^\n]*+{_LINES}(?:(?:\n{_BLANK}[ \t]*+)++\n(?:[ ]{{4}}|\t)[^\n]*+{_LINES})*+")

LEADS = re.compile(r"(?<![\w-])(href|src)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"'=<>`]+)", re.IGNORECASE)
ADDRESS = re.compile(r"(?!data:)[^\s<>\"'`]{0,2000}", re.IGNORECASE)
ONE_WORD = re.compile(rf"[\w.:@+/-]{{0,{LONGEST_WORD}}}")
SAYS_NOTHING = re.compile(
    r"(?:[\s/]++|(?:width|height|align|valign|border|target|rel|colspan|rowspan|start|type|open|checked|disabled|alt)"
    r"(?:=(?:\"[\w%.-]{0,40}\"|'[\w%.-]{0,40}'|[\w%.-]{1,40}))?(?![^\s/]))*+",
    re.IGNORECASE,
)

_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_HIDDEN = re.compile(r"(?<![\w-])hidden(?![\w-])", re.IGNORECASE)
_STYLED_AWAY = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|(?:opacity|font-size|max-height)\s*:\s*0(?![.\d]*[1-9])",
    re.IGNORECASE,
)


def is_hidden(attributes: str) -> bool:
    """An element with these draws nothing."""
    return bool(_HIDDEN.search(_QUOTED.sub('""', attributes)) or _STYLED_AWAY.search(attributes))
