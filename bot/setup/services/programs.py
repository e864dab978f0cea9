"""Finds the servers that are installed on this machine, and says how to start each. Installs nothing."""

import os
import re
import shlex
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.domain.service import ServiceAccount, ServiceProgram, WantedService
from bot.domain.version_range import Version, parse_version
from bot.setup.download_hosts import RunTool
from bot.setup.services.container import DEFAULT_PORTS

SOCKETS = {"postgres": "/run/postgresql", "mysql": "/run/mysqld"}
_SEARCH_MORE = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec")
_FOLDERS = {"postgres": ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")}
"""Folders of servers that are on no PATH."""
_SERVERS = {
    "postgres": ("postgres",), "mysql": ("mariadbd", "mysqld"), "redis": ("redis-server", "valkey-server"),
    "memcached": ("memcached",),
}  # fmt: skip
_BESIDE = {"postgres": ("initdb", "pg_isready")}
"""Programs that are needed as well, beside the real program of a link."""
_TITLES = {
    "postgres": "PostgreSQL", "mariadbd": "MariaDB", "mysqld": "MySQL", "redis-server": "Redis",
    "valkey-server": "Valkey", "memcached": "Memcached",
}  # fmt: skip
_PACKAGES = {"postgres": "postgresql", "mysql": "mariadb-server", "redis": "redis-server", "memcached": "memcached"}
_NUMBER = re.compile(r"\b(?:v=)?([0-9]{1,4}(?:\.[0-9]{1,4}){1,3})")


@dataclass(frozen=True, slots=True)
class InstalledServer:
    name: str
    program: Path
    version: Version
    product: str
    """Name of its program, which may have another name here: MariaDB also installs itself as `mysqld`."""

    @property
    def title(self) -> str:
        return f"{_TITLES[self.product]} {'.'.join(map(str, self.version))}".strip()


@dataclass(frozen=True, slots=True)
class InstalledServers:
    """The servers that a sandbox can see."""

    search: Callable[[], str] = lambda: ""
    """Returns the PATH of the sandbox; empty: no service can be started here."""
    run_tool: RunTool = lambda _: ""
    _versions: dict[tuple[str, int], Version] = field(default_factory=dict)
    """Versions by the path and the time of change of the program that printed them."""

    @property
    def has_sandbox(self) -> bool:
        return bool(self.search())

    def find(self, wanted: WantedService) -> InstalledServer | None:
        """The one with the wanted version, or else the newest."""
        known = sorted(self._installed(wanted.name), key=lambda one: one.version, reverse=True)
        version = parse_version(wanted.version)
        return next((one for one in known if one.version[: len(version)] == version), known[0] if known else None)

    def _installed(self, name: str) -> Iterator[InstalledServer]:
        path = self.search()
        if not path or name not in _SERVERS:
            return
        folders = [str(found) for pattern in _FOLDERS.get(name, ()) for found in Path("/").glob(pattern[1:])]
        for server in _SERVERS[name]:
            for folder in (*path.split(os.pathsep), *_SEARCH_MORE, *folders):
                if found := shutil.which(server, path=folder):
                    real = Path(found).resolve()
                    product = real.name if real.name in _TITLES else server
                    program = real if name in _BESIDE else Path(found)
                    if all(program.with_name(other).exists() for other in _BESIDE.get(name, ())):
                        yield InstalledServer(name, program, self._version_of(found), product)

    def _version_of(self, program: str) -> Version:
        try:
            key = program, Path(program).stat().st_mtime_ns
        except OSError:
            return ()
        if key not in self._versions:
            number = _NUMBER.search(self.run_tool((program, "--version")))
            self._versions[key] = parse_version(number[1]) if number else ()
        return self._versions[key]


def has_extension(server: InstalledServer, name: str) -> bool:
    """Returns True if PostgreSQL has this extension where distributions put it."""
    prefix, major = server.program.parents[1], ".".join(map(str, server.version[:1]))
    shares = (Path("/usr/share/postgresql") / major, prefix / "share", prefix / "share" / "postgresql")
    return any((share / "extension" / f"{name}.control").is_file() for share in shares)


def advice_for(name: str) -> str:
    return f"Debian, Ubuntu: `apt-get install {_PACKAGES[name]}`"


def program_for(server: InstalledServer, wanted: WantedService) -> ServiceProgram:
    return _STARTS[server.name](server, wanted)


def _ports(wanted: WantedService) -> tuple[int, tuple[int, ...]]:
    """Its usual port, and the others at which the repository expects it."""
    usual = DEFAULT_PORTS[wanted.name]
    return usual, tuple(port for port in wanted.ports if port != usual)


def accounts_of(wanted: WantedService) -> Sequence[ServiceAccount]:
    """At least one, with a user."""
    user = "postgres" if wanted.name == "postgres" else "root"
    named = [one for one in wanted.accounts if one.user]
    return [*named, *(ServiceAccount(user, "", one.database) for one in wanted.accounts if not one.user)] or [
        ServiceAccount(user, "", "postgres" if wanted.name == "postgres" else "")
    ]


def _start_postgres(server: InstalledServer, wanted: WantedService) -> ServiceProgram:
    """It accepts every password: only the sandbox reaches it."""
    port, others = _ports(wanted)
    tools, first = server.program.parent, accounts_of(wanted)[0].user
    initdb = (str(tools / "initdb"), "-D", ".", "-U", first, "-A", "trust", "-E", "UTF8", "--no-sync")
    sql = "".join(f"{line}\n" for line in _postgres_statements(accounts_of(wanted), first))
    options = {
        "fsync": "off", "full_page_writes": "off", "synchronous_commit": "off", "shared_buffers": "32MB",
        "max_wal_size": "64MB", "min_wal_size": "32MB", "listen_addresses": "*", "port": port,
        "unix_socket_directories": SOCKETS["postgres"],
    }  # fmt: skip
    return ServiceProgram(
        "postgres",
        server.title,
        (
            str(server.program),
            "-D",
            ".",
            *(word for key, value in options.items() for word in ("-c", f"{key}={value}")),
        ),
        port,
        others,
        f"{shlex.join(initdb)} --locale=C.UTF-8 || {{ rm -rf ./*; {shlex.join(initdb)} --locale=C; }} && "
        f"printf %s {shlex.quote(sql)} | {shlex.quote(str(server.program))} --single -F -D . postgres",
        (str(tools / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)),
        ("postmaster.pid",),
        signal.SIGINT,
        SOCKETS["postgres"],
    )


def _postgres_statements(accounts: Sequence[ServiceAccount], first: str) -> Iterator[str]:
    """Names hold no quotes: `container.account` has left out those that do."""
    for user in dict.fromkeys([*(one.user for one in accounts), "postgres"]):
        if user != first:
            yield f'CREATE ROLE "{user}" SUPERUSER LOGIN'
    for database, owner in {one.database: one.user for one in reversed(accounts) if one.database}.items():
        if database not in {"postgres", "template0", "template1"}:
            yield f'CREATE DATABASE "{database}" OWNER "{owner}"'


def _start_mysql(server: InstalledServer, wanted: WantedService) -> ServiceProgram:
    port, others = _ports(wanted)
    socket = f"{SOCKETS['mysql']}/mysqld.sock"
    sql = "\n".join(_mysql_statements(accounts_of(wanted)))
    if server.product == "mysqld":
        fill = f"{shlex.quote(str(server.program))} --no-defaults --initialize-insecure --datadir=."
        options: tuple[str, ...] = ("--mysqlx=OFF",)
    else:
        fill = "mariadb-install-db --no-defaults --datadir=. --auth-root-authentication-method=normal --skip-test-db"
        options = ("--innodb-log-file-size=8M",)
    return ServiceProgram(
        "mysql",
        server.title,
        (
            str(server.program), "--no-defaults", "--datadir=.", f"--port={port}", f"--socket={socket}",
            "--pid-file=/run/mysqld/mysqld.pid", "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0",
            "--skip-log-bin", "--init-file=accounts.sql", *options,
        ),
        port,
        others,
        f"{fill} {shlex.join(options)} && printf %s {shlex.quote(sql)} > accounts.sql",
        sockets=SOCKETS["mysql"],
    )  # fmt: skip


def _mysql_statements(accounts: Sequence[ServiceAccount]) -> Iterator[str]:
    """Repeated at each start: they change nothing that is there."""
    people = {one.user: one.password for one in accounts} | {
        "root": next((one.password for one in accounts if one.user == "root" and one.password), "")
    }
    for database in dict.fromkeys(one.database for one in accounts if one.database):
        yield f"CREATE DATABASE IF NOT EXISTS `{database}`;"
    for user, password in people.items():
        for host in ("%", "localhost", "127.0.0.1"):
            quoted = password.replace("\\", "\\\\").replace("'", "''")
            yield f"CREATE USER IF NOT EXISTS '{user}'@'{host}';"
            yield f"ALTER USER '{user}'@'{host}' IDENTIFIED BY '{quoted}';"
            yield f"GRANT ALL ON *.* TO '{user}'@'{host}' WITH GRANT OPTION;"


def _start_redis(server: InstalledServer, wanted: WantedService) -> ServiceProgram:
    """Its data survives its own death, and not that of the machine."""
    port, others = _ports(wanted)
    words = (
        "--port", str(port), "--dir", ".", "--appendonly", "yes", "--appendfsync", "no", "--save", "",
        "--protected-mode", "no",
    )  # fmt: skip
    client = server.program.with_name(server.program.name.replace("server", "cli"))
    ready = (
        "/bin/sh",
        "-c",
        f"{shlex.quote(str(client))} -p {port} ping | grep -q PONG",
    )  # not while it reads its data
    return ServiceProgram("redis", server.title, (str(server.program), *words), port, others, ready=ready)


def _start_memcached(server: InstalledServer, wanted: WantedService) -> ServiceProgram:
    port, others = _ports(wanted)
    return ServiceProgram("memcached", server.title, (str(server.program), "-p", str(port), "-U", "0"), port, others)


_STARTS: Mapping[str, Callable[[InstalledServer, WantedService], ServiceProgram]] = {
    "postgres": _start_postgres,
    "mysql": _start_mysql,
    "redis": _start_redis,
    "memcached": _start_memcached,
}
