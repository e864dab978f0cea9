"""Reads a small YAML file of a repository into plain values, within limits of size, depth and number. Pure.

Rule: no tag is obeyed, and what an alias names counts again wherever it is used.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yaml.nodes import MappingNode, Node

_MAX_CHARACTERS = 1 << 16
_MAX_VALUES = 20_000
_MAX_DEPTH = 40
_MERGE = "<<"


def read_yaml(text: str) -> Mapping[str, Any]:
    """All scalars are strings. Returns an empty table if the file is no table, is too large or has a mistake."""
    if len(text) > _MAX_CHARACTERS:
        return {}
    import yaml

    try:
        # the parser in Python: the one in C has no limit of depth
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        found = _Values().of(node) if node is not None else None
    except (yaml.YAMLError, RecursionError, ValueError, _TooLarge):
        return {}
    return found if isinstance(found, dict) else {}


class _TooLarge(Exception):
    """It has more values than any file that people write."""


@dataclass(slots=True)
class _Values:
    left: int = _MAX_VALUES

    def of(self, node: "Node", depth: int = 0) -> Any:
        from yaml.nodes import MappingNode, SequenceNode

        self.left -= 1
        if self.left < 0 or depth > _MAX_DEPTH:
            raise _TooLarge
        if isinstance(node, MappingNode):
            return self._table(node, depth)
        if isinstance(node, SequenceNode):
            return [self.of(one, depth + 1) for one in node.value]
        return node.value if node.tag != "tag:yaml.org,2002:null" else ""

    def _table(self, node: "MappingNode", depth: int) -> dict[str, Any]:
        """Keys of the table itself take precedence over those that are merged into it."""
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, value in node.value:
            name, content = self.of(key, depth + 1), self.of(value, depth + 1)
            if name == _MERGE:
                for one in content if isinstance(content, list) else [content]:
                    for inner in one if isinstance(one, dict) else {}:
                        merged.setdefault(inner, one[inner])
            elif isinstance(name, str):
                own[name] = content
        return {**merged, **own}
