"""Splits Markdown into its blocks, line by line, as GitHub's parser does: https://github.github.com/gfm/#blocks.

Rule: every line is looked at once. What no person nests so deep is not followed: the text ends there.
"""

import re
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from bot.text.html_tags import is_lone_tag
from bot.text.link_definitions import Definition, read_definitions

_DEEPEST = 20
_CODE_INDENT = 4
_TAB = 4
_RULE_LENGTH = 3

_RULE = re.compile(r"\*[*\s]*|-[-\s]*|_[_\s]*")
_ITEM = re.compile(r"[-+*]|(?P<number>[0-9]{1,9})[.)]")
_NOTE = re.compile(r"\[\^(?P<key>[^\]\s]+)\]:[ \t]*")
_FENCE = re.compile(r"`{3,}|~{3,}")
_HEADING = re.compile(r"#{1,6}(?=[ \t\n]|$)")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*\n?")
_DELIMITER = re.compile(r"[ \t]*:?-+:?[ \t]*")

_ELEMENT = re.compile(r"</?([A-Za-z][A-Za-z0-9-]*)")
_ENDS = (
    (re.compile(r"<(?:script|pre|style|textarea)(?=[\s>]|$)", re.IGNORECASE),
     re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE)),
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<![A-Z]"), re.compile(r">")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
)  # fmt: skip
"""Begin and end of HTML that may contain blank lines."""
_BLOCK_ELEMENTS = frozenset((
    "address", "article", "aside", "base", "basefont", "blockquote", "body", "caption", "center", "col", "colgroup",
    "dd", "details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form",
    "frame", "frameset", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr", "html", "iframe", "legend",
    "li", "link", "main", "menu", "menuitem", "nav", "noframes", "ol", "optgroup", "option", "p", "param", "search",
    "section", "source", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "title", "tr", "track", "ul"
))  # fmt: skip


class LeafKind(Enum):
    TEXT = "text"
    FIELD = "field"
    """One column of a table's row."""
    HTML = "html"
    CODE = "code"
    INFO = "info"
    """The words after the marks of a fence."""
    EXCESS = "excess"
    """A table's row beyond its last column: nobody sees it."""
    TOO_DEEP = "too deep"


class Leaf(NamedTuple):
    """Text without blocks inside. `text[0]` stands at `start`; what belongs to its containers is spaces."""

    kind: LeafKind
    start: int
    text: str


@dataclass(slots=True)
class Note:
    """A footnote."""

    key: str
    start: int
    end: int


@dataclass(slots=True)
class Blocks:
    leaves: list[Leaf] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


class _Kind(Enum):
    QUOTE = "quote"
    ITEM = "item"
    NOTE = "note"


@dataclass(slots=True)
class _Container:
    kind: _Kind
    indent: int = 0
    note: Note | None = None
    is_empty: bool = True


class _Open(Enum):
    """The leaf that the next line may continue."""

    NOTHING = "nothing"
    PARAGRAPH = "paragraph"
    FENCE = "fence"
    INDENTED = "indented"
    HTML = "html"
    TABLE = "table"


class _Line:
    """A line, and how far it was read."""

    __slots__ = ("_spaces_left", "at", "begin", "column", "end", "indent", "is_blank", "text", "word")

    def __init__(self, text: str, begin: int) -> None:
        self.text, self.begin, self.end = text, begin, begin + len(text)
        self.at = self.column = self._spaces_left = 0
        self.measure()

    def measure(self) -> None:
        """Finds the next letter, `word`, and its `indent` in columns."""
        rest = self.text[self.at :]
        bare = rest.lstrip(" \t")
        self.word = len(self.text) - len(bare)
        self.is_blank = not bare or bare == "\n"
        if self.word - self.at == (width := rest[: self.word - self.at].count(" ")):
            self.indent = width + self._spaces_left
            return
        column = self.column + self._spaces_left
        for letter in self.text[self.at : self.word]:
            column += _TAB - column % _TAB if letter == "\t" else 1
        self.indent = column - self.column

    def skip_columns(self, count: int) -> None:
        while count > 0 and self._spaces_left:
            self._spaces_left -= 1
            self.column += 1
            count -= 1
        while count > 0 and self.at < self.word:
            width = _TAB - self.column % _TAB if self.text[self.at] == "\t" else 1
            self.at += 1
            self._spaces_left = max(0, width - count)
            self.column += min(width, count)
            count -= width
        self.measure()

    def skip_to(self, position: int) -> None:
        """`position` is at `word` or behind it."""
        self.column += self.indent + position - self.word
        self.at, self._spaces_left = position, 0
        self.measure()

    def rest(self) -> str:
        return self.text[self.word :]


def split_blocks(text: str) -> Blocks:
    """Returns what is prose, HTML or code in a text whose lines end with line feeds."""
    splitter, begin = _Splitter(), 0
    for line in text.splitlines(keepends=True):
        splitter.add(_Line(line, begin))
        if splitter.is_too_deep:
            break
        begin += len(line)
    splitter.close_leaf()
    return splitter.found


class _Splitter:
    """Keeps what is open after the lines so far."""

    def __init__(self) -> None:
        self.found = Blocks()
        self.is_too_deep = False
        self._containers: list[_Container] = []
        self._open = _Open.NOTHING
        self._lines: list[tuple[_Line, int]] = []
        self._ending = ""
        self._html_end: re.Pattern[str] | None = None
        self._columns = self._matched = 0
        self._is_doubtful = self._is_no_table = False

    def add(self, line: _Line) -> None:
        self._matched = self._match(line)
        if not (self._is_matched and self._continue_leaf(line)) and not self._start_blocks(line):
            if not self._is_matched and not line.is_blank and self._open is _Open.PARAGRAPH:
                self._lines.append((line, line.word))  # a lazy continuation
            else:
                self._add_text(line)
        if not line.is_blank:
            self._extend(line.end)

    @property
    def _is_matched(self) -> bool:
        """The line continues every container."""
        return self._matched == len(self._containers)

    def _extend(self, end: int) -> None:
        for container in self._containers:
            container.is_empty = False
            if container.note:
                container.note.end = end

    def _match(self, line: _Line) -> int:
        """Returns how many containers the line continues."""
        for number, container in enumerate(self._containers):
            if not self._continues(container, line):
                return number
        return len(self._containers)

    @staticmethod
    def _continues(container: _Container, line: _Line) -> bool:
        match container.kind:
            case _Kind.QUOTE:
                return _skip_quote_mark(line)
            case _Kind.NOTE if line.is_blank:
                return line.text == "\n"
            case _Kind.ITEM if line.is_blank:
                return not container.is_empty
        if line.indent < container.indent:
            return False
        line.skip_columns(container.indent)
        return True

    # The open leaf

    def _continue_leaf(self, line: _Line) -> bool:
        """Returns True if the whole line belongs to it."""
        match self._open:
            case _Open.FENCE:
                self._continue_fence(line)
                return True
            case _Open.HTML if self._html_end or not line.is_blank:
                self._lines.append((line, line.at))
                self._close_html_at_its_end(line)
                return True
            case _Open.INDENTED if line.is_blank or line.indent >= _CODE_INDENT:
                self._lines.append((line, line.at))
                return True
        return False

    def _continue_fence(self, line: _Line) -> None:
        bare = line.rest().rstrip(" \t\n")
        if line.indent < _CODE_INDENT and len(bare) >= len(self._ending) and bare == self._ending[0] * len(bare):
            self.close_leaf()
        else:
            self._lines.append((line, line.at))

    def _close_html_at_its_end(self, line: _Line) -> None:
        if self._html_end and self._html_end.search(line.text, line.word):
            self.close_leaf()

    def close_leaf(self) -> None:
        was, lines = self._open, self._lines
        self._open, self._lines = _Open.NOTHING, []
        match was:
            case _Open.PARAGRAPH:
                self._close_paragraph(lines)
            case _Open.HTML:
                self._yield(LeafKind.HTML, lines)
            case _Open.FENCE | _Open.INDENTED:
                self._yield(LeafKind.HTML if self._is_doubtful else LeafKind.CODE, lines)

    def _close_paragraph(self, lines: list[tuple[_Line, int]]) -> None:
        if not lines:
            return  # the only line of the paragraph became the head of a table
        start, text = _joined(lines)
        definitions, at = read_definitions(text, start)
        self.found.definitions += definitions
        if text[at:].strip():
            self.found.leaves.append(Leaf(LeafKind.TEXT, start + at, text[at:]))

    def _yield(self, kind: LeafKind, lines: list[tuple[_Line, int]]) -> None:
        if lines:
            self.found.leaves.append(Leaf(kind, *_joined(lines)))

    def _begin(self) -> None:
        """Closes the open leaf, and the containers that the line does not continue."""
        if not self._is_matched and self._open is _Open.FENCE:
            self.close_leaf()
            self._is_doubtful = True  # not every parser ends this code here
        self.close_leaf()
        del self._containers[self._matched :]

    # Beginnings

    def _start_blocks(self, line: _Line) -> bool:
        """Returns True if nothing is left of the line."""
        while not line.is_blank:
            if line.indent >= _CODE_INDENT:
                return self._start_indented(line)
            container = self._container_at(line)
            if not container:
                return self._start_leaf(line)
            if len(self._containers) >= _DEEPEST:
                self.is_too_deep = True
                self.found.leaves.append(Leaf(LeafKind.TOO_DEEP, line.begin, ""))
                return True
            self._begin()
            self._extend(line.end)
            self._containers.append(container)
            self._matched += 1
        return False

    @property
    def _in_paragraph(self) -> bool:
        return self._open is _Open.PARAGRAPH and self._is_matched

    def _start_indented(self, line: _Line) -> bool:
        if self._open is _Open.PARAGRAPH:
            return False
        self._begin()
        self._open = _Open.INDENTED
        self._lines.append((line, line.at))
        return True

    def _container_at(self, line: _Line) -> _Container | None:
        first = line.text[line.word]
        if first == ">":
            _skip_quote_mark(line)
            return _Container(_Kind.QUOTE)
        if first == "[" and (found := _NOTE.match(line.text, line.word)):
            note = Note(found["key"], line.begin + line.word, line.end)
            self.found.notes.append(note)
            line.skip_to(found.end())
            return _Container(_Kind.NOTE, _CODE_INDENT, note)
        if (first in "-+*" or first.isdigit()) and not self._is_rule(line.rest()):
            return _start_item(line, in_paragraph=self._in_paragraph)
        return None

    def _is_rule(self, rest: str) -> bool:
        if self._in_paragraph and _UNDERLINE.fullmatch(rest):
            return True
        return rest[0] in "*-_" and bool(_RULE.fullmatch(rest)) and rest.count(rest[0]) >= _RULE_LENGTH

    def _start_leaf(self, line: _Line) -> bool:
        rest = line.rest()
        if heading := _HEADING.match(rest):
            self._begin()
            at = line.word + heading.end()
            self.found.leaves.append(Leaf(LeafKind.TEXT, line.begin + at, line.text[at:]))
            return True
        if (fence := _FENCE.match(rest)) and (rest[0] == "~" or "`" not in rest[fence.end() :]):
            self._start_fence(line, fence[0])
            return True
        if rest[0] == "<" and self._start_html(line, rest):
            return True
        if self._is_rule(rest):
            self._begin()
            return True
        if self._open is _Open.TABLE and self._is_matched:
            self._add_row(line.begin + line.word, rest)
            return True
        return self._in_paragraph and self._start_table(rest)

    def _start_fence(self, line: _Line, marks: str) -> None:
        self._begin()
        self._open, self._ending = _Open.FENCE, marks
        start = line.word + len(marks)
        self.found.leaves.append(Leaf(LeafKind.INFO, line.begin + start, line.text[start:].rstrip("\n")))

    def _start_html(self, line: _Line, rest: str) -> bool:
        end = next((end for begin, end in _ENDS if begin.match(rest)), None)
        if not end and not _starts_block_element(rest) and (self._in_paragraph or not is_lone_tag(rest)):
            return False
        self._begin()
        self._open, self._html_end = _Open.HTML, end
        self._lines.append((line, line.word))
        self._close_html_at_its_end(line)
        return True

    def _add_text(self, line: _Line) -> None:
        if line.is_blank or self._open is not _Open.PARAGRAPH or not self._is_matched:
            self._begin()
        if not line.is_blank:
            self._is_no_table = self._is_no_table and self._open is _Open.PARAGRAPH
            self._open = _Open.PARAGRAPH
            self._lines.append((line, line.word))

    # Tables

    def _start_table(self, rest: str) -> bool:
        """The last line of a paragraph is the head of a table if the line below draws as many columns."""
        if (
            self._is_no_table
            or rest[0] not in "|:-"
            or not all(_DELIMITER.fullmatch(each) for _, each in _fields(rest))
        ):
            return False
        head, start = self._lines[-1]
        columns = _fields(head.text[start:])
        if len(columns) != len(_fields(rest)):
            self._is_no_table = True
            return False
        self._lines.pop()
        self.close_leaf()
        self._open, self._columns = _Open.TABLE, len(columns)
        self._add_row(head.begin + start, head.text[start:])
        return True

    def _add_row(self, start: int, text: str) -> None:
        fields = _fields(text)
        for at, each in fields[: self._columns]:
            self.found.leaves.append(Leaf(LeafKind.FIELD, start + at, each))
        if len(fields) > self._columns:
            at = fields[self._columns][0]
            self.found.leaves.append(Leaf(LeafKind.EXCESS, start + at, text[at:].rstrip("\n")))


def _joined(lines: list[tuple[_Line, int]]) -> tuple[int, str]:
    """Returns where the first line's content starts, and the text with spaces in place of the other lines' starts."""
    (first, at), *others = lines
    return first.begin + at, "".join([first.text[at:], *(" " * start + line.text[start:] for line, start in others)])


def _skip_quote_mark(line: _Line) -> bool:
    if line.is_blank or line.indent >= _CODE_INDENT or line.text[line.word] != ">":
        return False
    line.skip_to(line.word + 1)
    if line.indent:
        line.skip_columns(1)
    return True


def _start_item(line: _Line, *, in_paragraph: bool) -> _Container | None:
    found = _ITEM.match(line.text, line.word)
    if not found:
        return None
    after = line.text[found.end() :]
    is_empty = not after.strip()
    if after[:1] not in {"", " ", "\t", "\n"}:
        return None
    if in_paragraph and (is_empty or found["number"] not in {None, "1"}):
        return None
    outer, width = line.indent, len(found[0])
    line.skip_to(found.end())
    padding = line.indent if 1 <= line.indent <= _CODE_INDENT and not is_empty else 1
    line.skip_columns(min(padding, line.indent))
    return _Container(_Kind.ITEM, outer + width + padding)


def _starts_block_element(rest: str) -> bool:
    found = _ELEMENT.match(rest)
    if not found or found[1].lower() not in _BLOCK_ELEMENTS:
        return False
    after = rest[found.end() : found.end() + 2]
    return not after or after[0] in " \t\n>" or after == "/>"


def _fields(row: str) -> list[tuple[int, str]]:
    """Returns each column of a table's row and where it starts. A backslash before a pipe makes it a letter."""
    pipes = [at for at, letter in enumerate(row) if letter == "|" and row[at - 1 : at] != "\\"]
    end = len(row.rstrip())
    starts = [0, *(pipe + 1 for pipe in pipes)]
    ends = [*pipes, end]
    if pipes and not row[: pipes[0]].strip():
        del starts[0], ends[0]
    if pipes and pipes[-1] == end - 1 and starts:
        del starts[-1], ends[-1]
    return [(start, row[start:stop]) for start, stop in zip(starts, ends, strict=True)]
