"""Requests and cache of one repository: shared by everything that reads or writes it."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from bot.errors import Retryable
from bot.services.github.cache import Cache
from bot.services.github.client import ApiAnswer, GitHubClient
from bot.services.github.errors import Archived
from bot.services.http.service_reply import sendable


class RepositoryApi:
    def __init__(self, client: GitHubClient, name: str, cache: Cache) -> None:
        self.client = client
        self.name = name
        self.address = name
        """Its current name: it may have been renamed since the settings were written."""
        self.is_stale = False
        """An answer showed that the repository has changed: its information is read again."""
        self.cache = cache

    def path(self, rest: str = "") -> str:
        return f"/repos/{self.address}{rest}"

    def key(self, number: int) -> str:
        return f"{self.name}#{number}"

    def number(self, key: str) -> int:
        """0 if it is no issue of this repository."""
        repository, _, number = key.rpartition("#")
        return int(number) if repository.lower() == self.name.lower() and number.isdigit() else 0

    async def get(self, rest: str, params: Mapping[str, str] | None = None) -> ApiAnswer:
        return await self.client.get(self.path(rest), repository=self.name, params=params)

    def pages(self, rest: str, params: Mapping[str, str] | None = None) -> AsyncIterator[ApiAnswer]:
        return self.client.pages(self.path(rest), repository=self.name, params={"per_page": "100", **(params or {})})

    async def write(self, verb: str, rest: str, body: Mapping[str, Any] | None = None) -> ApiAnswer:
        try:
            return await self.client.write(verb, self.path(rest), sendable(body), repository=self.name)
        except Archived as archived:
            self.is_stale = True
            raise Retryable(str(archived)) from archived  # a comment about it would be refused as well

    async def graphql(self, query: str, variables: Mapping[str, Any]) -> Any:
        return await self.client.graphql(query, variables, repository=self.name)
