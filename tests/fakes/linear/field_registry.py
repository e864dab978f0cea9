"""Registry of resolvers: Linear's types and fields, and the request that they respond to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from graphql import GraphQLResolveInfo

from tests.fakes.linear.clock import iso
from tests.fakes.linear.errors import Gap, Refusal, forbidden, not_found
from tests.fakes.linear.limits import Limits
from tests.fakes.linear.model import Comment, Issue, Label, Lasting, LinearProject, Team, Token, User, Who
from tests.fakes.linear.world import LinearWorld

Resolver = Callable[..., Any]
Thing = TypeVar("Thing", bound=Lasting)

FIELDS: dict[str, dict[str, Resolver]] = {}
"""Resolvers keyed by type and field, called with the request, the parent and the arguments."""


@dataclass
class Ask:
    world: LinearWorld
    token: Token
    limits: Limits
    gaps: list[str] = field(default_factory=list)

    @property
    def viewer(self) -> User:
        return self.token.user

    @property
    def who(self) -> Who:
        return Who(self.viewer)

    def needs(self, *scopes: str) -> None:
        """True if the token has one of these scopes, or a wider one."""
        if not {*scopes, "admin"} & {*self.token.scopes}:
            raise forbidden(f"Invalid scope: `{scopes[0]}` required")

    # Visibility for the client

    def sees(self, thing: Lasting) -> bool:
        if isinstance(thing, User):
            return not self.viewer.guest or thing is self.viewer or self._works_with(thing)
        return any(self.world.sees_team(self.viewer, home) for home in _homes(thing))

    def _works_with(self, user: User) -> bool:
        return any({user, self.viewer} <= {*team.members} for team in self.world.teams)

    def issue(self, known_as: str) -> Issue:
        found = self.world.find_issue(known_as)
        if found is None or not self.sees(found):
            raise not_found("Issue")
        return found

    def found(self, things: list[Thing], key: str, kind: str) -> Thing:
        for one in things:
            if one.id == key.lower() and self.sees(one):
                return one
        raise not_found(kind)

    def comment(self, key: str) -> Comment:
        return self.found(self.world.all_comments, key, "Comment")

    def labels(self, keys: list[str]) -> list[Label]:
        return [self.found(self.world.all_labels, key, "IssueLabel") for key in keys]


def _homes(thing: Lasting) -> list[Team | None]:
    """Returns the teams of an object; none if it belongs to the workspace."""
    if isinstance(thing, LinearProject):
        return [*thing.teams]
    of = getattr(thing, "issue", thing)
    return [of if isinstance(of, Team) else getattr(of, "team", None)]


def resolve(source: Any, info: GraphQLResolveInfo, **args: Any) -> Any:
    """Resolves a field; a field without a resolver is an error, not a null."""
    ask: Ask = info.context
    kind, name = info.parent_type.name, info.field_name
    try:
        return _answer(ask, source, kind, name, {_python(name): value for name, value in args.items()})
    except Gap as gap:
        ask.gaps.append(f"the stand-in lacks {kind}.{name}: {gap}")
        raise Refusal(f"The stand-in lacks {kind}.{name}", code="GAP", kind="internal error", status=500) from gap


def _python(name: str) -> str:
    """Returns the Python name of an argument."""
    return {"id": "key", "hash": "mark", "input": "given"}.get(name) or _snake(name)


def _answer(ask: Ask, source: Any, kind: str, name: str, args: dict[str, Any]) -> Any:
    general = next((end for end in ("Connection", "Edge") if kind.endswith(end)), kind)
    resolver = FIELDS.get(general, {}).get(name)
    if resolver is not None:
        return resolver(ask, source, **args)
    if isinstance(source, Mapping) and name in source:
        return source[name]
    raise Gap("nobody answers it")


# Helpers for the tables


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _constant(value: Any) -> Resolver:
    return lambda ask, source, **args: value


def _attribute(name: str) -> Resolver:
    return lambda ask, source: getattr(source, name)


def _time(name: str) -> Resolver:
    return lambda ask, source: None if (at := getattr(source, name)) is None else iso(at)


def _id(name: str) -> Resolver:
    return lambda ask, source: (one := getattr(source, name)) and one.id


def plain(names: str) -> dict[str, Resolver]:
    """Registers fields that are attributes of the same name."""
    return {name: _attribute(_snake(name)) for name in names.split()}


def times(names: str) -> dict[str, Resolver]:
    return {name: _time(_snake(name)) for name in names.split()}


def nothing(names: str) -> dict[str, Resolver]:
    """Registers fields that are null in this workspace, as in one that does not use them."""
    return {name: _constant(None) for name in names.split()}


def always(**values: Any) -> dict[str, Resolver]:
    return {name: _constant(value) for name, value in values.items()}


def ids_of(names: str) -> dict[str, Resolver]:
    """Registers `parentId` beside `parent`."""
    return {f"{name}Id": _id(_snake(name)) for name in names.split()}


LASTING = plain("id") | times("createdAt updatedAt archivedAt")
