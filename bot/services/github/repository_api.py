"""One repository's way to GitHub and to what is known of it: what every part of a look shares."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from bot.errors import Retryable
from bot.services.github.cache import Notebook
from bot.services.github.errors import Archived
from bot.services.github.service import Answer, Service


class Access:
    def __init__(self, service: Service, name: str, notebook: Notebook) -> None:
        self.service = service
        self.name = name
        self.address = name
        """Where it is now: it may have been renamed since the settings were written."""
        self.doubtful = False
        """Something showed that the repository is not what it was."""
        self.notebook = notebook

    def path(self, rest: str = "") -> str:
        return f"/repos/{self.address}{rest}"

    def key(self, number: int) -> str:
        return f"{self.name}#{number}"

    def number(self, key: str) -> int:
        """0: it is no issue of this repository."""
        repository, _, number = key.rpartition("#")
        return int(number) if repository.lower() == self.name.lower() and number.isdigit() else 0

    async def get(self, rest: str, params: Mapping[str, str] | None = None) -> Answer:
        return await self.service.get(self.path(rest), repository=self.name, params=params)

    def pages(self, rest: str, params: Mapping[str, str] | None = None) -> AsyncIterator[Answer]:
        return self.service.pages(self.path(rest), repository=self.name, params={"per_page": "100", **(params or {})})

    async def write(self, verb: str, rest: str, body: Mapping[str, Any] | None = None) -> Answer:
        try:
            return await self.service.write(verb, self.path(rest), _sendable(body), repository=self.name)
        except Archived as archived:
            self.doubtful = True
            raise Retryable(str(archived)) from archived  # there is nowhere to say so

    async def graphql(self, query: str, variables: Mapping[str, Any]) -> Any:
        return await self.service.graphql(query, variables, repository=self.name)


def _sendable(body: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """An agent's words may hold what is no text."""
    if body is None:
        return None
    return {name: _text(value) if isinstance(value, str) else value for name, value in body.items()}


def _text(value: str) -> str:
    return value.encode(errors="replace").decode().replace("\0", "")
