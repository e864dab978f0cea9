"""Git over HTTP, served by git's own program: fetch needs read, push needs write, pushes update pull requests."""

import asyncio
import base64
import re
from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tests.fakes.github import gits
from tests.fakes.github.api_request import Ask
from tests.fakes.github.model import Repository, Token
from tests.fakes.github.repository_actions import GitHubWorld

ADDRESS = re.compile(r"/([^/]+)/([^/]+?)(?:\.git)?/(info/refs|git-upload-pack|git-receive-pack)\Z")
_REALM = {"WWW-Authenticate": 'Basic realm="GitHub"'}


@dataclass
class SmartHttp:
    world: GitHubWorld
    find_token: Callable[[str], Token | None]

    async def answer(self, http: Request, ask: Ask) -> Response:
        found = ADDRESS.fullmatch(http.scope["path"])
        assert found
        owner, name, verb = found.groups()
        service = http.query_params.get("service", verb)
        push = service == "git-receive-pack"
        with self.world.lock:
            given, ask.token = self._token(http)
            full = f"{owner}/{name}".lower()
            home = self.world.repositories.get(full) or self.world.redirects.get(full)
            if refusal := self._refusal(ask, home, push=push, given=given):
                return refusal
        assert home
        return await self._run(http, ask, home, verb, push=push)

    def _token(self, http: Request) -> tuple[str, Token | None]:
        scheme, _, text = http.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "basic":
            text = base64.b64decode(text).decode().partition(":")[2]
        return text, self.find_token(text)

    def _refusal(self, ask: Ask, home: Repository | None, *, push: bool, given: str) -> Response | None:
        if given and ask.token is None:
            return Response("Invalid username or token.", 401, _REALM)
        if home is None or not ask.may("read", home):
            return Response("Repository not found.", 404 if given else 401, {} if given else _REALM)
        if not push:
            return None
        if ask.token is None:
            return Response("Authentication required.", 401, _REALM)
        if home.archived:
            return Response("This repository was archived so it is read-only.", 403)
        narrow = ask.token.permissions is not None and ask.token.permissions.get("contents") != "write"
        if narrow or not ask.may("write", home):
            return Response(f"Permission to {home.full_name}.git denied to {ask.login}.", 403)
        return None

    async def _run(self, http: Request, ask: Ask, home: Repository, verb: str, *, push: bool) -> Response:
        body = await http.body()
        process = await asyncio.create_subprocess_exec(
            "git", "http-backend", env=self._environment(http, home, verb, len(body), ask),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        before = gits.refs(home.path) if push else {}
        out, _ = await process.communicate(body)
        if push and verb == "git-receive-pack":
            with self.world.lock:
                self.world.refs_moved(home, before, by=ask.login)
        return _from_cgi(out)

    def _environment(self, http: Request, home: Repository, verb: str, size: int, ask: Ask) -> dict[str, str]:
        cgi = {
            "GIT_PROJECT_ROOT": str(home.path.parent), "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": f"/{home.path.name}/{verb}",
            "REQUEST_METHOD": http.method, "QUERY_STRING": http.url.query, "CONTENT_LENGTH": str(size),
            "CONTENT_TYPE": http.headers.get("content-type", ""), "REMOTE_ADDR": "127.0.0.1",
            "REMOTE_USER": ask.token.user.login if ask.token else "",
            "HTTP_CONTENT_ENCODING": http.headers.get("content-encoding", ""),
        }  # fmt: skip
        if protocol := http.headers.get("git-protocol"):
            cgi["GIT_PROTOCOL"] = protocol
        return gits.environment(**cgi)


def _from_cgi(out: bytes) -> Response:
    head, _, body = out.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().splitlines() if ": " in line)
    status = int(headers.pop("Status", "200").split()[0])

    async def pieces():
        yield body

    return StreamingResponse(pieces(), status, headers)
