"""Parses .gitattributes: the files that its lines say something about. The patterns are those of .gitignore.

https://git-scm.com/docs/gitattributes
"""

from collections.abc import Callable, Iterator

from bot.git.gitignore import MAX_RULES, IgnoreRules, parse_gitignore

MAX_ATTRIBUTES_BYTES = 256 * 1024

Says = Callable[[bytes], bool | None]
"""True if the attribute says it of a file, False if it takes it back, None for other attributes."""


def parse_attributes(content: bytes, says: Says, *, most: int = MAX_RULES) -> IgnoreRules:
    """Returns rules that match these files. Raises TooManyRules."""
    return parse_gitignore(b"\n".join(_patterns(content, says)), most=most)


def _patterns(content: bytes, says: Says) -> Iterator[bytes]:
    for line in content.split(b"\n"):
        pattern, attributes = split_attributes(line)
        answers = [answer for one in attributes if (answer := says(one)) is not None]
        if answers and pattern and not pattern.startswith((b"!", b"[attr]")):
            yield pattern if answers[-1] else b"!" + pattern


def split_attributes(line: bytes) -> tuple[bytes, list[bytes]]:
    """Pattern and attributes of a line. A pattern in quotes may have spaces; they match any letter here."""
    line = line.strip()
    if line.startswith(b"#"):
        return b"", []
    if line.startswith(b'"') and (end := line.find(b'"', 1)) > 0:
        return line[1:end].replace(b" ", b"?"), line[end + 1 :].split()
    pattern, *attributes = line.split() or [b""]
    return pattern, attributes
