"""Permissions: human members of the workspace are trusted, and those the settings name. Rule: unknown means no.

A member and a GitHub login are the same person only if the settings say so, or if their verified e-mail addresses are
equal; never because of equal names.
"""

from collections.abc import Awaitable, Callable, Collection

from bot.services.linear.cache import Row

MayPush = Callable[[str, str], Awaitable[bool]]
"""Takes a person's id and e-mail address; true if they may push to the project's repository."""


class Permissions:
    def __init__(self, trusted: Collection[str], may_push: MayPush) -> None:
        """`trusted`: e-mail addresses or ids; integrations are named by id only."""
        self._trusted = {name.lower() for name in trusted}
        self._may_push = may_push

    def may_steer(self, author: Row) -> bool:
        if not author["id"] or not author["active"]:
            return False
        is_member = not author["guest"] and not author["app"]
        return (
            is_member
            or author["id"].lower() in self._trusted
            or (not author["app"] and author["email"] in self._trusted)
        )

    async def may_push(self, author: Row) -> bool:
        return self.may_steer(author) and not author["app"] and await self._may_push(author["id"], author["email"])
