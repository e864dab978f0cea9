"""One address of a person, through Apprise: in a thread of its own, so that one that hangs holds up nobody.

Rule: an address holds tokens. Nothing but its scheme, and its host where that is one, is ever shown.
"""

import hashlib
import logging
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bot.notifications.text import Announcement, harmless

_SCHEME = re.compile(r"[A-Za-z0-9+.-]{1,20}(?=://)")
_HOST = re.compile(r"localhost|[\w-]+(\.[\w-]+)+|[0-9A-Fa-f]*(:[0-9A-Fa-f]*)+")
UNREADABLE = "this is no address that Apprise knows"


def id_of(url: str) -> str:
    """The same for the same address, and nothing to find it by."""
    return hashlib.sha256(url.encode()).hexdigest()[:16]


def scheme_of(url: str) -> str:
    found = _SCHEME.match(url)
    return found[0].lower() if found else "unreadable"


def shown(url: str) -> str:
    """For people, by what Apprise makes of it. Raises ValueError when that is nothing."""
    import apprise

    with _hearing():
        plugin = apprise.Apprise.instantiate(url)
    if not isinstance(plugin, apprise.NotifyBase):
        raise ValueError(UNREADABLE)  # noqa: TRY004 - to whoever set it, that is one and the same
    host = str(plugin.host or "") if "host" in plugin.template_tokens else ""
    return f"{scheme_of(url)} {host}" if _HOST.fullmatch(host) else scheme_of(url)


@dataclass(slots=True)
class Sending:
    """One message under way. `problem` is known once it has `ended`; empty: it arrived, as far as the service says."""

    begun_at: float
    problem: str = ""
    ended: threading.Event = field(default_factory=threading.Event)


def start(url: str, compose: Callable[[], Announcement], *, now: float) -> Sending:
    """Composed there as well: what it takes may have to wait for the disk. Nobody waits for the thread at the end."""
    sending = Sending(now)

    def run() -> None:
        sending.problem = send(url, compose)
        sending.ended.set()

    threading.Thread(target=run, name=f"telling {scheme_of(url)}", daemon=True).start()
    return sending


def send(url: str, compose: Callable[[], Announcement]) -> str:
    """Why it did not arrive; empty: it did. Takes as long as the service takes."""
    try:
        return _sent(url, compose())
    except Exception as exc:  # noqa: BLE001 - a hundred services, by as many authors
        return f"{type(exc).__name__}: {exc}"


def _sent(url: str, said: Announcement) -> str:
    import apprise

    with _hearing() as heard:
        telling = apprise.Apprise()
        if not telling.add(url):
            return UNREADABLE
        if telling.notify(said.body, title=said.title, body_format=apprise.NotifyFormat.TEXT):
            return ""
    return heard.words or "the service did not take it"


@contextmanager
def _hearing() -> Iterator["_Heard"]:
    """What Apprise says of a service may hold its address, so it is heard here and by nobody else."""
    logger, heard = logging.getLogger("apprise"), _Heard()
    logger.propagate = False
    logger.addFilter(heard)
    try:
        yield heard
    finally:
        logger.removeFilter(heard)


class _Heard(logging.Filter):
    """The first thing Apprise complains of in this thread; it goes no further."""

    def __init__(self) -> None:
        super().__init__()
        self.words = ""
        self._thread = threading.get_ident()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.thread != self._thread:
            return True
        if record.levelno >= logging.WARNING and not self.words:
            self.words = harmless(record.getMessage(), 120)
        return False
