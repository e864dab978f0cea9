"""Sends one message to one address through Apprise, in a thread of its own, so that a slow service blocks nothing.

Rule: an address holds tokens. Only its scheme and its host name are ever shown.
"""

import hashlib
import logging
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bot.notifications.text import NotificationText, neutralize_plain

_SCHEME = re.compile(r"[A-Za-z0-9+.-]{1,20}(?=://)")
_HOST = re.compile(r"localhost|[\w-]+(\.[\w-]+)+|[0-9A-Fa-f]*(:[0-9A-Fa-f]*)+")
UNKNOWN_ADDRESS = "Apprise does not know this kind of address"


def channel_id(url: str) -> str:
    """Returns a stable hash, so that the database holds no address."""
    return hashlib.sha256(url.encode()).hexdigest()[:16]


def scheme_of(url: str) -> str:
    found = _SCHEME.match(url)
    return found[0].lower() if found else "unreadable"


def describe_address(url: str) -> str:
    """Returns the scheme and the host for display. Raises ValueError if Apprise cannot parse the address."""
    import apprise

    with _captured_log():
        plugin = apprise.Apprise.instantiate(url)
    if not isinstance(plugin, apprise.NotifyBase):
        raise ValueError(UNKNOWN_ADDRESS)  # noqa: TRY004 - to the operator it is one problem
    host = str(plugin.host or "") if "host" in plugin.template_tokens else ""
    return f"{scheme_of(url)} {host}" if _HOST.fullmatch(host) else scheme_of(url)


@dataclass(slots=True)
class SentMessage:
    """A message being sent. `problem` is set before `ended`; empty if the service accepted the message."""

    begun_at: float
    problem: str = ""
    ended: threading.Event = field(default_factory=threading.Event)


def start_sending(url: str, compose: Callable[[], NotificationText], *, now: float) -> SentMessage:
    """Composes and sends in a daemon thread: composing reads the disk, and the process may exit without waiting."""
    sending = SentMessage(now)

    def run() -> None:
        sending.problem = send(url, compose)
        sending.ended.set()

    threading.Thread(target=run, name=f"notification {scheme_of(url)}", daemon=True).start()
    return sending


def send(url: str, compose: Callable[[], NotificationText]) -> str:
    """Returns the problem; empty if the message was accepted. Blocks until the service answers."""
    try:
        return _send(url, compose())
    except Exception as exc:  # noqa: BLE001 - every service's plugin raises its own errors
        return f"{type(exc).__name__}: {exc}"


def _send(url: str, text: NotificationText) -> str:
    import apprise

    with _captured_log() as captured:
        service = apprise.Apprise()
        if not service.add(url):
            return UNKNOWN_ADDRESS
        if service.notify(text.body, title=text.title, body_format=apprise.NotifyFormat.TEXT):
            return ""
    return captured.message or "the service rejected the message"


@contextmanager
def _captured_log() -> Iterator["_FirstComplaint"]:
    """Keeps Apprise's log lines, which may contain the address, out of our log."""
    logger, captured = logging.getLogger("apprise"), _FirstComplaint()
    logger.propagate = False
    logger.addFilter(captured)
    try:
        yield captured
    finally:
        logger.removeFilter(captured)


class _FirstComplaint(logging.Filter):
    """Captures the first warning of Apprise in this thread."""

    def __init__(self) -> None:
        super().__init__()
        self.message = ""
        self._thread = threading.get_ident()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.thread != self._thread:
            return True
        if record.levelno >= logging.WARNING and not self.message:
            self.message = neutralize_plain(record.getMessage(), 120)
        return False
