"""Services beside an agent: what a repository asks for, and the programs that the sandbox starts. Pure values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

SERVICE_NAMES = ("postgres", "mysql", "redis", "memcached")
"""Services that Treehand can start, as settings name them."""


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """A user, or a database, or both, that the repository expects in a service."""

    user: str = ""
    password: str = ""
    database: str = ""


@dataclass(frozen=True, slots=True)
class WantedService:
    """A service that a repository asks for."""

    name: str
    """One of SERVICE_NAMES, or that of another service, which Treehand cannot start."""
    version: str = ""
    """The wanted version; empty if no file says."""
    why: str = ""
    """The files that ask for it, or the settings."""
    ports: tuple[int, ...] = ()
    """Ports of this machine at which the repository expects it."""
    accounts: tuple[ServiceAccount, ...] = ()
    hosts: tuple[str, ...] = ()
    """Host names at which the repository expects it, besides localhost."""
    extension: str = ""
    """A part that the service needs and may lack, such as PostGIS."""
    is_required: bool = False
    """The settings name it: setup fails without it."""


@dataclass(frozen=True, slots=True)
class ServiceProgram:
    """A server program that a sandbox starts before its command, and that ends with it."""

    name: str
    """Also the name of its folder."""
    title: str
    """`PostgreSQL 15.18`."""
    command: tuple[str, ...]
    """Runs in its data folder."""
    port: int
    other_ports: tuple[int, ...] = ()
    """Ports that lead to `port`."""
    prepare: str = ""
    """Shell script that fills its data folder, once."""
    ready: tuple[str, ...] = ()
    """Program that succeeds as soon as the service answers; empty: it answers when its port is open."""
    stale: tuple[str, ...] = ()
    """Files in its data folder that a killed server leaves and a new one refuses."""
    stop_signal: int = 15
    """Asks it to end soon, with its data complete."""
    sockets: str = ""
    """Folder in which its clients expect its socket."""


@dataclass(frozen=True, slots=True)
class ServiceMounts:
    """Services of one worktree."""

    data: Path
    """Folder with their data: theirs to write, and nobody else's."""
    programs: tuple[ServiceProgram, ...] = ()
    """Empty: none is started, and the data can be seen."""
    hosts: tuple[str, ...] = ()
    """Further names of the sandbox itself."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables that tell commands where the services are."""
    summary: tuple[str, ...] = ()
    """A line on each, for agents."""
