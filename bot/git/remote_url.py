"""Where a git remote leads, in whichever way its address is written."""

import re
from dataclasses import dataclass
from typing import Self

_URL = re.compile(r"(?P<scheme>[a-z+]+)://(?:[^@/]*@)?(?P<host>\[[^]]+\]|[^:/]+)(?::(?P<port>\d+))?/+(?P<path>.+)")
_LIKE_SCP = re.compile(r"(?:[^@/:]+@)?(?P<host>[A-Za-z0-9][^@/:]+):/*(?P<path>[^:]+)")
_OWNER_AND_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[\w.-]+")
_OVER_THE_WEB = {"http", "https"}
_BY_SSH = {"ssh", "git+ssh", "ssh+git"}
_GITHUB, _OF_TENANTS = "github.com", ".ghe.com"
_OTHER_NAMES = {"ssh.github.com": _GITHUB, "www.github.com": _GITHUB}


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    path: str
    site: str
    """Where people look at it: `https://github.com`."""
    by_ssh: bool = False

    @property
    def repository(self) -> str:
        """`owner/name`; empty: it is not laid out like that."""
        return self.path if _OWNER_AND_NAME.fullmatch(self.path) else ""

    @property
    def is_github(self) -> bool:
        """By its name alone. An Enterprise server may be called anything."""
        return self.host == _GITHUB or self.host.endswith(_OF_TENANTS)

    @property
    def api_url(self) -> str:
        """Where GitHub's API is, if this is one."""
        return f"https://api.{self.host}" if self.is_github else f"{self.site}/api/v3"

    def on(self, host: str) -> Self:
        """The same, where ssh's own settings give the host another name."""
        return type(self)(_known(host), self.path, f"https://{_known(host)}", by_ssh=self.by_ssh)


def parse_address(text: str) -> Address | None:
    """None: it leads to no other machine."""
    text = text.strip()
    if found := _URL.fullmatch(text):
        scheme, host = found["scheme"], _known(found["host"])
        if scheme in _OVER_THE_WEB:
            port = f":{found['port']}" if found["port"] else ""
            return Address(host, _path(found["path"]), f"{scheme}://{host}{port}")
        return Address(host, _path(found["path"]), f"https://{host}", by_ssh=scheme in _BY_SSH)
    if "://" not in text and (found := _LIKE_SCP.fullmatch(text)):
        host = _known(found["host"])
        return Address(host, _path(found["path"]), f"https://{host}", by_ssh=True)
    return None


def _known(host: str) -> str:
    return _OTHER_NAMES.get(host.lower(), host.lower())


def _path(text: str) -> str:
    return text.strip("/").removesuffix(".git").rstrip("/")
