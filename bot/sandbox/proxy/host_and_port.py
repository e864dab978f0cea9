"""Allowed hosts: parses the hosts that the settings allow, and the hosts that sandboxes ask for. Pure."""

import contextlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address

_HOST_PORT = re.compile(r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})", re.ASCII)
HTTPS = 443


@dataclass(frozen=True, slots=True)
class HostPort:
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_named(self) -> bool:
        try:
            ip_address(self.host)
        except ValueError:
            return True
        return False


def parse_allowed_hosts(hosts: Iterable[str]) -> Iterable[HostPort]:
    """Parses `sandbox.hosts`, with port 443 where none is given, and names beyond ASCII as they are sent (IDNA)."""
    for host in hosts:
        with contextlib.suppress(UnicodeError):
            host = host if host.isascii() else host.encode("idna").decode("ascii")  # noqa: PLW2901
        bracketed = f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host
        target = parse_host_port(bracketed) or parse_host_port(f"{bracketed}:{HTTPS}")
        if target:
            yield target


def parse_host_port(text: str) -> HostPort | None:
    found = _HOST_PORT.fullmatch(text)
    if not found or not 0 < int(found["port"]) < 1 << 16:
        return None
    host = found["host"].strip("[]").lower()
    host = host.removesuffix(".")
    with contextlib.suppress(ValueError):
        host = str(ip_address(host))
    return HostPort(host, int(found["port"])) if host else None
