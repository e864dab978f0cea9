"""Symbolic links of a tree that lead where none should. Pure: their targets are read by whoever asks."""

from collections.abc import Collection, Iterator, Mapping

from bot.publish_guard.path_collisions import text_of, with_folders
from bot.publish_guard.path_rules import canonical
from bot.publish_guard.protected_paths import PACKAGE, Rules, holds_protected, why_protected
from bot.publish_guard.symlinks import Lead, follow


def links_astray(
    changed: Collection[bytes], targets: Mapping[bytes, bytes], deleted: Collection[bytes], rules: Rules
) -> Iterator[tuple[bytes, str]]:
    """Every link that is changed, or whose way goes through one that is, and what speaks against it.

    `targets`: of all links of the tree.
    """
    if not changed:
        return
    leading = {canonical(text_of(path)): text_of(target) for path, target in targets.items()}
    anew = {canonical(text_of(path)) for path in changed}
    gone = {folder for path in deleted for folder in _with_folders(path)[:-1]}
    for path in sorted(targets):
        lead = follow(text_of(path), leading)
        if path in changed:
            why = _of_lead(path, lead, rules) or _of_place(text_of(path), gone, rules)
        else:
            why = _of_lead(path, lead, rules) if lead.through & anew else ""
        if why:
            yield path, why


def led_to(
    changed: Collection[bytes], targets: Mapping[bytes, bytes], rules: Rules
) -> Iterator[tuple[bytes, bytes, str]]:
    """What is changed where a link of a protected name leads to, the link, and what obeys it, and so the other."""
    leading = {canonical(text_of(path)): text_of(target) for path, target in targets.items()}
    named = {path: why for path in sorted(targets) if (why := why_protected(text_of(path), rules))}
    places = {follow(text_of(path), leading).where: (path, why) for path, why in named.items()}
    for path in sorted(changed) if places else ():
        if why_protected(text_of(path), rules):
            continue  # that is said already
        if found := next((places[folder] for folder in _with_folders(path) if folder in places), None):
            yield path, *found


def _of_lead(path: bytes, lead: Lead, rules: Rules) -> str:
    if lead.outside:
        return lead.outside
    if ".git" in lead.where.split("/"):
        return "leads into git's own folder"
    if _name(path) == PACKAGE and _name(lead.where) != PACKAGE:
        return f"stands for a `{PACKAGE}`, whose scripts are looked at under no other name"
    return f"leads to a protected path ({why})" if (why := why_protected(lead.where, rules)) else ""


def _of_place(path: str, gone: Collection[str], rules: Rules) -> str:
    if canonical(path) in gone:
        return "takes the place of a folder"
    return "takes the place of a folder with protected paths in it" if holds_protected(path, rules) else ""


def _with_folders(path: bytes) -> list[str]:
    """In their canonical spelling, the path last."""
    return [text_of(one) for one in with_folders(canonical(text_of(path)).encode(errors="surrogateescape"))]


def _name(path: bytes | str) -> str:
    return canonical(path if isinstance(path, str) else text_of(path)).rpartition("/")[2]
