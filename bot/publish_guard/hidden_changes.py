"""Hidden changes: what a reviewer on the forge does not see, or tools read before anybody does. Pure.

Rule: GitHub folds or leaves out the difference of a file that `.gitattributes` marks, or that is too large.
https://docs.github.com/en/repositories/creating-and-managing-repositories/repository-limits#diff-limits
"""

import contextlib
from collections.abc import Collection, Mapping, Sequence

from bot.git.gitattributes import MAX_ATTRIBUTES_BYTES, Says, parse_attributes, split_attributes
from bot.git.gitignore import IgnoreLayer, IgnoreRules, TooManyRules, is_ignored, parse_gitignore
from bot.publish_guard.path_rules import canonical

MAX_SHOWN_BYTES = 500_000
MAX_SHOWN_LINES = 20_000
"""GitHub shows no difference of a file with more."""
MAX_LINE_LENGTH = 5_000
"""A reviewer does not read a longer line to its end."""

_SHOWN_FOLDERS = frozenset({".github", ".gitlab", ".gitea", ".forgejo", ".well-known", ".changeset", ".changes"})
"""Folders for people. What is obeyed in them is protected by name."""
_TOOL_FOLDERS = frozenset({
    ".vscode", ".idea", ".zed", ".vs", ".fleet", ".settings", ".config", ".cargo", ".local", ".mvn", ".husky",
    ".devcontainer", ".gradle", ".bundle", ".direnv",
})  # fmt: skip
"""Every new file in them counts, since their tools find files by name."""
_LOCK_FILES = frozenset({
    "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "uv.lock", "poetry.lock",
    "pdm.lock", "pipfile.lock", "requirements.lock", "cargo.lock", "gemfile.lock", "composer.lock", "go.sum",
    "mix.lock", "pubspec.lock", "podfile.lock", "flake.lock", "packages.lock.json", "package.resolved",
})  # fmt: skip
"""Written by tools and read by nobody; the guard reads what runs in them."""
_DATA = (
    ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".geojson", ".ipynb", ".snap", ".po", ".map", ".pem", ".lock",
)  # fmt: skip
"""Files that often have long lines, and run nothing."""

_HARMLESS = frozenset(
    b"text crlf eol whitespace filter merge linguist-language linguist-detectable conflict-marker-size delta lockable"
    b" export-ignore".split()
)
"""Attributes that change nothing in what a reviewer sees. Drivers are programs, which have a rule of their own."""
_GENERATED, _DIFF, _BINARY = b"linguist-generated", b"diff", b"binary"
_FALSE = frozenset({b"false", b"0", b"no"})


def find_hidden_folder(path: str, known_folders: Collection[str]) -> str:
    """Returns the dot-folder that a new file is in; empty if it is in none, or beside files that were there before."""
    folders, hidden = canonical(path).split("/")[:-1], _hidden_folders(path)
    is_beside_others = "/".join(folders) in known_folders and _TOOL_FOLDERS.isdisjoint(hidden)
    return hidden[0] if hidden and not is_beside_others else ""


def holds_hidden_folder(path: str) -> bool:
    return bool(_hidden_folders(path))


def _hidden_folders(path: str) -> list[str]:
    folders = canonical(path).split("/")[:-1]
    return [name for name in folders if name.startswith(".") and name not in _SHOWN_FOLDERS]


def hiding_attributes(lines: Sequence[bytes]) -> tuple[str, ...]:
    """Attributes in these lines of .gitattributes that keep something from a reviewer, in words."""
    found: dict[bytes, None] = {}
    for line in lines:
        pattern, attributes = split_attributes(line)
        if pattern.startswith(b"[attr]"):
            found[pattern] = None
        found |= dict.fromkeys(one for one in attributes if not _is_harmless(one))
    return tuple(f"`{one.decode(errors='backslashreplace')}` changes what a reviewer sees" for one in found)


def _is_harmless(attribute: bytes) -> bool:
    name, _, value = attribute.lstrip(b"-!").partition(b"=")
    is_taken_back = attribute.startswith((b"-", b"!")) or value in _FALSE
    if name == _DIFF:
        return bool(value) or not attribute.startswith(b"-")
    return name in _HARMLESS or (is_taken_back and name.startswith(b"linguist-"))


class HidingRules:
    """The lines of all .gitattributes files that have GitHub leave out or fold a difference."""

    def __init__(self, files: Mapping[bytes, bytes]) -> None:
        """`files`: their content by path."""
        self._generated = _layers(files, _says_generated)
        self._without_diff = _layers(files, _says_without_diff)

    def why_hidden(self, path: bytes) -> str:
        """Returns the mark; empty if there is none."""
        parts = tuple(path.split(b"/"))
        for mark, layers in (("linguist-generated", self._generated), ("-diff", self._without_diff)):
            near = [layer for folder, layer in layers if parts[:-1][: len(folder)] == folder]
            if is_ignored(parts, near, is_folder=False):
                return mark
        return ""


def _layers(files: Mapping[bytes, bytes], says: Says) -> list[tuple[tuple[bytes, ...], IgnoreLayer]]:
    """The rules of each folder, the deepest last. Their patterns are those of .gitignore."""
    found = []
    for path, content in sorted(files.items(), key=lambda file: file[0].count(b"/")):
        folder = tuple(path.split(b"/")[:-1])
        found.append((folder, IgnoreLayer(len(folder), _rules(content, says))))
    return found


def _rules(content: bytes, says: Says) -> IgnoreRules:
    """A file that cannot be followed hides everything."""
    with contextlib.suppress(TooManyRules):
        if len(content) <= MAX_ATTRIBUTES_BYTES:
            return parse_attributes(content, says)
    return parse_gitignore(b"*")


def _says_generated(attribute: bytes) -> bool | None:
    name, _, value = attribute.lstrip(b"-!").partition(b"=")
    return None if name != _GENERATED else not attribute.startswith((b"-", b"!")) and value not in _FALSE


def _says_without_diff(attribute: bytes) -> bool | None:
    name = attribute.lstrip(b"-!").partition(b"=")[0]
    if name == _BINARY:
        return not attribute.startswith((b"-", b"!"))
    return None if name != _DIFF else attribute.startswith(b"-")


def is_lock_file(path: str) -> bool:
    return canonical(path).rpartition("/")[2] in _LOCK_FILES


def why_not_shown(path: str, added: Sequence[tuple[int, bytes]]) -> str:
    """Returns why nobody reads these added lines; empty if they are shown."""
    size = sum(len(line) + 1 for _, line in added)
    count = len(added) - (bool(added) and not added[-1][1])
    if size > MAX_SHOWN_BYTES or count > MAX_SHOWN_LINES:
        return f"GitHub does not show a difference of {count:,} lines and {size:,} bytes"
    if canonical(path).endswith(_DATA):
        return ""
    long = next(((number, len(line)) for number, line in added if len(line) > MAX_LINE_LENGTH), None)
    return f"line {long[0]} has {long[1]:,} letters" if long else ""
