"""Symlink policy: follows the symbolic links of a tree and finds those with a forbidden target. Pure.

Rule: names are compared in canonical spelling; a link that cannot be followed to its end counts as leading outside.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from bot.publish_guard.auto_run_files import programs_finder
from bot.publish_guard.path_collisions import decode_path, path_and_parents
from bot.publish_guard.path_rules import canonical
from bot.publish_guard.protected_paths import PublishRules, holds_protected, why_protected

_MAX_LINKS, _MAX_STEPS = 40, 1000
_ABSOLUTE = re.compile(r"[/\\]|[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class LinkTarget:
    path: str = ""
    """Path in the tree, in canonical spelling."""
    outside: str = ""
    """Why the target is not in the tree; empty if it is."""
    through: frozenset[str] = frozenset()
    """Other links passed on the way."""


def find_bad_links(
    changed: Collection[bytes], targets: Mapping[bytes, bytes], deleted: Collection[bytes], rules: PublishRules
) -> Iterator[tuple[bytes, str]]:
    """Yields changed links, and links through a changed link, that have a fault, with the reason.

    `targets`: the targets of all links of the tree.
    """
    if not changed:
        return
    targets_by_path = {canonical(decode_path(path)): decode_path(target) for path, target in targets.items()}
    new_paths = {canonical(decode_path(path)) for path in changed}
    gone = {folder for path in deleted for folder in _canonical_parents(path)[:-1]}
    for path in sorted(targets):
        target = follow(decode_path(path), targets_by_path)
        if path in changed:
            why = _target_fault(path, target, rules) or _place_fault(decode_path(path), gone, rules)
        else:
            why = _target_fault(path, target, rules) if target.through & new_paths else ""
        if why:
            yield path, why


def find_linked_changes(
    changed: Collection[bytes], targets: Mapping[bytes, bytes], rules: PublishRules
) -> Iterator[tuple[bytes, bytes, str]]:
    """Yields changed paths that a link with a protected name leads to, with the link and why it is protected."""
    targets_by_path = {canonical(decode_path(path)): decode_path(target) for path, target in targets.items()}
    named = {path: why for path in sorted(targets) if (why := why_protected(decode_path(path), rules))}
    places = {follow(decode_path(path), targets_by_path).path: (path, why) for path, why in named.items()}
    for path in sorted(changed) if places else ():
        if why_protected(decode_path(path), rules):
            continue  # already objected to
        if found := next((places[folder] for folder in _canonical_parents(path) if folder in places), None):
            yield path, *found


def follow(path: str, targets: Mapping[str, str]) -> LinkTarget:
    """`targets`: the targets of all links of the tree, by canonical path."""
    own = canonical(path)
    if _ABSOLUTE.match(targets[own]):
        return LinkTarget(outside="leads to an absolute path")
    walk = _Walk(targets, own.split("/")[:-1], _steps(targets[own]))
    while walk.todo:
        if outside := walk.go_on():
            return LinkTarget(outside=outside, through=frozenset(walk.through))
    return LinkTarget("/".join(walk.here), through=frozenset(walk.through))


@dataclass(slots=True)
class _Walk:
    targets: Mapping[str, str]
    here: list[str]
    todo: list[str]
    """Remaining steps, the next one last."""
    hops: int = 0
    steps: int = 0
    through: set[str] = field(default_factory=set)

    def go_on(self) -> str:
        """Takes one step. Returns why it leads outside; empty if it does not."""
        step, self.steps = self.todo.pop(), self.steps + 1
        if self.steps > _MAX_STEPS:
            return "follows too many links and folders"
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
        if self.hops > _MAX_LINKS:
            return "leads in a circle"
        if _ABSOLUTE.match(target):
            return "leads out of the repository through another link"
        self.here.pop()
        self.todo += _steps(target)
        return ""


def _steps(target: str) -> list[str]:
    names = (name for name in target.replace("\\", "/").split("/") if name not in {"", "."})
    return [canonical(name) or name for name in names][::-1]


def _target_fault(path: bytes, target: LinkTarget, rules: PublishRules) -> str:
    if target.outside:
        return target.outside
    if ".git" in target.path.split("/"):
        return "leads into git's own folder"
    name = _name(path)
    if programs_finder(name) and _name(target.path) != name:
        return f"replaces `{name}`, whose programs are checked under that name only"
    return f"leads to a protected path ({why})" if (why := why_protected(target.path, rules)) else ""


def _place_fault(path: str, gone: Collection[str], rules: PublishRules) -> str:
    if canonical(path) in gone:
        return "replaces a folder"
    return "replaces a folder that contains protected paths" if holds_protected(path, rules) else ""


def _canonical_parents(path: bytes) -> list[str]:
    """The path and its parents in canonical spelling, the path last."""
    return [decode_path(one) for one in path_and_parents(canonical(decode_path(path)).encode(errors="surrogateescape"))]


def _name(path: bytes | str) -> str:
    return canonical(path if isinstance(path, str) else decode_path(path)).rpartition("/")[2]
