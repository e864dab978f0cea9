"""Publish guard: decides on the host which changes may be committed, and raises objections to the others.

Rule: content that the branch, its base or the other side of a merge already has is allowed. Content with an objection
enters no commit of a branch; a person can approve an objection for exactly that content.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from bot.domain.change import LFS, Objection
from bot.git.blobs import blob_contents
from bot.git.commit_files import index_of_commit
from bot.git.index import LINK, SUBMODULE, IndexEntry
from bot.git.read_repository_settings import read_repository_settings
from bot.publish_guard.added_lines import (
    AddedLines,
    can_run_programs,
    find_likely_secrets,
    known_secrets_in,
    marks_in,
    programs_in,
)
from bot.publish_guard.hidden_changes import (
    HidingRules,
    find_hidden_folder,
    holds_hidden_folder,
    is_lock_file,
    why_not_shown,
)
from bot.publish_guard.lfs_content import (
    HIDDEN,
    content_sizes,
    find_lfs_faults,
    find_moved_to_lfs,
    read_contents,
)
from bot.publish_guard.path_collisions import decode_path, find_bad_names
from bot.publish_guard.path_rules import canonical
from bot.publish_guard.protected_paths import ATTRIBUTES, PublishRules, why_protected
from bot.publish_guard.size_limits import MAX_NEW_BINARY_BYTES
from bot.publish_guard.symlinks import find_bad_links, find_linked_changes
from bot.publish_guard.tree_diff import TreeDifference, TreeItem, batches, diff_trees
from bot.secret_scan.scanner import Secrets, find_suspicious
from bot.secret_scan.unpack import UnpackBudget
from bot.text.invisible_characters import printable_path

MAX_LISTED = 50
_MOST_URGENT = ("size", "secret", "protected path", "link", "submodule")
_MEGABYTE = 1_000_000
_MAX_REASONS = 3
_HIDDEN_NAME = "[withheld name]"


@dataclass(frozen=True, slots=True)
class PublishGuard:
    mirror: Path
    rules: PublishRules = field(default_factory=PublishRules)
    secrets: Secrets = field(default_factory=Secrets)

    def with_forbidden(self, paths: Collection[str]) -> Self:
        """The same guard with more protected paths."""
        return replace(self, rules=replace(self.rules, forbidden=tuple(paths)))

    def with_repository_rules(self, commit: str) -> Self:
        """The same guard with the paths that the repository protects in that commit."""
        return replace(
            self,
            rules=replace(self.rules, repository_protected=read_repository_settings(self.mirror, commit).protected),
        )

    def order(self, tree: str, known: Sequence[str], allowed: Collection[str] = ()) -> "JudgeOrder":
        """The guard with its question as plain values, for `judge`."""
        return JudgeOrder(str(self.mirror), self.rules, self.secrets.values, tree, tuple(known), tuple(allowed))

    def objections(self, tree: str, known: Sequence[str], allowed: Collection[str] = ()) -> tuple[Objection, ...]:
        """`known`: commits and trees whose entries are public or were reviewed before."""
        differences = diff_trees(self.mirror, tree, known)
        if not differences:
            return ()
        entries = index_of_commit(self.mirror, tree).entries
        judging = _Review(self, tree, differences, known, entries, _find_secret_names(self.secrets, differences))
        return tuple(one for one in _cap_list(judging.all(allowed)) if one.id not in allowed)


@dataclass(frozen=True, slots=True, repr=False)
class JudgeOrder:
    """A guard and what it is asked, as plain values."""

    repository: str
    rules: PublishRules
    secrets: tuple[tuple[str, str], ...]
    """Names with their values."""
    tree: str
    known: tuple[str, ...]
    allowed: tuple[str, ...] = ()

    def about(self, tree: str, *, repository: str) -> Self:
        """The same question about a tree in another repository."""
        return replace(self, repository=repository, tree=tree)


@dataclass(frozen=True, slots=True)
class Judgement:
    objections: tuple[Objection, ...] = ()


def judge(order: JudgeOrder) -> Judgement:
    guard = PublishGuard(Path(order.repository), order.rules, Secrets.of(order.secrets))
    return Judgement(guard.objections(order.tree, order.known, order.allowed))


@dataclass(frozen=True, slots=True)
class _Review:
    guard: PublishGuard
    tree: str
    differences: Sequence[TreeDifference]
    known: Sequence[str]
    entries: Mapping[bytes, IndexEntry]
    secret_names: Mapping[bytes, str]
    """Paths whose name holds a secret, with the reason."""
    budget: UnpackBudget = field(default_factory=UnpackBudget)

    def all(self, allowed: Collection[str]) -> list[Objection]:
        fresh = self._new_content()
        size = list(self._size(sum(fresh.values())))
        # content over the size limit is not read unless a person approved it
        is_readable = all(one.id in allowed for one in size)
        unread = [*size, *self._names(), *self._protected_paths(), *self._hidden_folders(), *self._links()]
        unread += self._lfs()
        read = [*self._content(fresh), *self._programs()] if is_readable else []
        return sorted([*unread, *read], key=_urgency)

    def _new_content(self) -> Mapping[str, int]:
        """Object ids and sizes of content that no earlier version has."""
        old = {item.sha for one in self.differences for item in one.before}
        new = {one.now.sha for one in self.differences if one.now and one.is_file}
        return content_sizes(self.guard.mirror, sorted(new - old))

    def _size(self, much: int) -> Iterator[Objection]:
        rules, files = self.guard.rules, len(self.differences) - self._count_moved()
        if 0 < rules.max_changed_files < files:
            counted = f"{files:,} files changed; the limit is {rules.max_changed_files:,}"
            yield Objection("size", "", counted, self.tree)
        if 0 < rules.max_changed_mb * _MEGABYTE < much:
            counted = f"{much / _MEGABYTE:,.1f} MB of new content; the limit is {rules.max_changed_mb:g} MB"
            yield Objection("size", "", counted, self.tree)

    def _count_moved(self) -> int:
        """Files moved to another path, where they are counted."""
        arrived = {one.now.sha for one in self.differences if one.now and one.is_new}
        return sum(not one.now and any(item.sha in arrived for item in one.before) for one in self.differences)

    def _names(self) -> Iterator[Objection]:
        by_path = {one.path: one for one in self.differences}
        new = [one.path for one in self.differences if one.now and one.is_new]
        for path, what in self.secret_names.items():
            yield self._objection("secret", by_path[path], what)
        for path, why in find_bad_names(new, self.entries):
            yield self._objection("file name", by_path[path], why)

    def _protected_paths(self) -> Iterator[Objection]:
        for one in self.differences:
            if why := why_protected(decode_path(one.path), self.guard.rules):
                yield self._objection("protected path", one, why if one.now else f"{why}; deleted")
            if one.now and one.now.mode == SUBMODULE:
                yield self._objection(
                    "submodule", one, "a commit of another repository, whose content is not visible here"
                )

    def _lfs(self) -> Iterator[Objection]:
        mirror, can_upload = self.guard.mirror, self.guard.rules.uploads_lfs
        for one, why in find_lfs_faults(mirror, self.differences, self.known, can_upload=can_upload):
            yield self._objection(LFS, one, why)
        for one in find_moved_to_lfs(mirror, self.differences, self.entries):
            yield self._objection("hidden change", one, HIDDEN)

    def _hidden_folders(self) -> Iterator[Objection]:
        new = [one for one in self.differences if one.now and one.is_new]
        hidden = [one for one in new if holds_hidden_folder(decode_path(one.path))]
        paths = {one.path for one in new}
        known = {path.rpartition(b"/")[0] for path in self.entries.keys() - paths} if hidden else set()
        folders = frozenset(canonical(decode_path(folder)) for folder in known)
        for one in hidden:
            path = decode_path(one.path)
            name = find_hidden_folder(path, folders)
            if name and not why_protected(path, self.guard.rules):
                yield self._objection("hidden folder", one, f"tools read `{name}`, and people seldom look into it")

    def _links(self) -> Iterator[Objection]:
        links = {path: entry.sha.hex() for path, entry in self.entries.items() if entry.mode == LINK}
        read = blob_contents(self.guard.mirror, set(links.values())) if links else {}
        targets = {path: read[sha] for path, sha in links.items()}
        by_path = {one.path: one for one in self.differences}
        deleted = [one.path for one in self.differences if one.now is None]
        for path, why in find_bad_links(by_path.keys() & targets.keys(), targets, deleted, self.guard.rules):
            # an unchanged link whose target changed: an approval covers the whole tree
            yield self._objection("link", by_path.get(path) or TreeDifference(path, TreeItem(LINK, self.tree), ()), why)
        for path in sorted(by_path.keys() & targets.keys()):
            if names := self.guard.secrets.find_any(decode_path(targets[path])):
                yield self._objection("secret", by_path[path], f"its target contains {', '.join(names)}")
        for path, link, why in find_linked_changes(by_path, targets, self.guard.rules):
            yield self._objection("protected path", by_path[path], f"{why}: `{self._shown(link)}` leads to it")

    def _content(self, fresh: Mapping[str, int]) -> Iterator[Objection]:
        files = [one for one in self.differences if one.now and one.is_file and one.now.sha in fresh]
        known = content_sizes(self.guard.mirror, {item.sha for one in files for item in one.versions if _is_blob(item)})
        hiding = self._hiding_rules()
        for batch in batches(files, known):
            shas = {item.sha for one in batch for item in one.versions if _is_blob(item)}
            read = read_contents(self.guard.mirror, shas)
            written = [_added_lines(one, read) for one in batch]
            looks = find_likely_secrets(written)
            for one, file in zip(batch, written, strict=True):
                yield from self._file_content(one, file, looks.get(one.path, ()))
                if why := _why_hidden(file, hiding):
                    yield self._objection("hidden change", one, why)

    def _file_content(self, one: TreeDifference, file: AddedLines, looks: Sequence[str]) -> Iterator[Objection]:
        if one.is_new and file.is_binary and len(file.content) > MAX_NEW_BINARY_BYTES:
            yield self._objection("size", one, f"a new binary file of {len(file.content) / _MEGABYTE:,.1f} MB")
        if leaks := (*known_secrets_in(file, self.guard.secrets, self.budget), *looks):
            yield self._objection("secret", one, _shorten(leaks))

    def _hiding_rules(self) -> HidingRules:
        found = {path: entry.sha.hex() for path, entry in self.entries.items() if _is_attributes(path, entry)}
        read = blob_contents(self.guard.mirror, set(found.values())) if found else {}
        return HidingRules({path: read[sha] for path, sha in found.items()})

    def _programs(self) -> Iterator[Objection]:
        """Checks by the new name: the same content may have been harmless under another."""
        files = [one for one in self.differences if one.is_file and can_run_programs(one.path)]
        known = {item.sha for one in self.differences if can_run_programs(one.path) for item in one.before}
        fresh = [one for one in files if one.now and one.now.sha not in known]
        read = read_contents(self.guard.mirror, {item.sha for one in fresh for item in one.versions if _is_blob(item)})
        for one in fresh:
            file = _added_lines(one, read)
            if found := programs_in(file):
                yield self._objection("program", one, _shorten(found))
            if found := marks_in(file):
                yield self._objection("hidden change", one, _shorten(found))

    def _objection(self, rule: str, one: TreeDifference, detail: str) -> Objection:
        holds = f"{one.now.mode:o} {one.now.sha}" if one.now else "nothing"
        return Objection(rule, self._shown(one.path), detail, f"{holds} {one.path.hex()}")

    def _shown(self, path: bytes) -> str:
        return _HIDDEN_NAME if path in self.secret_names else printable_path(path)


def _added_lines(one: TreeDifference, read: Mapping[str, bytes]) -> AddedLines:
    assert one.now
    return AddedLines(one.path, read[one.now.sha], [read[item.sha] for item in one.before if _is_blob(item)])


def _is_attributes(path: bytes, entry: IndexEntry) -> bool:
    return path.rpartition(b"/")[2] == ATTRIBUTES.encode() and entry.mode not in {LINK, SUBMODULE}


def _why_hidden(file: AddedLines, rules: HidingRules) -> str:
    """Returns why a reviewer would not see the change; empty if they would, or if it is no text."""
    path = decode_path(file.path)
    if file.is_binary or is_lock_file(path):
        return ""
    if mark := rules.why_hidden(file.path):
        return f"`.gitattributes` marks it as `{mark}`, so that GitHub does not show what changes in it"
    return why_not_shown(path, file.lines())


def _is_blob(item: TreeItem) -> bool:
    return item.mode != SUBMODULE


def _find_secret_names(secrets: Secrets, differences: Sequence[TreeDifference]) -> Mapping[bytes, str]:
    """Scans all names at once, and single names only after a hit."""
    names = {one.path: decode_path(one.path) for one in differences if one.now}
    together = "\n".join(names.values())
    exact = names if secrets.find(together) else {}
    looks = {
        list(names)[one.line - 1]: one.kind for one in find_suspicious(_on_one_line(name) for name in names.values())
    }
    held = {
        path: f"its name contains {', '.join(hits)}" for path, name in exact.items() if (hits := secrets.find(name))
    }
    return {path: f"its name looks like a secret ({kind})" for path, kind in looks.items()} | held


def _on_one_line(name: str) -> str:
    return " ".join(name.splitlines())


def _urgency(one: Objection) -> tuple[int, str]:
    rank = _MOST_URGENT.index(one.rule) if one.rule in _MOST_URGENT else len(_MOST_URGENT)
    return rank, one.path


def _cap_list(found: Sequence[Objection]) -> Sequence[Objection]:
    """Combines objections beyond the limit into one, which is approved as a whole."""
    rest = found[MAX_LISTED:]
    if not rest:
        return found
    together = hashlib.sha256("".join(sorted(one.id for one in rest)).encode()).hexdigest()
    rules = ", ".join(sorted({one.rule for one in rest}))
    return [*found[:MAX_LISTED], Objection("more", "", f"{len(rest):,} more objections ({rules})", together)]


def _shorten(found: Sequence[str]) -> str:
    more = f"; and {len(found) - _MAX_REASONS} more" if len(found) > _MAX_REASONS else ""
    return "; ".join(found[:_MAX_REASONS]) + more
