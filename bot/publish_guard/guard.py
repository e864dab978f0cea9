"""Judges what is about to be committed, on the raw difference: what is published is decided here, by the host alone.

Rule: what is in the branch, in its base or in the other side of a merge already is nobody's fault. What is objected to
gets into no commit of a branch; people may overrule an objection, for exactly the content that it is about.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from bot.domain.change import Objection
from bot.git.index import LINK, SUBMODULE, Entry
from bot.git.objects import index_of
from bot.git.repository_file import told_at
from bot.publish_guard.added_lines import Written, leaks_in, looks_in, may_run, programs_in
from bot.publish_guard.path_collisions import faults, text_of
from bot.publish_guard.pointing import led_to, links_astray
from bot.publish_guard.protected_paths import Rules, why_protected
from bot.publish_guard.tree_diff import Difference, Item, batches, contents, differences, sizes
from bot.secret_scan.scanner import Secrets, suspicious
from bot.workspace.capture import shown

LISTED = 50
_MOST_URGENT = ("size", "secret", "protected path", "link", "submodule")
_LARGE_NEW_FILE = 5_000_000
_MEGABYTE = 1_000_000
_SAID = 3
_WITHHELD = "[a name that is withheld]"


@dataclass(frozen=True, slots=True)
class Guard:
    mirror: Path
    rules: Rules = field(default_factory=Rules)
    secrets: Secrets = field(default_factory=Secrets)

    def within(self, repository: Path) -> Self:
        """The same, where what is judged can be seen."""
        return replace(self, mirror=repository)

    def forbidding(self, paths: Collection[str]) -> Self:
        """The same, with more that is not to be changed unasked."""
        return replace(self, rules=replace(self.rules, forbidden=tuple(paths)))

    def minding(self, commit: str) -> Self:
        """And what the repository itself protects, as that commit has it."""
        return replace(self, rules=replace(self.rules, told=told_at(self.mirror, commit).protected))

    def objections(self, tree: str, known: Sequence[str], allowed: Collection[str] = ()) -> tuple[Objection, ...]:
        """`known`: commits and trees whose entries are public, or were judged before."""
        found = differences(self.mirror, tree, known)
        if not found:
            return ()
        entries = index_of(self.mirror, tree).entries
        judging = _Judging(self, tree, found, entries, _telling(self.secrets, found))
        return tuple(one for one in _listed(judging.all(allowed)) if one.id not in allowed)


@dataclass(frozen=True, slots=True)
class _Judging:
    guard: Guard
    tree: str
    found: Sequence[Difference]
    entries: Mapping[bytes, Entry]
    telling: Mapping[bytes, str]
    """Paths that give a secret away, and which."""

    def all(self, allowed: Collection[str]) -> list[Objection]:
        fresh = self._fresh()
        size = list(self._size(sum(fresh.values())))
        # who floods us does not get all of it read, unless a person said so
        is_readable = all(one.id in allowed for one in size)
        said = [*size, *self._names(), *self._kinds(), *self._links()]
        read = [*self._content(fresh), *self._programs()] if is_readable else []
        return sorted([*said, *read], key=_urgency)

    def _fresh(self) -> Mapping[str, int]:
        """Content that is in none of the versions before, and how much it is."""
        old = {item.sha for one in self.found for item in one.before}
        new = {one.now.sha for one in self.found if one.now and one.is_file}
        return sizes(self.guard.mirror, sorted(new - old))

    def _size(self, much: int) -> Iterator[Objection]:
        rules, files = self.guard.rules, len(self.found) - self._moved_away()
        if files > rules.changed_files:
            counted = f"{files:,} files changed, and the limit is {rules.changed_files:,}"
            yield Objection("size", "", counted, self.tree)
        if much > rules.changed_mb * _MEGABYTE:
            counted = f"{much / _MEGABYTE:,.1f} MB of new content, and the limit is {rules.changed_mb:g} MB"
            yield Objection("size", "", counted, self.tree)

    def _moved_away(self) -> int:
        """They are at another path now, and count there."""
        arrived = {one.now.sha for one in self.found if one.now and one.is_new}
        return sum(not one.now and any(item.sha in arrived for item in one.before) for one in self.found)

    def _names(self) -> Iterator[Objection]:
        by_path = {one.path: one for one in self.found}
        new = [one.path for one in self.found if one.now and one.is_new]
        for path, what in self.telling.items():
            yield self._objection("secret", by_path[path], what)
        for path, why in faults(new, self.entries):
            yield self._objection("file name", by_path[path], why)

    def _kinds(self) -> Iterator[Objection]:
        for one in self.found:
            if why := why_protected(text_of(one.path), self.guard.rules):
                yield self._objection("protected path", one, why if one.now else f"{why}; deleted")
            if one.now and one.now.mode == SUBMODULE:
                yield self._objection("submodule", one, "another repository's commit, whose content nobody sees here")

    def _links(self) -> Iterator[Objection]:
        links = {path: entry.sha.hex() for path, entry in self.entries.items() if entry.mode == LINK}
        read = contents(self.guard.mirror, set(links.values())) if links else {}
        targets = {path: read[sha] for path, sha in links.items()}
        by_path = {one.path: one for one in self.found}
        deleted = [one.path for one in self.found if one.now is None]
        for path, why in links_astray(by_path.keys() & targets.keys(), targets, deleted, self.guard.rules):
            # one that is as it was leads elsewhere now: what it leads through is part of what is allowed
            yield self._objection("link", by_path.get(path) or Difference(path, Item(LINK, self.tree), ()), why)
        for path in sorted(by_path.keys() & targets.keys()):
            if names := self.guard.secrets.given_away(text_of(targets[path])):
                yield self._objection("secret", by_path[path], f"what it leads to holds {', '.join(names)}")
        for path, link, why in led_to(by_path, targets, self.guard.rules):
            yield self._objection("protected path", by_path[path], f"{why}: `{self._shown(link)}` leads to it")

    def _content(self, fresh: Mapping[str, int]) -> Iterator[Objection]:
        files = [one for one in self.found if one.now and one.is_file and one.now.sha in fresh]
        known = sizes(self.guard.mirror, {item.sha for one in files for item in one.versions if _is_blob(item)})
        for batch in batches(files, known):
            shas = {item.sha for one in batch for item in one.versions if _is_blob(item)}
            read = contents(self.guard.mirror, shas)
            written = [_written(one, read) for one in batch]
            looks = looks_in(written)
            for one, file in zip(batch, written, strict=True):
                yield from self._of_file(one, file, looks.get(one.path, ()))

    def _of_file(self, one: Difference, file: Written, looks: Sequence[str]) -> Iterator[Objection]:
        if one.is_new and file.is_binary and len(file.content) > _LARGE_NEW_FILE:
            yield self._objection("size", one, f"a new binary file of {len(file.content) / _MEGABYTE:,.1f} MB")
        if leaks := (*leaks_in(file, self.guard.secrets), *looks):
            yield self._objection("secret", one, _in_short(leaks))

    def _programs(self) -> Iterator[Objection]:
        """By what a file is called now: its content may have been harmless under another name."""
        files = [one for one in self.found if one.is_file and may_run(one.path)]
        known = {item.sha for one in self.found if may_run(one.path) for item in one.before}
        fresh = [one for one in files if one.now and one.now.sha not in known]
        read = contents(self.guard.mirror, {item.sha for one in fresh for item in one.versions if _is_blob(item)})
        for one in fresh:
            if found := programs_in(_written(one, read)):
                yield self._objection("program", one, _in_short(found))

    def _objection(self, rule: str, one: Difference, detail: str) -> Objection:
        holds = f"{one.now.mode:o} {one.now.sha}" if one.now else "nothing"
        return Objection(rule, self._shown(one.path), detail, f"{holds} {one.path.hex()}")

    def _shown(self, path: bytes) -> str:
        return _WITHHELD if path in self.telling else shown(path)


def _written(one: Difference, read: Mapping[str, bytes]) -> Written:
    assert one.now
    return Written(one.path, read[one.now.sha], [read[item.sha] for item in one.before if _is_blob(item)])


def _is_blob(item: Item) -> bool:
    return item.mode != SUBMODULE


def _telling(secrets: Secrets, found: Sequence[Difference]) -> Mapping[bytes, str]:
    """One look at all the names, and at each only where there is something."""
    names = {one.path: text_of(one.path) for one in found if one.now}
    together = "\n".join(names.values())
    exact = names if secrets.find(together) else {}
    looks = {list(names)[one.line - 1]: one.kind for one in suspicious(_on_one_line(name) for name in names.values())}
    held = {path: f"its name holds {', '.join(hits)}" for path, name in exact.items() if (hits := secrets.find(name))}
    return {path: f"its name looks like a secret ({kind})" for path, kind in looks.items()} | held


def _on_one_line(name: str) -> str:
    return " ".join(name.splitlines())


def _urgency(one: Objection) -> tuple[int, str]:
    rank = _MOST_URGENT.index(one.rule) if one.rule in _MOST_URGENT else len(_MOST_URGENT)
    return rank, one.path


def _listed(found: Sequence[Objection]) -> Sequence[Objection]:
    """What is too much to list is one objection together, which is overruled together."""
    rest = found[LISTED:]
    if not rest:
        return found
    together = hashlib.sha256("".join(sorted(one.id for one in rest)).encode()).hexdigest()
    rules = ", ".join(sorted({one.rule for one in rest}))
    return [*found[:LISTED], Objection("more", "", f"{len(rest):,} more objections ({rules})", together)]


def _in_short(found: Sequence[str]) -> str:
    more = f"; and {len(found) - _SAID} more" if len(found) > _SAID else ""
    return "; ".join(found[:_SAID]) + more
