"""Parses the URL of a git remote in all its spellings (https, ssh, scp-like)."""

import re
from dataclasses import dataclass
from typing import Self

_URL = re.compile(r"(?P<scheme>[a-z+]+)://(?:[^@/]*@)?(?P<host>\[[^]]+\]|[^:/]+)(?::(?P<port>\d+))?/(?P<path>.+)")
_LIKE_SCP = re.compile(r"(?:[^@/:]+@)?(?P<host>[A-Za-z0-9][^@/:]+):(?P<path>[^:]+)")
_OWNER_AND_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[\w.-]+")
_WEB_SCHEMES = {"http", "https"}
_SSH_SCHEMES = {"ssh", "git+ssh", "ssh+git"}
_GITHUB, _GHE_DOMAIN = "github.com", ".ghe.com"
_HOST_ALIASES = {"ssh.github.com": _GITHUB, "www.github.com": _GITHUB}


@dataclass(frozen=True, slots=True)
class RemoteUrl:
    host: str
    path: str
    site: str
    """Web address of the host: `https://github.com`."""
    by_ssh: bool = False

    @property
    def repository(self) -> str:
        """`owner/name`; empty if the path has another form."""
        return self.path if _OWNER_AND_NAME.fullmatch(self.path) else ""

    @property
    def is_github(self) -> bool:
        """Decided by host name; an Enterprise server can have any name."""
        return self.host == _GITHUB or self.host.endswith(_GHE_DOMAIN)

    @property
    def api_url(self) -> str:
        """Address of the GitHub API, if the host is GitHub."""
        return f"https://api.{self.host}" if self.is_github else f"{self.site}/api/v3"

    def on(self, host: str) -> Self:
        """The same repository on a host whose name an ssh alias stands for."""
        return type(self)(_canonical_host(host), self.path, f"https://{_canonical_host(host)}", by_ssh=self.by_ssh)


def parse_remote_url(text: str) -> RemoteUrl | None:
    """Returns None if the URL names no other machine."""
    text = text.strip()
    if found := _URL.fullmatch(text):
        scheme, host = found["scheme"], _canonical_host(found["host"])
        if scheme in _WEB_SCHEMES:
            port = f":{found['port']}" if found["port"] else ""
            return RemoteUrl(host, _path(found["path"]), f"{scheme}://{host}{port}")
        return RemoteUrl(host, _path(found["path"]), f"https://{host}", by_ssh=scheme in _SSH_SCHEMES)
    if "://" not in text and (found := _LIKE_SCP.fullmatch(text)):
        host = _canonical_host(found["host"])
        return RemoteUrl(host, _path(found["path"]), f"https://{host}", by_ssh=True)
    return None


def _canonical_host(host: str) -> str:
    return _HOST_ALIASES.get(host.lower(), host.lower())


def _path(text: str) -> str:
    return text.strip("/").removesuffix(".git").rstrip("/")
