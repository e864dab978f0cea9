"""Opens and keeps our pull requests, and removes the branches of those that are over."""

import logging
from urllib.parse import quote

from bot.errors import NeedsHuman, Retryable
from bot.services.github.cache import Row
from bot.services.github.errors import NotFound, Refused
from bot.services.github.pull_requests import Pulls
from bot.services.github.repository_api import Access
from bot.services.github.repository_info import Facts
from bot.text.pull_request_body import body_with

_INVALID = 422
_LONGEST = 65_000
"""Characters; GitHub refuses more than 65,536."""
_log = logging.getLogger(__name__)


class Offering:
    def __init__(self, access: Access, facts: Facts, pulls: Pulls) -> None:
        self._access = access
        self._facts = facts
        self._pulls = pulls

    async def ensure_draft(self, branch: str, *, base: str, title: str, body: str) -> None:
        known = self._pulls.find(branch)
        if known and known["open"]:
            known = await self._pulls.read(known["number"])
        if known and self._pulls.known.is_ours(known) and not known["open"]:
            raise Retryable(f"The pull request of {branch} has been closed or merged, and is the only one it gets.")
        if known is None or not self._pulls.known.is_ours(known):
            known = await self._opened(branch, base or self._facts.standing.base, title, body)
        await self._ensure_body(known, body)
        self._pulls.set_tip(branch, known["head"])

    async def remove_branch(self, branch: str) -> None:
        tip = await self._pulls.find_tip(branch)
        if not tip:
            self._pulls.set_tip(branch, "")
            return
        pull = self._pulls.find(branch) or await self._pulls.look_for(branch)
        pull = await self._pulls.read(pull["number"]) if pull else None
        if pull is None or pull["head"] != tip:
            _log.warning("branch %s of %s stays: it holds what no pull request does", branch, self._access.name)
            return
        await self._delete(branch)
        self._pulls.set_tip(branch, "")
        if pull["open"]:
            await self._pulls.read(pull["number"])

    async def _opened(self, branch: str, base: str, title: str, body: str) -> Row:
        """A branch has one open pull request at most: where there is one, it is ours."""
        whole = {"title": title or branch, "head": branch, "base": base, "body": _whole(body)}
        try:
            return await self._open({**whole, "draft": True})
        except Refused as refusal:
            said = str(refusal).lower().rpartition(" (http ")[0]  # without the address, which has names in it
            if "already exists" in said:
                return await self._found(branch, refusal)
            if "draft" in said:
                return await self._open(whole)
            if refusal.status != _INVALID:
                raise
            raise NeedsHuman(_in_plain_words(said, branch, base)) from refusal

    async def _open(self, whole: Row) -> Row:
        answer = await self._access.write("POST", "/pulls", whole)
        return self._pulls.keep(answer.data)

    async def _found(self, branch: str, refusal: Refused) -> Row:
        found = await self._pulls.look_for(branch)
        if found is None or not found["open"]:
            raise Retryable(f"GitHub does not show the pull request of {branch} yet.") from refusal
        return found

    async def _ensure_body(self, pull: Row, body: str) -> None:
        wanted = _whole(body, around=pull["body"])
        if wanted.strip() != pull["body"].replace("\r\n", "\n").strip():
            answer = await self._access.write("PATCH", f"/pulls/{pull['number']}", {"body": wanted})
            self._pulls.keep(answer.data)

    async def _delete(self, branch: str) -> None:
        try:
            await self._access.write("DELETE", f"/git/refs/heads/{quote(branch)}")
        except NotFound:
            return
        except Refused as refusal:
            if refusal.status != _INVALID:  # "Reference does not exist"
                raise


def _whole(ours: str, *, around: str = "") -> str:
    """What people wrote stays whole; our part makes room where it is too much for GitHub."""
    room = max(_LONGEST - len(body_with("", around=around)), 0)
    return body_with(ours[:room], around=around)


def _in_plain_words(said: str, branch: str, base: str) -> str:
    if "no commits between" in said:
        return f"There is nothing in {branch} that {base} does not have."
    if "base" in said:
        return f"A pull request cannot go into {base!r}: there is no such branch."
    return f"There is no branch {branch} to offer, or it cannot be merged into {base}: {said}"
