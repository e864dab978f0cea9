"""Sandbox proxy: the only way out of a sandbox, through a Unix socket of its own, to the model and the allowed hosts.

Rule: everything a sandbox sends is hostile. It is answered, or refused and counted; it is never logged.
"""

import asyncio
import base64
import binascii
import contextlib
import hmac
import logging
import socket as sockets
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import h11

from bot.domain.price import Price
from bot.sandbox.proxy.connection import Connection, ConnectionGone
from bot.sandbox.proxy.grant import (
    DayBudget,
    Grant,
    ModelUpstream,
    OnUsage,
    ProxyRefusal,
    SandboxUsage,
    ignore_usage,
)
from bot.sandbox.proxy.model import COUNT_TOKENS, MESSAGES, ModelRoute, model_client
from bot.sandbox.proxy.network import Network
from bot.sandbox.proxy.registry_route import RegistryAccess
from bot.sandbox.proxy.tunnel import Tunnels
from bot.system.descriptors import share_of_limit

log = logging.getLogger(__name__)

_MAX_CONNECTIONS = 256
_PART_OF_DESCRIPTORS = 32
"""A connection takes two, and several sandboxes are open at once."""
_PAUSE_SECONDS = 0.1
_NETWORK = Network()
_KEY_HEADERS = (b"x-api-key", b"authorization", b"proxy-authorization")


class SandboxProxy:
    def __init__(
        self,
        upstream: ModelUpstream | None,
        *,
        network: Network = _NETWORK,
        prices: Mapping[str, Price] = MappingProxyType({}),
        day: DayBudget | None = None,
    ) -> None:
        """`prices`: those that the operator set, by the name of the model. `day` holds for all sandboxes together."""
        self._upstream = upstream
        self._network = network
        self.prices = prices
        self._day = day or DayBudget()
        self.model_answers: Counter[int] = Counter()
        """Number of the model's answers by status; 0: no answer came."""

    @asynccontextmanager
    async def open(
        self,
        socket: Path,
        grant: Grant,
        on_usage: OnUsage = ignore_usage,
        registries: RegistryAccess | None = None,
    ) -> AsyncIterator[SandboxUsage]:
        """Listens on `socket` until the block is left; open connections are cut then."""
        usage = SandboxUsage(on_usage)
        tunnels = Tunnels(grant, self._network, registries, usage.record_refusal)
        async with contextlib.AsyncExitStack() as stack:
            model = None
            if self._upstream:
                client = await stack.enter_async_context(model_client(self._upstream, self._network.http_proxy))
                model = ModelRoute(self._upstream, grant, usage, client, self._count_answer, self.prices, self._day)
            listener = stack.enter_context(listen_on(socket))
            group = await stack.enter_async_context(asyncio.TaskGroup())
            accepting = group.create_task(_accept_connections(listener, _Router(grant, usage, model, tunnels)))
            problem = None
            try:
                yield usage
            except Exception as exc:  # noqa: BLE001 - raised again below, as itself and not as one of a group
                problem = exc
            finally:
                accepting.cancel()
        if problem:
            raise problem

    def _count_answer(self, status: int) -> None:
        self.model_answers[status] += 1


@dataclass(slots=True)
class _Router:
    """Routes the requests of one sandbox."""

    grant: Grant
    usage: SandboxUsage
    model: ModelRoute | None
    tunnels: Tunnels
    connections: int = 0

    async def receive(self, accepted: sockets.socket) -> None:
        """Raises nothing: the trouble of a connection must not affect others."""
        most = share_of_limit(_PART_OF_DESCRIPTORS, most=_MAX_CONNECTIONS)
        if self.connections >= most:
            self.usage.record_refusal(f"hold more than {most} connections to the proxy")
            accepted.close()
            return
        self.connections += 1
        try:
            reader, writer = await asyncio.open_unix_connection(sock=accepted)
            try:
                await self._serve(Connection(reader, writer))
            except asyncio.CancelledError:
                writer.transport.abort()
                raise
            finally:
                writer.close()
        except OSError:
            return
        except Exception as exc:  # noqa: BLE001 - see above; its text may be the sandbox's, so it stays out of the log
            log.error("proxy connection failed error=%s", type(exc).__name__)  # noqa: TRY400
        finally:
            self.connections -= 1

    async def _serve(self, connection: Connection) -> None:
        with contextlib.suppress(ConnectionGone):
            try:
                while await self._route(connection, await connection.request()):
                    pass
            except ProxyRefusal as refusal:
                if refusal.attempt:
                    self.usage.record_refusal(refusal.attempt)
                await connection.refuse(refusal)

    async def _route(self, connection: Connection, request: h11.Request) -> bool:
        """Returns whether the connection may send another request."""
        self._refuse_foreign_keys(request)
        method, target = request.method.decode("ascii"), request.target.decode("ascii", errors="replace")
        path = target.partition("?")[0]
        match method:
            case "CONNECT":
                await self.tunnels.serve(connection, request)
                return False
            case "HEAD" if target == "/":
                await connection.respond(200)
            case "POST" if path in {MESSAGES, COUNT_TOKENS}:
                await self._require_model(request).serve(connection, request, path)
            case _:
                raise _refused(method, target)
        return True

    def _require_model(self, request: h11.Request) -> ModelRoute:
        if self.model is None or not self.grant.token:
            raise ProxyRefusal(
                403, "This sandbox has no access to a model.", attempt="use a model without access to one"
            )
        if not _keys_shown(request):
            raise ProxyRefusal(403, "The request has no key.", attempt="use the model without a token")
        return self.model

    def _refuse_foreign_keys(self, request: h11.Request) -> None:
        """A tunnel needs no key, because the socket identifies the sandbox; a wrong key is always refused."""
        token = self.grant.token.encode()
        if not all([hmac.compare_digest(key, token) for key in _keys_shown(request)]):  # noqa: C419 - all are compared
            raise ProxyRefusal(403, "The key does not belong to this run.", attempt="use a key of another run")


async def _accept_connections(listener: sockets.socket, router: _Router) -> None:
    accept = asyncio.get_running_loop().sock_accept
    async with asyncio.TaskGroup() as group:
        while True:
            try:
                accepted, _ = await accept(listener)
            except OSError:  # the connection was closed at once, or too many files are open: the next may succeed
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            group.create_task(router.receive(accepted))


@contextlib.contextmanager
def listen_on(path: Path) -> Iterator[sockets.socket]:
    with sockets.socket(sockets.AF_UNIX) as listener:
        listener.setblocking(False)  # noqa: FBT003
        listener.bind(str(path))
        try:
            path.chmod(0o666)  # the socket's folder is private
            listener.listen(128)
            yield listener
        finally:
            path.unlink(missing_ok=True)


def _keys_shown(request: h11.Request) -> list[bytes]:
    return [_key_in(value) for name, value in request.headers if name in _KEY_HEADERS]


def _key_in(value: bytes) -> bytes:
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


def _refused(method: str, target: str) -> ProxyRefusal:
    if target.startswith("/"):
        status = 405 if target.partition("?")[0] in {MESSAGES, COUNT_TOKENS, "/"} else 403
        return ProxyRefusal(
            status, "The proxy serves only the model's messages.", attempt=f"ask the proxy for {method} {target}"
        )
    return ProxyRefusal(403, "Only encrypted connections to known hosts are let through.", attempt=f"reach {target}")
