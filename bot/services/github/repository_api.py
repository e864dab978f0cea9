"""Requests and cache of one repository: shared by everything that reads or writes it."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

from bot.errors import Retryable
from bot.services.github.cache import Cache
from bot.services.github.client import ApiAnswer, GitHubClient
from bot.services.github.errors import Archived
from bot.services.github.mutations import Mutation, MutationBatch, MutationResult
from bot.services.github.repository_names import RepositoryNames
from bot.services.github.write_queue import WriteRank
from bot.services.http.service_reply import sendable

_NO_CONTENT = 204


class RepositoryApi:
    def __init__(self, client: GitHubClient, names: RepositoryNames, cache: Cache) -> None:
        self.client = client
        self.names = names
        self.name = names.configured
        self.address = names.configured
        """Its current name: it may have been renamed since the settings were written."""
        self.is_stale = False
        """An answer showed that the repository has changed: its information is read again."""
        self.cache = cache
        self._keys: Mapping[int, str] = {}

    def path(self, rest: str = "") -> str:
        return f"/repos/{self.address}{rest}"

    def key(self, number: int) -> str:
        return self._keys.get(number, f"{self.names.first}#{number}")

    def number(self, key: str) -> int:
        """0 if it is no issue of this repository."""
        repository, _, number = key.rpartition("#")
        return int(number) if repository.lower() in self.names.known and number.isdigit() else 0

    def set_keys(self, keys: Collection[str]) -> None:
        """A run keeps the key that it began with, under whichever name of the repository."""
        self._keys = {number: key for key in keys if (number := self.number(key))}

    async def get(self, rest: str, params: Mapping[str, str] | None = None) -> ApiAnswer:
        return self._follow(await self.client.get(self.path(rest), repository=self.name, params=params))

    async def pages(self, rest: str, params: Mapping[str, str] | None = None) -> AsyncIterator[ApiAnswer]:
        wanted = {"per_page": "100", **(params or {})}
        async for answer in self.client.pages(self.path(rest), repository=self.name, params=wanted):
            yield self._follow(answer)

    async def write(
        self,
        verb: str,
        rest: str,
        body: Mapping[str, Any] | None = None,
        *,
        rank: WriteRank = WriteRank.ANSWER,
    ) -> ApiAnswer:
        path = self.path(rest)
        try:
            return self._follow(await self.client.write(verb, path, sendable(body), repository=self.name, rank=rank))
        except Archived as archived:
            self.is_stale = True
            raise Retryable(str(archived)) from archived  # a comment about it would be refused as well

    async def delete(self, rest: str) -> None:
        """Raises Retryable if GitHub does not say that it is gone: a proxy's answer is none."""
        answer = await self.write("DELETE", rest, rank=WriteRank.EDIT)
        if answer.status != _NO_CONTENT:
            raise Retryable(f"GitHub answered DELETE of {rest} with HTTP {answer.status}.")

    def _follow(self, answer: ApiAnswer) -> ApiAnswer:
        """A redirected answer says that the repository was renamed: its name is read before the next poll."""
        self.is_stale = self.is_stale or bool(answer.moved)
        return answer

    def batch(self, rank: WriteRank) -> MutationBatch:
        """Mutations of this rank that wait at the same time are one request."""

        async def send(mutations: Sequence[Mutation]) -> Sequence[MutationResult]:
            return await self.client.mutate(mutations, repository=self.name, rank=rank)

        return MutationBatch(send)

    async def graphql(self, query: str, variables: Mapping[str, Any]) -> Any:
        return await self.client.graphql(query, variables, repository=self.name)
