"""Who may steer: members of the workspace who are people, and whoever the settings name. Unknown means no.

Rule: somebody here and somebody on the forge are the same person only if the settings say so, or their verified e-mail
addresses are equal; never because they are called alike.
"""

from collections.abc import Awaitable, Callable, Collection

from bot.services.linear.cache import Row

MayPush = Callable[[str, str], Awaitable[bool]]
"""Whether the person with this id, and this e-mail address, may push to the project's repository."""


class People:
    def __init__(self, trusted: Collection[str], may_push: MayPush) -> None:
        """`trusted`: e-mail addresses, or ids; of integrations, ids."""
        self._trusted = {name.lower() for name in trusted}
        self._may_push = may_push

    def may_steer(self, who: Row) -> bool:
        if not who["id"] or not who["active"]:
            return False
        is_member = not who["guest"] and not who["app"]
        return is_member or who["id"].lower() in self._trusted or (not who["app"] and who["email"] in self._trusted)

    async def may_push(self, who: Row) -> bool:
        return self.may_steer(who) and not who["app"] and await self._may_push(who["id"], who["email"])
