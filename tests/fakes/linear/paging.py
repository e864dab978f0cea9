"""Connections: filters a list by its arguments and cuts it into pages."""

import base64
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tests.fakes.linear.clock import milliseconds
from tests.fakes.linear.errors import Gap, bad_argument
from tests.fakes.linear.field_registry import FIELDS, Ask, Resolver
from tests.fakes.linear.filters import matches
from tests.fakes.linear.model import Lasting

LONGEST, USUAL = 250, 50
_KNOWN = {"first", "last", "after", "before", "order_by", "include_archived", "filter"}


@dataclass(frozen=True)
class Page:
    things: list[Lasting]
    cursors: list[str]
    more_after: bool
    more_before: bool


def connection(
    kind: str, find: Callable[..., Iterable[Lasting]], *, lagging: bool = True, taking: str = ""
) -> Resolver:
    """Makes a field that is a connection: `find` returns all objects, by the arguments named in `taking`."""
    own = set(taking.split())

    def resolve(ask: Ask, source: Any, **args: Any) -> Page:
        unknown = {name for name in args.keys() - _KNOWN - own if args[name]}
        if unknown:
            raise Gap(f"arguments {sorted(unknown)}")
        things = [one for one in find(ask, source, **{name: args.get(name) for name in own}) if ask.sees(one)]
        shown = ask.world.listed(things) if lagging else things
        return _page(_kept(ask, kind, shown, args), args)

    return resolve


def _kept(ask: Ask, kind: str, things: Iterable[Lasting], args: dict[str, Any]) -> list[Lasting]:
    kept = [one for one in things if args.get("include_archived") or one.archived_at is None]
    if args.get("filter"):
        kept = [one for one in kept if matches(ask, kind, args["filter"], one)]
    return kept


def _page(things: list[Lasting], args: dict[str, Any]) -> Page:
    """Returns a page, newest first. A cursor is a place in that order, which changes elsewhere do not move."""
    size, backward = _size(args)
    order = args.get("order_by") or "createdAt"
    placed = sorted(((_place(one, order), one) for one in things), key=lambda pair: pair[0], reverse=True)
    after, before = _place_of(args.get("after"), order), _place_of(args.get("before"), order)
    within = [(place, one) for place, one in placed if (not after or place < after) and (not before or place > before)]
    cut = within[-size:] if backward and size else within[:size]
    return Page(
        [one for _, one in cut],
        [_cursor(place, order) for place, _ in cut],
        more_after=bool(cut) and cut[-1][0] > placed[-1][0],
        more_before=bool(cut) and cut[0][0] < placed[0][0],
    )


def _size(args: dict[str, Any]) -> tuple[int, bool]:
    first, last = args.get("first"), args.get("last")
    if first is not None and last is not None:
        raise bad_argument("first and last cannot be used together.")
    size = USUAL if first is None and last is None else first if last is None else last
    if not 0 <= size <= LONGEST:
        raise bad_argument(f"{'first' if last is None else 'last'} must not be greater than {LONGEST}.")
    return size, last is not None or (first is None and args.get("before") is not None)


def _place(thing: Lasting, order: str) -> tuple[int, int]:
    return milliseconds(thing.updated_at if order == "updatedAt" else thing.created_at), thing.nr


def _cursor(place: tuple[int, int], order: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([order, *place]).encode()).decode()


def _place_of(cursor: str | None, order: str) -> tuple[int, int] | None:
    if cursor is None:
        return None
    try:
        of, at, nr = json.loads(base64.urlsafe_b64decode(cursor))
    except ValueError as problem:
        raise bad_argument("the cursor is not one of ours.") from problem
    if of != order:
        raise bad_argument("the cursor belongs to another order.")
    return at, nr


FIELDS["Connection"] = {
    "nodes": lambda ask, page: page.things,
    "edges": lambda ask, page: [
        {"node": one, "cursor": cursor} for one, cursor in zip(page.things, page.cursors, strict=True)
    ],
    "pageInfo": lambda ask, page: {
        "hasNextPage": page.more_after,
        "hasPreviousPage": page.more_before,
        "startCursor": page.cursors[0] if page.cursors else None,
        "endCursor": page.cursors[-1] if page.cursors else None,
    },
}
