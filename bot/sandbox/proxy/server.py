"""The gate: the only way out of a sandbox. One Unix socket each, and behind it the model and a few hosts.

Everything a sandbox sends is hostile. It is answered, or refused and counted; it is never logged.
"""

import asyncio
import base64
import binascii
import contextlib
import hmac
import logging
import socket as sockets
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import h11

from bot.sandbox.proxy.connection import Caller, Gone
from bot.sandbox.proxy.grant import Passage, Passport, Refusal, Upstream
from bot.sandbox.proxy.model import COUNT, MESSAGES, ModelRoute, client_for
from bot.sandbox.proxy.public_addresses import is_public as is_public_address
from bot.sandbox.proxy.tunnel import Dial, IsPublic, Resolve, Tunnels, resolved

log = logging.getLogger(__name__)

_MOST_CALLERS = 256
_PAUSE_SECONDS = 0.1
_KEYS = (b"x-api-key", b"authorization", b"proxy-authorization")


class Gate:
    def __init__(
        self,
        upstream: Upstream | None,
        *,
        resolve: Resolve = resolved,
        is_public: IsPublic = is_public_address,
        dial: Dial = asyncio.open_connection,
    ) -> None:
        """`resolve` gives all addresses of a host, `is_public` judges one, `dial` connects to one."""
        self._upstream = upstream
        self._resolve = resolve
        self._is_public = is_public
        self._dial = dial
        self.answers: Counter[int] = Counter()
        """Of the model's service, by status; 0: none came."""

    @asynccontextmanager
    async def open(self, socket: Path, passport: Passport) -> AsyncIterator[Passage]:
        """Listens there until the block is left; whatever is under way then is cut."""
        passage = Passage()
        tunnels = Tunnels(passport, self._resolve, self._is_public, self._dial)
        async with contextlib.AsyncExitStack() as stack:
            model = None
            if self._upstream:
                client = await stack.enter_async_context(client_for(self._upstream))
                model = ModelRoute(self._upstream, passport, passage, client, self._heard)
            listener = stack.enter_context(listening(socket))
            group = await stack.enter_async_context(asyncio.TaskGroup())
            letting_in = group.create_task(_let_in(listener, _Door(passport, passage, model, tunnels)))
            problem = None
            try:
                yield passage
            except Exception as exc:  # noqa: BLE001 - raised again below, as itself and not as one of a group
                problem = exc
            finally:
                letting_in.cancel()
        if problem:
            raise problem

    def _heard(self, status: int) -> None:
        self.answers[status] += 1


@dataclass(slots=True)
class _Door:
    """Where one sandbox's callers are sent on."""

    passport: Passport
    passage: Passage
    model: ModelRoute | None
    tunnels: Tunnels
    callers: int = 0

    async def receive(self, connection: sockets.socket) -> None:
        """Never raises: one caller's trouble is no other's."""
        if self.callers >= _MOST_CALLERS:
            self.passage.note(f"hold more than {_MOST_CALLERS} connections to the gate")
            connection.close()
            return
        self.callers += 1
        try:
            reader, writer = await asyncio.open_unix_connection(sock=connection)
            try:
                await self._serve(Caller(reader, writer))
            except asyncio.CancelledError:
                writer.transport.abort()
                raise
            finally:
                writer.close()
        except OSError:
            return
        except Exception as exc:  # noqa: BLE001 - see above; its words may be the sandbox's, so they stay out of the log
            log.error("The gate dropped a caller: %s.", type(exc).__name__)  # noqa: TRY400
        finally:
            self.callers -= 1

    async def _serve(self, caller: Caller) -> None:
        with contextlib.suppress(Gone):
            try:
                while await self._route(caller, await caller.request()):
                    pass
            except Refusal as refusal:
                if refusal.tried:
                    self.passage.note(refusal.tried)
                await caller.refuse(refusal)

    async def _route(self, caller: Caller, request: h11.Request) -> bool:
        """Whether this caller may ask for more."""
        self._ensure_no_other_key(request)
        method, target = request.method.decode("ascii"), request.target.decode("ascii", errors="replace")
        path = target.partition("?")[0]
        match method:
            case "CONNECT":
                await self.tunnels.serve(caller, request)
                return False
            case "HEAD" if target == "/":
                await caller.answer(200)
            case "POST" if path in {MESSAGES, COUNT}:
                await self._model_for(request).serve(caller, request, path)
            case _:
                raise _refused(method, target)
        return True

    def _model_for(self, request: h11.Request) -> ModelRoute:
        if self.model is None or not self.passport.token:
            raise Refusal(403, "There is no model here.", tried="ask a model where there is none")
        if not _keys_in(request):
            raise Refusal(403, "The model wants a key.", tried="ask the model without its pass")
        return self.model

    def _ensure_no_other_key(self, request: h11.Request) -> None:
        """None at all is enough for a tunnel, as the socket says who calls; a wrong one is never right."""
        ours = self.passport.token.encode()
        if not all([hmac.compare_digest(key, ours) for key in _keys_in(request)]):  # noqa: C419 - all are compared
            raise Refusal(403, "That key is not this run's.", tried="show a key that is not this run's")


async def _let_in(listener: sockets.socket, door: _Door) -> None:
    accept = asyncio.get_running_loop().sock_accept
    async with asyncio.TaskGroup() as group:
        while True:
            try:
                connection, _ = await accept(listener)
            except OSError:  # it left at once, or there are too many open files: the next may fare better
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            group.create_task(door.receive(connection))


@contextlib.contextmanager
def listening(path: Path) -> Iterator[sockets.socket]:
    with sockets.socket(sockets.AF_UNIX) as listener:
        listener.setblocking(False)  # noqa: FBT003
        listener.bind(str(path))
        try:
            path.chmod(0o666)  # its folder is private
            listener.listen(128)
            yield listener
        finally:
            path.unlink(missing_ok=True)


def _keys_in(request: h11.Request) -> list[bytes]:
    return [_bare(value) for name, value in request.headers if name in _KEYS]


def _bare(value: bytes) -> bytes:
    scheme, _, rest = value.partition(b" ")
    match scheme.lower():
        case b"bearer":
            return rest.strip()
        case b"basic":
            try:
                return base64.b64decode(rest, validate=True).partition(b":")[2]
            except binascii.Error:
                return b""
    return value


def _refused(method: str, target: str) -> Refusal:
    if target.startswith("/"):
        status = 405 if target.partition("?")[0] in {MESSAGES, COUNT, "/"} else 403
        return Refusal(
            status, "Only the model's messages are served here.", tried=f"ask the gate for {method} {target}"
        )
    return Refusal(403, "Only encrypted connections to known hosts are let through.", tried=f"reach {target}")
