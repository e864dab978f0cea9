"""What agents and people write, as a page shows it: paragraphs, headings, lists, quotes, tables, code, what is
stressed. Pure.

Rule: everything is escaped, and no tag we write has an attribute. Links and pictures stay the text they are.
"""

import re
from collections.abc import Iterator, Sequence

from markupsafe import Markup, escape

from bot.text.visible import visible

LONGEST = 60_000
"""More is counted, not shown."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[A-Za-z0-9+#._-]{0,20}\s*$")
_HEADING = re.compile(r"#{1,6} +(.*)")
_ITEM = re.compile(r"\s*(?:[-*+]|(\d{1,6})[.)])\s+(.*)")
_QUOTED = re.compile(r" {0,3}> ?(.*)")
_ROW = re.compile(r" {0,3}\|(.*)\|\s*$")
_RULE = re.compile(r" {0,3}\|(?:\s*:?-+:?\s*\|)+\s*$")
_CELL = re.compile(r"(?<!\\)\|")
_HEAD, _BODY = Markup("<th>{}</th>"), Markup("<td>{}</td>")
_DEEPEST = 3
"""Quotes within quotes."""
_INLINE = re.compile(r"`([^`\n]+)`|\*\*([^*\n]+)\*\*|(?<!\w)_([^_\n]+)_(?!\w)")


def to_html(text: str) -> Markup:
    seen = visible(text[:LONGEST])
    more = Markup("<p>… {} more characters</p>").format(f"{len(text) - LONGEST:,}") if len(text) > LONGEST else Markup()
    return Markup().join((*_blocks(seen.split("\n"), _DEEPEST), more))


def _blocks(lines: Sequence[str], depth: int) -> Iterator[Markup]:
    at = 0
    while at < len(lines):
        end = _end_of(lines, at)
        if lines[at].strip():
            yield _block(lines[at:end], depth)
        at = end


def _end_of(lines: Sequence[str], at: int) -> int:
    """Where the block that begins here ends."""
    if fence := _FENCE.match(lines[at]):
        inside = range(at + 1, len(lines))
        return next((each + 1 for each in inside if _closes(lines[each], fence[1])), len(lines))
    if not lines[at].strip() or _HEADING.match(lines[at]):
        return at + 1
    if _begins_table(lines[at : at + 2]):
        inside = range(at + 2, len(lines))
        return next((each for each in inside if not _ROW.match(lines[each])), len(lines))
    in_list, is_quoted = bool(_ITEM.match(lines[at])), bool(_QUOTED.match(lines[at]))
    for each in range(at + 1, len(lines)):
        line = lines[each]
        if not line.strip() or bool(_QUOTED.match(line)) is not is_quoted:
            return each
        if not is_quoted and (_FENCE.match(line) or _HEADING.match(line) or bool(_ITEM.match(line)) > in_list):
            return each
    return len(lines)


def _begins_table(lines: Sequence[str]) -> bool:
    """A row, and a rule below it of as many columns."""
    if len(lines) == 1 or not (head := _ROW.match(lines[0])) or not _RULE.match(lines[1]):
        return False
    return len(_CELL.split(head[1])) == lines[1].count("|") - 1


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(fence) and set(stripped) == {fence[0]}


def _block(lines: Sequence[str], depth: int) -> Markup:
    if depth and _QUOTED.match(lines[0]):
        quoted = [found[1] for line in lines if (found := _QUOTED.match(line))]
        return Markup("<blockquote>{}</blockquote>").format(Markup().join(_blocks(quoted, depth - 1)))
    if fence := _FENCE.match(lines[0]):
        inner = lines[1:-1] if _closes(lines[-1], fence[1]) and len(lines) > 1 else lines[1:]
        return Markup("<pre><code>{}</code></pre>").format("\n".join(inner))
    if _begins_table(lines):
        return _table(lines[0], lines[2:])
    if heading := _HEADING.match(lines[0]):
        return Markup("<p><strong>{}</strong></p>").format(heading[1].strip())
    if item := _ITEM.match(lines[0]):
        items = Markup().join(Markup("<li>{}</li>").format(_inline(one)) for one in _items(lines))
        return (Markup("<ol>{}</ol>") if item[1] else Markup("<ul>{}</ul>")).format(items)
    return Markup("<p>{}</p>").format(_inline("\n".join(lines)))


def _table(head: str, rows: Sequence[str]) -> Markup:
    width = len(_cells(head))
    body = Markup().join(_row(_cells(row), _BODY, width) for row in rows)
    return Markup("<table><thead>{}</thead><tbody>{}</tbody></table>").format(_row(_cells(head), _HEAD, width), body)


def _row(cells: Sequence[str], form: Markup, width: int) -> Markup:
    """What is more than the head has is shown all the same."""
    full = [*cells, *[""] * (width - len(cells))]
    return Markup("<tr>{}</tr>").format(Markup().join(form.format(_inline(one)) for one in full))


def _cells(row: str) -> list[str]:
    return [one.strip().replace("\\|", "|") for one in _CELL.split(row.strip()[1:-1])]


def _items(lines: Sequence[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        if item := _ITEM.match(line):
            found.append(item[2])
        else:
            found[-1] += f"\n{line.strip()}"
    return found


def _inline(text: str) -> Markup:
    parts: list[Markup] = []
    at = 0
    for found in _INLINE.finditer(text):
        parts.append(escape(text[at : found.start()]))
        parts.append(_formed(found))
        at = found.end()
    return Markup().join((*parts, escape(text[at:])))


def _formed(found: re.Match[str]) -> Markup:
    """What is stressed may hold code; code holds nothing but itself."""
    code, bold, italic = found.groups()
    if code:
        return Markup("<code>{}</code>").format(code)
    return (
        Markup("<strong>{}</strong>").format(_inline(bold)) if bold else Markup("<em>{}</em>").format(_inline(italic))
    )
