"""Container: one service as a compose file or a workflow describes it; reads its image, ports and variables. Pure.

Rule: only what is listed here is read. Commands, volumes and everything else of the file have no effect.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bot.domain.service import ServiceAccount, WantedService
from bot.setup.services.images import service_of

DEFAULT_PORTS = {"postgres": 5432, "mysql": 3306, "redis": 6379, "memcached": 11211}
_DEFAULT = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]{0,60})(?::?-([^${}]{0,200}))?\}|\$([A-Za-z_][A-Za-z0-9_]{0,60})")
_PORT = re.compile(r"[0-9]{1,5}")
_HOST = re.compile(r"[a-z][a-z0-9_-]{0,60}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,62}")
_PASSWORD = re.compile(r"[ -~]{1,100}")
_FIRST_PORT, _LAST_PORT = 1024, 65535
_MAX_PORTS = 4
_LONGEST_TEXT = 2000
"""No image, port or variable is longer. Filling one in can make it longer."""
_TAKEN_HOSTS = frozenset({"localhost", "treehand"})


def wanted_service(name: str, service: object, why: str, known: Mapping[str, str]) -> WantedService | None:
    """`known`: variables that the file may use. Returns None if it is no service that is known."""
    if not isinstance(service, dict):
        return None
    image = service.get("image")
    kind, version, extension = service_of(_filled(image, known)) if isinstance(image, str) else ("", "", "")
    if not kind:
        return None
    variables = {
        key: _filled(value, known) for key, value in _variables(service.get("environment", service.get("env")))
    }
    hosts = (name,) if _HOST.fullmatch(name) and name not in _TAKEN_HOSTS else ()
    ports = tuple(dict.fromkeys(_published(service.get("ports"), DEFAULT_PORTS.get(kind, 0), known)))
    return WantedService(kind, version, why, ports[:_MAX_PORTS], tuple(_accounts(kind, variables)), hosts, extension)


def account(user: str, password: str = "", database: str = "") -> ServiceAccount:
    """Leaves out what is no usual name."""
    return ServiceAccount(
        user if _NAME.fullmatch(user) else "",
        password if _PASSWORD.fullmatch(password) else "",
        database if _NAME.fullmatch(database) else "",
    )


def usable_port(text: str) -> int:
    """Returns 0 if no service may listen there."""
    return int(text) if _PORT.fullmatch(text) and _FIRST_PORT <= int(text) <= _LAST_PORT else 0


def _filled(text: object, known: Mapping[str, str]) -> str:
    """Puts in what the variables of compose files have by default; one without a default is empty."""
    if not isinstance(text, str) or len(text) > _LONGEST_TEXT:
        return ""
    return _DEFAULT.sub(lambda found: known.get(found[1] or found[3], found[2] or ""), text)


def _variables(table: object) -> Iterator[tuple[str, object]]:
    if isinstance(table, dict):
        yield from ((str(key), value) for key, value in table.items())
    for line in table if isinstance(table, list) else ():
        name, _, value = str(line).partition("=")
        yield name, value


def _published(ports: object, inner: int, known: Mapping[str, str]) -> Iterator[int]:
    """Ports of this machine that lead to the service's own."""
    for one in ports if isinstance(ports, list) else ():
        outside, target = _port_pair(one, known)
        if target == str(inner) and (port := usable_port(outside)):
            yield port


def _port_pair(entry: Any, known: Mapping[str, str]) -> tuple[str, str]:
    if isinstance(entry, dict):
        return _filled(entry.get("published"), known), _filled(entry.get("target"), known)
    words = _filled(entry, known).partition("/")[0].split(":")
    return words[-2] if len(words) > 1 else "", words[-1]


def _accounts(kind: str, variables: Mapping[str, str]) -> Iterator[ServiceAccount]:
    def value(*names: str) -> str:
        return next((variables[name] for name in names if variables.get(name)), "")

    if kind == "postgres":
        user = value("POSTGRES_USER", "POSTGRESQL_USERNAME") or "postgres"
        database = value("POSTGRES_DB", "POSTGRESQL_DATABASE") or user
        yield account(user, value("POSTGRES_PASSWORD", "POSTGRESQL_PASSWORD"), database)
    if kind == "mysql":
        database = value("MYSQL_DATABASE", "MARIADB_DATABASE")
        if user := value("MYSQL_USER", "MARIADB_USER"):
            yield account(user, value("MYSQL_PASSWORD", "MARIADB_PASSWORD"), database)
        yield account("root", value("MYSQL_ROOT_PASSWORD", "MARIADB_ROOT_PASSWORD"), database)
