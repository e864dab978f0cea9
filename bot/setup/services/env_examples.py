"""Reads the addresses of services from a repository's examples of `.env`. Pure."""

import re
from collections.abc import Collection, Iterator, Mapping
from urllib.parse import unquote, urlsplit

from bot.domain.service import WantedService
from bot.setup.services.container import account, usable_port

EXAMPLES = (".env.example", ".env.sample", ".env.template", ".env.dist", ".env.test", ".env.ci", "example.env")
_LINE = re.compile(r"^[ \t]*(?:export )?([A-Z][A-Z0-9_]{0,60})=[ \t]*([^\r\n]{0,500})", re.MULTILINE)
_ADDRESS = re.compile(
    r"[A-Z0-9_]*(?:DATABASE|POSTGRES|POSTGRESQL|PG|MYSQL|REDIS|CACHE|DB|BROKER)_(?:TEST_)?UR[IL](?:_TEST)?"
)
_SCHEMES = {
    "postgres": "postgres", "postgresql": "postgres", "postgis": "postgres", "pgsql": "postgres",
    "mysql": "mysql", "mysql2": "mysql", "mariadb": "mysql", "redis": "redis",
}  # fmt: skip
"""Services by the scheme of an address, without a driver: `postgresql+psycopg`."""
_LOCAL = frozenset({"localhost", "127.0.0.1"})
_MAX_LINES = 500


def example_variables(text: str) -> Mapping[str, str]:
    found = [(line[1], _unquoted(line[2])) for _, line in zip(range(_MAX_LINES), _LINE.finditer(text), strict=False)]
    return dict(found)


def addresses_in(variables: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Name, value and host of each variable that holds the address of a service."""
    for name, value in variables.items():
        if _ADDRESS.fullmatch(name) and (service := _service_at(value, "")):
            yield name, value, service.hosts[0]


def wanted_at(value: str, why: str, known_hosts: Collection[str]) -> WantedService | None:
    """Returns None if the address leads to another machine."""
    service = _service_at(value, why)
    return service if service and service.hosts[0] in {*known_hosts, *_LOCAL} else None


def _service_at(value: str, why: str) -> WantedService | None:
    if "$" in value or "<" in value:
        return None
    try:
        address = urlsplit(value)
        port, host = address.port, address.hostname
    except ValueError:
        return None
    name = _SCHEMES.get(address.scheme.partition("+")[0])
    if not name or not host:
        return None
    database = address.path.strip("/") if name != "redis" else ""
    person = account(unquote(address.username or ""), unquote(address.password or ""), database)
    accounts = (person,) if person.user or person.database else ()
    usable = usable_port(str(port)) if port else 0
    return WantedService(name, why=why, ports=(usable,) if usable else (), accounts=accounts, hosts=(host,))


def _unquoted(value: str) -> str:
    value = value.strip()
    if value[:1] in {'"', "'"}:
        return value[1:].partition(value[0])[0]
    return value.partition(" #")[0].strip()
