"""Symbolic links of a tree that lead where none should. Pure: their targets are read by whoever asks."""

from collections.abc import Collection, Iterator, Mapping

from bot.domain.links import Lead, follow
from bot.domain.paths import canonical
from bot.domain.protection import Rules, holds_protected, why_protected
from bot.workspace.naming import text_of


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
    gone = {canonical(text_of(path)) for path in deleted}
    for path in sorted(targets):
        lead = follow(text_of(path), leading)
        if path in changed:
            why = _of_lead(lead, rules) or _of_place(text_of(path), gone, rules)
        else:
            why = _of_lead(lead, rules) if lead.through & anew else ""
        if why:
            yield path, why


def _of_lead(lead: Lead, rules: Rules) -> str:
    if lead.outside:
        return lead.outside
    if ".git" in lead.where.split("/"):
        return "leads into git's own folder"
    return f"leads to a protected path ({why})" if (why := why_protected(lead.where, rules)) else ""


def _of_place(path: str, gone: Collection[str], rules: Rules) -> str:
    inside = f"{canonical(path)}/"
    if any(one.startswith(inside) for one in gone):
        return "takes the place of a folder"
    return "takes the place of a folder with protected paths in it" if holds_protected(path, rules) else ""
