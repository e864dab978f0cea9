"""One GitHub: every request to it goes through here, in its turn and in our words."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Answer:
    """What GitHub said, or had said before when nothing has changed."""

    status: int
    data: Any
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    changed: bool = True
    """False: 304, and `data` is what we remembered."""
    next: str = ""
    """The path of the next page, ready for `get`."""
    moved: str = ""
    """The path it was redirected to (renamed, transferred); empty: it was where we asked."""


@dataclass(frozen=True, slots=True)
class Account:
    """Whom GitHub takes us for."""

    login: str
    id: int
    kind: str
    scopes: tuple[str, ...] = ()
    """Of a classic token; of an App, its permissions."""


class Service(Protocol):
    """What the rest of this room, and nothing else, may ask of GitHub.

    Every call names the repository it is for (`owner/name`; empty: none), because an App's token is minted per
    repository and because trouble with one repository must not hold up another.
    """

    async def get(self, path: str, *, repository: str = "", params: Mapping[str, str] | None = None) -> Answer:
        """Conditional where we remember an answer: a 304 comes back as that answer, with `changed` false.

        Raises NotFound (404, 410, 451), Refused (other 4xx), RateLimited, or Retryable.
        """
        ...

    def pages(
        self, path: str, *, repository: str = "", params: Mapping[str, str] | None = None
    ) -> AsyncIterator[Answer]:
        """Page after page, each conditional on its own, as the server's own links lead."""
        ...

    async def write(self, verb: str, path: str, body: Mapping[str, Any] | None = None, *, repository: str) -> Answer:
        """Paced. Raises Unknown when it may have been done all the same (no answer, or 5xx), else as `get`."""
        ...

    async def graphql(self, query: str, variables: Mapping[str, Any], *, repository: str = "") -> Any:
        """The `data` of the answer. Raises NoGraphQL where the server cannot answer this query at all."""
        ...

    async def tail(self, path: str, *, repository: str, most: int) -> str:
        """The last characters of a text, such as a log, which GitHub keeps elsewhere: our token does not go there."""
        ...

    async def token_for(self, repository: str, *, for_push: bool = False) -> str:
        """A credential that is good right now. For a push it is minted anew, where it can be."""
        ...

    async def who(self) -> Account:
        """Asked once in a life."""
        ...

    def local(self, server_time: str) -> float:
        """An ISO time of the server as seconds of our own clock, whatever the two clocks differ by."""
        ...

    def now(self) -> float:
        """Seconds of our own clock."""
        ...
