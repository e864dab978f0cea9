"""Authentication: one token for everything, or a GitHub App that mints a token per repository.

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

_RENEW_BEFORE_END = 600.0  # seconds
PERMISSIONS = {
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "checks": "read",
    "statuses": "read",
    "actions": "read",
    "metadata": "read",
}
"""The least that Treehand works with."""
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
    """0: the installation that the repository is in."""
    on_mint: Callable[[str], None] = field(default=lambda _: None, repr=False, compare=False)
    """Called with each new token before it is used."""

    @property
    def kind(self) -> str:
        return "app"


Credential = TokenCredential | AppCredential

SendRequest = Callable[[str, str, Mapping[str, Any] | None, Auth], Awaitable[Any]]
"""Sends verb, path and body with an authentication; returns the answer's data."""


@dataclass(frozen=True, slots=True)
class _AccessToken:
    token: str = field(repr=False)
    ends_at: float


@dataclass(frozen=True, slots=True)
class _Installation:
    id: int
    permissions: Mapping[str, str]


class Keyring:
    def __init__(self, credential: Credential, server_time: ServerTime, send: SendRequest) -> None:
        self._credential, self._server_time, self._send = credential, server_time, send
        self._minted: dict[str, _AccessToken] = {}
        self._installations: dict[str, _Installation] = {}
        self._minting: dict[str, asyncio.Lock] = {}

    @property
    def credential(self) -> Credential:
        return self._credential

    @property
    def identity(self) -> str:
        """Differs between credentials without revealing them."""
        match self._credential:
            case TokenCredential(token):
                return "token-" + hashlib.sha256(token.encode()).hexdigest()[:16]
            case AppCredential(app_id):
                return f"app-{app_id}"

    def payer(self, repository: str) -> str:
        """Name of the limits that a request counts against: each installation of an App has its own."""
        found = self._installations.get(repository)
        return f"{self.identity}-{found.id}" if found else self.identity

    def secrets(self) -> Collection[str]:
        minted = [minted.token for minted in self._minted.values()]
        return [self._credential.token] if isinstance(self._credential, TokenCredential) else minted

    async def auth_for(self, path: str, repository: str) -> Auth:
        if path == "/app" and isinstance(self._credential, AppCredential):
            return self._app_auth(self._credential)
        return Token(await self.token_for(repository))

    async def token_for(self, repository: str, *, fresh: bool = False) -> str:
        match self._credential:
            case TokenCredential(token):
                return token
            case AppCredential() as app:
                async with self._minting.setdefault(repository, asyncio.Lock()):
                    return await self._valid_token(app, repository, fresh=fresh)

    @property
    def renewable(self) -> bool:
        """A new token may help after a refusal."""
        return isinstance(self._credential, AppCredential)

    def forget(self, repository: str, auth: Auth) -> None:
        """Drops the token that was refused."""
        minted = self._minted.get(repository)
        if minted and minted.token == auth.token:
            del self._minted[repository]

    async def _valid_token(self, app: AppCredential, repository: str, *, fresh: bool) -> str:
        minted = self._minted.get(repository)
        if minted is None or fresh or minted.ends_at - self._server_time.local_now() < _RENEW_BEFORE_END:
            self._minted[repository] = minted = await self._mint(app, repository)
        return minted.token

    async def _mint(self, app: AppCredential, repository: str) -> _AccessToken:
        installation = self._installations.get(repository) or await self._find_installation(app, repository)
        self._installations[repository] = installation
        try:
            return await self._mint_for_repository(app, installation, repository)
        except (NotFound, Refused) as exc:
            self._installations.pop(repository, None)
            raise NeedsHuman(f"GitHub issued no token for the App{_on(repository)}: {exc}") from exc

    async def _mint_for_repository(
        self, app: AppCredential, installation: _Installation, repository: str
    ) -> _AccessToken:
        least = {"permissions": _granted(installation.permissions)}
        if not repository:
            return await self._request_token(app, installation, least)
        try:
            return await self._request_token(
                app, installation, {"repositories": [repository.partition("/")[2]], **least}
            )
        except Refused as exc:
            if exc.status != 422:
                raise
            number = await self._repository_id(app, installation, repository)
            return await self._request_token(app, installation, {"repository_ids": [number], **least})

    async def _request_token(
        self, app: AppCredential, installation: _Installation, body: Mapping[str, Any]
    ) -> _AccessToken:
        data = await self._send_as_app(app, "POST", f"/app/installations/{installation.id}/access_tokens", body)
        match data:
            case {"token": str(token), "expires_at": str(end)} if token:
                app.on_mint(token)
                return _AccessToken(token, self._server_time.to_local(end))
        raise Retryable("GitHub answered the request for a token without one.")

    async def _repository_id(self, app: AppCredential, installation: _Installation, repository: str) -> int:
        """After a renaming, minting does not accept the old name, and everything else does."""
        reader = await self._request_token(app, installation, {"permissions": {"metadata": "read"}})
        return int((await self._send("GET", f"/repos/{repository}", None, Token(reader.token)))["id"])

    async def _find_installation(self, app: AppCredential, repository: str) -> _Installation:
        if app.installation_id:
            path = f"/app/installations/{app.installation_id}"
        else:
            path = f"/repos/{repository}/installation" if repository else "/app/installations"
        try:
            data = await self._send_as_app(app, "GET", path)
        except (NotFound, Refused) as exc:
            if app.installation_id:  # some servers hide it; the request for a token fails if it is wrong
                return _Installation(app.installation_id, PERMISSIONS)
            raise NeedsHuman(f"The GitHub App is not installed{_on(repository)}: {exc}") from exc
        if data == [] and path == "/app/installations":
            raise NeedsHuman("The GitHub App is not installed anywhere.")
        return _parse_installation(data[0] if data and isinstance(data, list) else data)

    async def _send_as_app(
        self, app: AppCredential, verb: str, path: str, body: Mapping[str, Any] | None = None
    ) -> Any:
        try:
            return await self._send(verb, path, body, self._app_auth(app))
        except Unauthorized:  # this machine's clock may be wrong; the answer contains the right time
            return await self._send(verb, path, body, self._app_auth(app))

    def _app_auth(self, app: AppCredential) -> Auth:
        """A JWT for minutes, by the server's clock: ours may differ by more than GitHub accepts."""
        now = int(self._server_time.now())
        sign = AppAuth.create_jwt_sign(app.key, "RS256")
        times = {"iat": now - 60, "exp": now + 480}
        try:
            return AppAuthToken(AppAuth(app.app_id, sign_func=lambda payload: sign({**payload, **times})).token)
        except (ValueError, TypeError, jwt.PyJWTError) as exc:
            raise NeedsHuman(
                "The private key of the GitHub App cannot be used. Set github.private_key_file to the file from GitHub."
            ) from exc


def _parse_installation(data: Any) -> _Installation:
    """Raises Retryable for anything else: it would be remembered."""
    match data:
        case {"id": int(number), "permissions": dict(permissions)} if permissions:
            return _Installation(number, permissions)
        case {"id": int(number)} if not data.get("permissions"):
            return _Installation(number, PERMISSIONS)
    raise Retryable("GitHub did not say which installation of the App is for this repository.")


def _granted(permissions: Mapping[str, str]) -> Mapping[str, str]:
    """Our permissions as far as the App has them: GitHub refuses a request for more."""
    return {
        name: min(wanted, permissions[name], key=_LEVELS.index)
        for name, wanted in PERMISSIONS.items()
        if permissions.get(name) in _LEVELS
    }


def _on(repository: str) -> str:
    return f" on {repository}" if repository else ""
