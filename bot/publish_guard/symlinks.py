"""Where a symbolic link in a tree leads, without any file system being asked. Pure.

Rule: names count as any file system may spell them, and what cannot be followed to its end leads outside.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.publish_guard.path_rules import canonical

_HOPS, _STEPS = 40, 1000
_ABSOLUTE = re.compile(r"[/\\]|[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class Lead:
    where: str = ""
    """In the tree, in its canonical spelling."""
    outside: str = ""
    """Why it leads to nothing in the tree, in words."""
    through: frozenset[str] = frozenset()
    """Other links on the way."""


def follow(path: str, targets: Mapping[str, str]) -> Lead:
    """`targets`: of every link in the tree, by its canonical path."""
    own = canonical(path)
    if _ABSOLUTE.match(targets[own]):
        return Lead(outside="leads to an absolute path")
    walk = _Walk(targets, own.split("/")[:-1], _steps(targets[own]))
    while walk.todo:
        if outside := walk.go_on():
            return Lead(outside=outside, through=frozenset(walk.through))
    return Lead("/".join(walk.here), through=frozenset(walk.through))


@dataclass(slots=True)
class _Walk:
    targets: Mapping[str, str]
    here: list[str]
    todo: list[str]
    """The next one last."""
    hops: int = 0
    steps: int = 0
    through: set[str] = field(default_factory=set)

    def go_on(self) -> str:
        """One step; why there is none."""
        step, self.steps = self.todo.pop(), self.steps + 1
        if self.steps > _STEPS:
            return "leads further than anybody can follow"
        if step == "..":
            if not self.here:
                return "leads out of the repository"
            self.here.pop()
            return ""
        self.here.append(step)
        target = self.targets.get("/".join(self.here))
        return "" if target is None else self._follow(target)

    def _follow(self, target: str) -> str:
        self.hops += 1
        self.through.add("/".join(self.here))
        if self.hops > _HOPS:
            return "leads round in circles"
        if _ABSOLUTE.match(target):
            return "leads out of the repository through another link"
        self.here.pop()
        self.todo += _steps(target)
        return ""


def _steps(target: str) -> list[str]:
    names = (name for name in target.replace("\\", "/").split("/") if name not in {"", "."})
    return [canonical(name) or name for name in names][::-1]
