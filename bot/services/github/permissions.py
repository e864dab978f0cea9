"""Who may push, and who may steer: whoever may push, and whoever the settings name. Unknown means no."""

from collections.abc import Collection, Mapping
from urllib.parse import quote

from bot.errors import NeedsHuman
from bot.services.github.cache import Row
from bot.services.github.errors import NoGraphQL
from bot.services.github.graphql_queries import COLLABORATORS
from bot.services.github.repository_api import Access

_MAY_PUSH = {"admin", "maintain", "write", "push"}
_SECONDS_KNOWN = 600.0
_PAGES = 10


class People:
    def __init__(self, access: Access, trusted: Collection[str]) -> None:
        self._access = access
        self._trusted = {name.lower() for name in trusted}
        self._known: dict[str, tuple[float, bool]] = {}
        self._addresses: tuple[float, Mapping[str, str]] = (0.0, {})

    async def may_steer(self, author: Row) -> bool:
        return self._is_named(author) or await self.may_push(author)

    async def login_of(self, email: str) -> str:
        """Whose verified address this is, among those who work here; empty: nobody's, or several people's."""
        at, known = self._addresses
        if not at or not 0 <= self._access.service.now() - at < _SECONDS_KNOWN:
            known = await self._ask_addresses()
            self._addresses = (self._access.service.now(), known)
        return known.get(email.lower(), "")

    async def may_push(self, author: Row) -> bool:
        login = str(author["login"]).lower()
        if not login or login.endswith("[bot]"):  # what a name ends in says nothing about whose bot it is
            return False
        at, answer = self._known.get(login, (0.0, False))
        if not at or not 0 <= self._access.service.now() - at < _SECONDS_KNOWN:
            answer = await self._ask(login)
            self._known[login] = (self._access.service.now(), answer)
        return answer

    def _is_named(self, author: Row) -> bool:
        """A number is an id: a name may consist of digits as well, and be anybody's."""
        login = str(author["login"]).lower()
        named = login in self._trusted and not login.isdigit()
        return bool(login) and (named or str(author["id"]) in self._trusted)

    async def _ask_addresses(self) -> Mapping[str, str]:
        """The address that GitHub shows of somebody is one that they have proven to be theirs."""
        owner, _, name = self._access.address.partition("/")
        found: list[tuple[str, str]] = []
        after = None
        try:
            for _ in range(_PAGES):
                asked = {"owner": owner, "name": name, "after": after}
                page = (await self._access.graphql(COLLABORATORS, asked))["repository"]["collaborators"]
                found += [
                    (one["email"].lower(), one["login"]) for one in (page or {}).get("nodes") or () if one["email"]
                ]
                if not page or not page["pageInfo"]["hasNextPage"]:
                    break
                after = page["pageInfo"]["endCursor"]
        except (NoGraphQL, NeedsHuman):
            return {}
        addresses = [email for email, _ in found]
        return {email: login for email, login in found if addresses.count(email) == 1}

    async def _ask(self, login: str) -> bool:
        try:
            answer = await self._access.get(f"/collaborators/{quote(login, safe='')}/permission")
        except NeedsHuman:
            return False
        data = answer.data if isinstance(answer.data, dict) else {}
        return data.get("permission") in _MAY_PUSH
