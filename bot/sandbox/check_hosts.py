"""Checks the operator's private hosts and registries as the proxy would reach them, and says what to do."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import h11

from bot.domain.health import Health
from bot.sandbox.authorities import TrustedAuthorities
from bot.sandbox.proxy.grant import ProxyRefusal
from bot.sandbox.proxy.host_and_port import HTTPS, HostPort, parse_allowed_hosts
from bot.sandbox.proxy.network import Network
from bot.sandbox.proxy.registry import Registry
from bot.sandbox.proxy.registry_client import RegistryClient

_SECONDS = 30.0
_TOKEN_REFUSED = frozenset({401, 403, 407})
_FIRST_SERVER_ERROR = 500
_FIXES = {
    "was not found": "Is its name right, and does this machine use the name server or VPN of your network?",
    "does not answer": "Can this machine reach it, and is the port right?",
    "HTTP proxy": "Check the address, user and password in HTTPS_PROXY, and what NO_PROXY leaves out.",
    "is not trusted": "Set `sandbox.ca_file` to the certificates of your own authority.",
}


@dataclass(frozen=True, slots=True)
class HostChecks:
    private_hosts: frozenset[str]
    registries: Sequence[Registry]
    authorities: TrustedAuthorities
    network: Network

    async def run(self) -> Sequence[Health]:
        targets = list(self._targets())
        return await asyncio.gather(*(self._check(target) for target in targets))

    def _targets(self) -> Iterator[Registry]:
        """Registries, and private hosts as registries without a token."""
        yield from self.registries
        known = {registry.host for registry in self.registries}
        for host in parse_allowed_hosts(sorted(self.private_hosts)):
            if host not in known:
                yield Registry(host, "")

    async def _check(self, target: Registry) -> Health:
        try:
            async with asyncio.timeout(_SECONDS):
                status = await self._ask(target)
        except ProxyRefusal as refusal:
            detail = f"{refusal.reason} {self._fix(target.host, refusal)}".strip()
            return Health(str(target.host), ok=False, detail=detail)
        except TimeoutError:
            return Health(str(target.host), ok=False, detail=f"{target.host} does not answer within {_SECONDS:.0f} s.")
        return _judge(target, status)

    async def _ask(self, target: Registry) -> int:
        private = target.host in set(parse_allowed_hosts(self.private_hosts))
        connect = await self.network.connector(target.host, may_be_private=private)
        client = RegistryClient(target, self.authorities.context, connect)
        name = target.host.host if target.host.port == HTTPS else str(target.host)
        credential = target.credential_for(target.path) if target.token else ()
        headers = [(b"host", name.encode()), (b"accept-encoding", b"identity"), *credential]
        try:
            response = await client.ask(h11.Request(method="GET", target=target.path, headers=headers))
        finally:
            client.close()
        return response.status_code

    def _fix(self, host: HostPort, refusal: ProxyRefusal) -> str:
        if "not on the public internet" in refusal.reason:
            if host in set(parse_allowed_hosts(self.private_hosts)):
                return "It may not be this machine, a link-local address or the metadata service of a cloud."
            return "If it is in your own network, add it to `sandbox.private_hosts`."
        return next((fix for sign, fix in _FIXES.items() if sign in refusal.reason), "")


def _judge(target: Registry, status: int) -> Health:
    name = str(target.host)
    if not target.token:
        return Health(name, ok=True, detail=f"reached, with a trusted certificate (it answers {status})")
    if status in _TOKEN_REFUSED:
        source = target.variable or "token_file"
        fix = f"The token in {source} is wrong or has expired, `auth` is another one, or it may not read {target.path}."
        return Health(name, ok=False, detail=f"It answers {status} to the token. {fix}")
    if status >= _FIRST_SERVER_ERROR:
        return Health(name, ok=False, detail=f"It answers {status}: the fault is on the server.")
    return Health(name, ok=True, detail=f"reached, with a trusted certificate; it does not refuse the token ({status})")
