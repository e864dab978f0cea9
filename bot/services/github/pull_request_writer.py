"""Opens our draft pull requests, updates our part of their text, and removes the branches of finished ones."""

import logging
from urllib.parse import quote

from bot.errors import BotError, NeedsHuman, NoBranch, Retryable
from bot.services.github.cache import Row
from bot.services.github.errors import NotFound, Refused
from bot.services.github.pull_requests import PullRequests
from bot.services.github.renamed_branches import RenamedBranches
from bot.services.github.repository_api import RepositoryApi
from bot.services.github.repository_info import RepositoryInfo
from bot.services.github.write_queue import WriteRank
from bot.text.pull_request_section import replace_section

_INVALID = 422
_HEAD_UNSEEN = ("head sha can't be blank", "head ref must be a branch", "head_sha", "head invalid")
_MAX_CHARACTERS = 65_000
"""GitHub refuses more than 65,536."""
_log = logging.getLogger(__name__)


class PullRequestWriter:
    def __init__(self, api: RepositoryApi, info: RepositoryInfo, pulls: PullRequests) -> None:
        self._api = api
        self._info = info
        self._pulls = pulls
        self.renamed_branches = RenamedBranches(api, info, pulls)

    async def ensure_draft(self, branch: str, *, base: str, title: str, body: str) -> None:
        known = self._pulls.find(branch)
        if known and known["open"]:
            known = await self._pulls.read(known["number"])
        if known and self._pulls.known.is_ours(known) and not known["open"]:
            raise Retryable(f"The pull request of {branch} has been closed or merged. A branch gets only one.")
        if known is None or not self._pulls.known.is_ours(known):
            known = await self._open(branch, base or self._info.status.base, title, body)
        await self._ensure_body(known, body)
        self._pulls.set_tip(branch, known["head"])

    async def remove_branch(self, branch: str) -> None:
        tip = await self._pulls.find_tip(branch)
        if not tip:
            self._pulls.set_tip(branch, "")
            return
        pull = self._pulls.find(branch) or await self._pulls.search(branch)
        pull = await self._pulls.read(pull["number"]) if pull else None
        if pull is None or pull["head"] != tip:
            _log.warning(
                "branch kept branch=%s repository=%s: no pull request has its last commit", branch, self._api.name
            )
            return
        await self._delete(branch)
        self._pulls.set_tip(branch, "")
        if pull["open"]:
            await self._pulls.read(pull["number"])

    async def _open(self, branch: str, base: str, title: str, body: str) -> Row:
        """A branch has one open pull request at most: an existing one is ours."""
        fields = {"title": title or branch, "head": branch, "base": base, "body": _fitted(body)}
        try:
            return await self._post({**fields, "draft": True})
        except Refused as refusal:
            return await self._open_otherwise(fields, refusal)

    async def _open_otherwise(self, fields: Row, refusal: Refused) -> Row:
        branch, base = fields["head"], fields["base"]
        words = str(refusal).rpartition(" (HTTP ")[0]  # without the path, which contains names
        reason = words.lower()
        if "already exists" in reason:
            return await self._find_existing(branch, refusal)
        if "draft pull request" in reason:
            return await self._post(fields)
        if "base" in reason and (renamed := await self.renamed_branches.find(base)):
            return await self._post({**fields, "base": renamed, "draft": True})
        if refusal.status != _INVALID:
            raise refusal
        if any(sign in reason for sign in _HEAD_UNSEEN):
            raise await self._unseen(branch, words) from refusal
        raise _explained(words, branch, base) from refusal

    async def _unseen(self, branch: str, words: str) -> BotError:
        """Returns the error: right after a push, GitHub may not find the branch yet."""
        if await self._pulls.find_tip(branch):
            return Retryable(f"GitHub does not see the branch {branch} yet: {words}")
        return NeedsHuman(f"{self._api.name} has no branch {branch}. Was it pushed there? {words}")

    async def _post(self, fields: Row) -> Row:
        answer = await self._api.write("POST", "/pulls", fields, rank=WriteRank.OFFER)
        return self._pulls.keep(answer.data)

    async def _find_existing(self, branch: str, refusal: Refused) -> Row:
        pull = await self._pulls.search(branch)
        if pull is None or not pull["open"]:
            raise Retryable(f"GitHub does not list the pull request of {branch} yet.") from refusal
        return pull

    async def _ensure_body(self, pull: Row, body: str) -> None:
        wanted = _fitted(body, around=pull["body"])
        if wanted.strip() != pull["body"].replace("\r\n", "\n").strip():
            path = f"/pulls/{pull['number']}"
            answer = await self._api.write("PATCH", path, {"body": wanted}, rank=WriteRank.OFFER)
            self._pulls.keep(answer.data)

    async def _delete(self, branch: str) -> None:
        try:
            await self._api.delete(f"/git/refs/heads/{quote(branch)}")
        except NotFound:
            return
        except Refused as refusal:
            if "does not exist" not in str(refusal):
                raise


def _fitted(ours: str, *, around: str = "") -> str:
    """People's text stays complete; our part is cut if GitHub would refuse the length."""
    room = max(_MAX_CHARACTERS - len(replace_section("", around=around)), 0)
    return replace_section(ours[:room], around=around)


def _explained(words: str, branch: str, base: str) -> NeedsHuman:
    reason = words.lower()
    if "no commits between" in reason:
        return NeedsHuman(f"Branch {branch} has no commits beyond {base}.")
    if "base" in reason:
        return NoBranch(base)
    return NeedsHuman(f"GitHub refused the pull request from {branch} into {base}: {words}")
