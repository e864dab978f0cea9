"""State of the stand-in GitHub: its contents, its clock, and lookups."""

import functools
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from tests.fakes.github import gits
from tests.fakes.github.model import App, Event, Installation, Issue, Label, Lasting, Repository, Token, User

_Deed = TypeVar("_Deed", bound=Callable)
_Thing = TypeVar("_Thing", bound=Lasting)


class Impossible(Exception):
    """GitHub would refuse this with 422 and this message."""

    def __init__(self, words: str, *, plain: bool = False) -> None:
        super().__init__(words)
        self.plain = plain
        """True if the message stands alone in the answer, as for reviews."""


def deed(method: _Deed) -> _Deed:
    """Runs a change as one step: people act from other threads than the server's."""

    @functools.wraps(method)
    def locked(world: "State", *args, **named):
        with world.lock:
            world.version += 1
            return method(world, *args, **named)

    return locked


class State:
    def __init__(self, root: Path, *, skew: float = 0.0) -> None:
        self.root = root
        self.skew = skew
        """Seconds this GitHub's clock is ahead of ours."""
        self.lag = 0.0
        """Seconds until a new or changed thing shows up in lists; by its id it is there at once."""
        self.longest_page = 100
        self.lock = threading.RLock()
        self.version = 0
        """Grows with everything that happens: while it stands, so do all answers."""
        self.users: dict[str, User] = {}
        self.repositories: dict[str, Repository] = {}
        self.redirects: dict[str, Repository] = {}
        self.addresses: dict[str, str] = {}
        """The verified e-mail address that somebody shows, by login."""
        """Former names, in lower case."""
        self.tokens: dict[str, Token] = {}
        self.apps: dict[int, App] = {}
        self.codes: dict[str, App] = {}
        """Apps that were made out of a manifest and not yet fetched."""
        self.installations: dict[int, Installation] = {}
        self._last_id = 1000
        self._refs: dict[int, tuple[int, dict[str, str]]] = {}

    @property
    def now(self) -> float:
        return time.time() + self.skew

    def advance(self, seconds: float) -> None:
        self.skew += seconds

    def new_id(self) -> int:
        self._last_id += 1
        self.version += 1
        return self._last_id

    # Lookup

    def user(self, login: str) -> User:
        """Returns the account, and creates it if it is missing."""
        kind = "Bot" if login.endswith("[bot]") else "User"
        return self.users.setdefault(login.lower(), User(self.new_id(), login, kind))

    def repository(self, name: str) -> Repository:
        return self.repositories[name.lower()]

    def issue(self, repo: str, number: int) -> Issue:
        return self.repository(repo).issues[number]

    def pull(self, repo: str, number: int) -> Issue:
        found = self.issue(repo, number)
        assert found.pull, f"{repo}#{number} is no pull request"
        return found

    def listed(self, things: Iterable[_Thing]) -> list[_Thing]:
        """Returns the objects that lists show now, in the state that they show."""
        if not self.lag:
            return list(things)
        settled = self.now - self.lag
        seen = (thing if thing.changed_at <= settled else thing.settled for thing in things)
        return [thing for thing in seen if thing is not None]

    def refs(self, home: Repository) -> dict[str, str]:
        """Returns the branches; reads them from git once while nothing changes."""
        version, found = self._refs.get(home.id, (-1, {}))
        if version != self.version:
            found = gits.refs(home.path)
            self._refs[home.id] = (self.version, found)
        return found

    def token_for(self, login: str, *scopes: str) -> str:
        """Returns a classic token of that person."""
        text = f"ghp_{secrets.token_hex(18)}"
        self.tokens[text] = Token(text, self.user(login), scopes or ("repo",))
        return text

    def fine_grained_token(self, login: str, *repos: str, **permissions: str) -> str:
        """Returns a token for some repositories and some permissions: `contents="write"`."""
        text = f"github_pat_{secrets.token_hex(20)}"
        homes = [self.repository(repo) for repo in repos]
        granted = {"metadata": "read", **permissions}
        self.tokens[text] = Token(text, self.user(login), (), None, homes, granted)
        return text

    # Creation

    @deed
    def add_repository(
        self, name: str, *, files: dict[str, str] | None = None, private: bool = False, **levels: str
    ) -> Repository:
        """A repository with one commit; its owner is its administrator."""
        owner, _, short = name.partition("/")
        path = self.root / f"{self.new_id()}.git"
        made = Repository(
            id=self.new_id(), owner=self.user(owner), name=short, path=path, created_at=self.now, private=private
        )
        made.levels = {owner.lower(): "admin"} | {login.lower(): level for login, level in levels.items()}
        for login in levels:
            self.user(login)
        made.updated_at = made.pushed_at = self.now
        gits.create(path, made.default_branch)
        gits.commit_files(path, made.default_branch, files or {"app.py": "answer = 41\n"}, "One", owner)
        self.repositories[name.lower()] = made
        return made

    def touch(self, thing: Lasting) -> None:
        """Must be called BEFORE the change: lists may continue to show the old state."""
        now = self.now
        if self.lag and thing.changed_at + self.lag <= now:
            thing.settled = thing.frozen()
        thing.changed_at = now
        thing.updated_at = max(thing.updated_at, float(int(now)))
        self.version += 1

    def happened(self, issue: Issue, event: str, by: User | None, **more: Label | tuple[str, str] | None) -> None:
        issue.events.append(Event(self.new_id(), event, by, self.now, **more))

    def label_named(self, repo: Repository, name: str) -> Label:
        """Returns the label; an unknown label is created, like on an issue."""
        return repo.labels.setdefault(name.lower(), Label(self.new_id(), name))
