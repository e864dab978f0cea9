"""Who may push, and who may steer: whoever may push, and whoever the settings name. Unknown means no."""

from collections.abc import Collection
from urllib.parse import quote

from bot.clients.github.access import Access
from bot.clients.github.notebook import Row
from bot.errors import NeedsHuman

_MAY_PUSH = {"admin", "maintain", "write", "push"}
_SECONDS_KNOWN = 600.0


class People:
    def __init__(self, access: Access, trusted: Collection[str]) -> None:
        self._access = access
        self._trusted = {name.lower() for name in trusted}
        self._known: dict[str, tuple[float, bool]] = {}

    async def may_steer(self, author: Row) -> bool:
        return self._is_named(author) or await self.may_push(author)

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

    async def _ask(self, login: str) -> bool:
        try:
            answer = await self._access.get(f"/collaborators/{quote(login, safe='')}/permission")
        except NeedsHuman:
            return False
        data = answer.data if isinstance(answer.data, dict) else {}
        return data.get("permission") in _MAY_PUSH
