"""Who we are to GitHub: one token for everything, or an App whose tokens are minted per repository.

https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import jwt
from github.Auth import AppAuth, AppAuthToken, Auth, Token

from bot.errors import NeedsHuman, Retryable
from bot.services.github.errors import NotFound, Refused
from bot.services.http.credential_lockout import Unauthorized
from bot.services.http.server_clock import ServerTime

_RENEW = 600.0  # seconds before its end
PERMISSIONS = {
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "checks": "read",
    "statuses": "read",
    "actions": "read",
    "metadata": "read",
}
"""The least that will do."""
_LEVELS = ("read", "write", "admin")
FINE_GRAINED = "fine-grained token"
_KINDS = {
    "ghp_": "classic token",
    "github_pat_": FINE_GRAINED,
    "gho_": "OAuth token",
    "ghu_": "user token of an app",
    "ghs_": "installation token",
}


@dataclass(frozen=True, slots=True)
class TokenCredential:
    token: str = field(repr=False)

    @property
    def kind(self) -> str:
        return next((kind for prefix, kind in _KINDS.items() if self.token.startswith(prefix)), "token")


@dataclass(frozen=True, slots=True)
class AppCredential:
    app_id: int | str
    key: str = field(repr=False)
    installation_id: int = 0
    """0: the one that the repository is in."""
    on_mint: Callable[[str], None] = field(default=lambda _: None, repr=False, compare=False)
    """Is told every token that is made, before it is used."""

    @property
    def kind(self) -> str:
        return "app"


Credential = TokenCredential | AppCredential

Ask = Callable[[str, str, Mapping[str, Any] | None, Auth], Awaitable[Any]]
"""Verb, path, body, and as whom; the answer's data."""


@dataclass(frozen=True, slots=True)
class _Minted:
    token: str = field(repr=False)
    ends_at: float


@dataclass(frozen=True, slots=True)
class _Installation:
    id: int
    permissions: Mapping[str, str]


class Keyring:
    def __init__(self, credential: Credential, time: ServerTime, ask: Ask) -> None:
        self._credential, self._time, self._ask = credential, time, ask
        self._minted: dict[str, _Minted] = {}
        self._installations: dict[str, _Installation] = {}
        self._minting: dict[str, asyncio.Lock] = {}

    @property
    def credential(self) -> Credential:
        return self._credential

    @property
    def identity(self) -> str:
        """Tells credentials apart without giving them away."""
        match self._credential:
            case TokenCredential(token):
                return "token-" + hashlib.sha256(token.encode()).hexdigest()[:16]
            case AppCredential(app_id):
                return f"app-{app_id}"

    def payer(self, repository: str) -> str:
        """Whose limits a request counts against: each installation of an App has its own."""
        found = self._installations.get(repository)
        return f"{self.identity}-{found.id}" if found else self.identity

    def secrets(self) -> Collection[str]:
        minted = [minted.token for minted in self._minted.values()]
        return [self._credential.token] if isinstance(self._credential, TokenCredential) else minted

    async def auth_for(self, path: str, repository: str) -> Auth:
        if path == "/app" and isinstance(self._credential, AppCredential):
            return self._as_app(self._credential)
        return Token(await self.token_for(repository))

    async def token_for(self, repository: str, *, anew: bool = False) -> str:
        match self._credential:
            case TokenCredential(token):
                return token
            case AppCredential() as app:
                async with self._minting.setdefault(repository, asyncio.Lock()):
                    return await self._minted_for(app, repository, anew=anew)

    @property
    def renewable(self) -> bool:
        """Asking once more may help, with a new token."""
        return isinstance(self._credential, AppCredential)

    def forget(self, repository: str, auth: Auth) -> None:
        """This was refused."""
        minted = self._minted.get(repository)
        if minted and minted.token == auth.token:
            del self._minted[repository]

    async def _minted_for(self, app: AppCredential, repository: str, *, anew: bool) -> str:
        minted = self._minted.get(repository)
        if minted is None or anew or minted.ends_at - self._time.own() < _RENEW:
            self._minted[repository] = minted = await self._mint(app, repository)
        return minted.token

    async def _mint(self, app: AppCredential, repository: str) -> _Minted:
        installation = self._installations.get(repository) or await self._find_installation(app, repository)
        self._installations[repository] = installation
        try:
            return await self._minted_in(app, installation, repository)
        except (NotFound, Refused) as exc:
            self._installations.pop(repository, None)
            raise NeedsHuman(f"The GitHub App gives us no token for {repository or 'anything'}: {exc}") from exc

    async def _minted_in(self, app: AppCredential, installation: _Installation, repository: str) -> _Minted:
        least = {"permissions": _granted(installation.permissions)}
        if not repository:
            return await self._minted_by(app, installation, least)
        try:
            return await self._minted_by(app, installation, {"repositories": [repository.partition("/")[2]], **least})
        except Refused as exc:
            if exc.status != 422:
                raise
            number = await self._number_of(app, installation, repository)
            return await self._minted_by(app, installation, {"repository_ids": [number], **least})

    async def _minted_by(self, app: AppCredential, installation: _Installation, body: Mapping[str, Any]) -> _Minted:
        data = await self._asked(app, "POST", f"/app/installations/{installation.id}/access_tokens", body)
        if not isinstance(data, dict) or not data.get("token"):
            raise Retryable("GitHub minted a token and did not say which.")
        app.on_mint(data["token"])
        return _Minted(data["token"], self._time.local(data["expires_at"]))

    async def _number_of(self, app: AppCredential, installation: _Installation, repository: str) -> int:
        """Renamed, it is unknown by its old name where tokens are minted, and known everywhere else."""
        glance = await self._minted_by(app, installation, {"permissions": {"metadata": "read"}})
        return int((await self._ask("GET", f"/repos/{repository}", None, Token(glance.token)))["id"])

    async def _find_installation(self, app: AppCredential, repository: str) -> _Installation:
        if app.installation_id:
            path = f"/app/installations/{app.installation_id}"
        else:
            path = f"/repos/{repository}/installation" if repository else "/app/installations"
        try:
            data = await self._asked(app, "GET", path)
        except (NotFound, Refused) as exc:
            if app.installation_id:  # not every server tells; minting will
                return _Installation(app.installation_id, PERMISSIONS)
            raise NeedsHuman(f"The GitHub App is not installed on {repository or 'anything'}: {exc}") from exc
        found = (data[0] if data else None) if isinstance(data, list) else data
        if not found:
            raise NeedsHuman("The GitHub App is not installed anywhere.")
        return _Installation(int(found["id"]), found.get("permissions") or PERMISSIONS)

    async def _asked(self, app: AppCredential, verb: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        try:
            return await self._ask(verb, path, body, self._as_app(app))
        except Unauthorized:  # our clock may be wrong; this answer has told the right time
            return await self._ask(verb, path, body, self._as_app(app))

    def _as_app(self, app: AppCredential) -> Auth:
        """Good for minutes, by the server's clock: ours may be wrong by more than GitHub forgives."""
        now = int(self._time.now())
        sign = AppAuth.create_jwt_sign(app.key, "RS256")
        in_time = {"iat": now - 60, "exp": now + 480}
        try:
            return AppAuthToken(AppAuth(app.app_id, sign_func=lambda payload: sign({**payload, **in_time})).token)
        except (ValueError, TypeError, jwt.PyJWTError) as exc:
            raise NeedsHuman("The private key of the GitHub App (github.private_key_file) cannot be used.") from exc


def _granted(permissions: Mapping[str, str]) -> Mapping[str, str]:
    """What we want, as far as the App has it: asking for more is refused as a whole."""
    return {
        name: min(wanted, permissions[name], key=_LEVELS.index)
        for name, wanted in PERMISSIONS.items()
        if permissions.get(name) in _LEVELS
    }
