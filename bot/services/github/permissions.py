"""Permissions: people with push access are trusted, and those that the settings name. Rule: unknown means no.

A yes counts for seconds, and for nothing that is decided about money, a start or a publication: those ask again. A no
counts longer, because people without permission must not cause requests.
"""

from collections.abc import Collection, Mapping
from urllib.parse import quote

from bot.errors import NeedsHuman
from bot.services.github.cache import Row
from bot.services.github.errors import NoGraphQL, NotFound, NotTold
from bot.services.github.graphql_queries import COLLABORATORS
from bot.services.github.repository_api import RepositoryApi

_MAY_PUSH = {"admin", "maintain", "write", "push"}
_MAX_AGES: Mapping[bool | None, float] = {True: 10.0, False: 600.0, None: 30.0}
"""Seconds for which an answer counts; None: GitHub does not tell."""
_LOGINS_SECONDS = 600.0
_MAX_PAGES = 10


class Permissions:
    def __init__(self, api: RepositoryApi, trusted: Collection[str]) -> None:
        self._api = api
        self._trusted = {name.lower() for name in trusted}
        self._may_push: dict[str, tuple[float, bool | None]] = {}
        self._logins: tuple[float, Mapping[str, str]] = (0.0, {})

    async def may_steer(self, author: Row, *, fresh: bool = False) -> bool:
        """`fresh`: asks GitHub now. Raises NotTold if it does not tell."""
        return self._is_named(author) or await self.may_push(author, fresh=fresh)

    async def login_of(self, email: str) -> str:
        """Login of the collaborator with this verified address; empty if there is none, or more than one."""
        at, logins = self._logins
        if not at or not 0 <= self._api.client.now() - at < _LOGINS_SECONDS:
            logins = await self._read_logins()
            self._logins = (self._api.client.now(), logins)
        return logins.get(email.lower(), "")

    async def may_push(self, author: Row, *, fresh: bool = False) -> bool:
        """As `may_steer`."""
        login = str(author["login"]).lower()
        if not login or login.endswith("[bot]"):  # a name does not prove the owner of a bot
            return False
        at, answer = self._may_push.get(login, (0.0, None))
        if fresh or not at or not 0 <= self._api.client.now() - at < _MAX_AGES[answer]:
            answer = await self._read_permission(login)
            self._may_push[login] = (self._api.client.now(), answer)
        if answer is None:
            raise NotTold(f"GitHub does not return whether {login} has push access to {self._api.name}.")
        return answer

    def _is_named(self, author: Row) -> bool:
        """A number in the settings is an id: a login of digits may belong to anybody."""
        login = str(author["login"]).lower()
        named = login in self._trusted and not login.isdigit()
        return bool(login) and (named or str(author["id"]) in self._trusted)

    async def _read_logins(self) -> Mapping[str, str]:
        """Logins keyed by address. GitHub shows verified addresses only."""
        owner, _, name = self._api.address.partition("/")
        found: list[tuple[str, str]] = []
        after = None
        try:
            for _ in range(_MAX_PAGES):
                variables = {"owner": owner, "name": name, "after": after}
                page = (await self._api.graphql(COLLABORATORS, variables))["repository"]["collaborators"]
                found += [
                    (node["email"].lower(), node["login"]) for node in (page or {}).get("nodes") or () if node["email"]
                ]
                if not page or not page["pageInfo"]["hasNextPage"]:
                    break
                after = page["pageInfo"]["endCursor"]
        except (NoGraphQL, NeedsHuman):
            return {}
        addresses = [email for email, _ in found]
        return {email: login for email, login in found if addresses.count(email) == 1}

    async def _read_permission(self, login: str) -> bool | None:
        """Returns None if the token may not read it; a login that no longer exists has no permission."""
        try:
            answer = await self._api.get(f"/collaborators/{quote(login, safe='')}/permission")
        except NotFound:
            return False
        except NeedsHuman:
            return None
        data = answer.data if isinstance(answer.data, dict) else {}
        return data.get("permission") in _MAY_PUSH
