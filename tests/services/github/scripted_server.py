"""An HTTP server that gives scripted answers and records every request."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    verb: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Any = None


@dataclass(frozen=True)
class Says:
    status: int = 200
    data: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    """Body instead of `data`, sent unchanged."""
    cut: bool = False
    """The connection ends before the answer does."""


Script = Callable[[Asked], Says]


class Server:
    def __init__(self, script: Script) -> None:
        self.script, self.asked = script, list[Asked]()
        self.url = ""

    @property
    def paths(self) -> list[str]:
        return [f"{asked.verb} {asked.path}" for asked in self.asked]


@contextmanager
def served(script: Script, prefix: str = "") -> Iterator[Server]:
    server = Server(script)
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    http.daemon_threads = True
    server.url = f"http://127.0.0.1:{http.server_port}{prefix}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


def in_turn(*said: Says) -> Script:
    """Returns the responses one after the other; the last one is repeated."""
    left = list(said)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def handle_any(self) -> None:
            length = int(self.headers.get("content-length", 0))
            body = json.loads(self.rfile.read(length)) if length else None
            asked = Asked(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body)
            server.asked.append(asked)
            self._say(server.script(asked))

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = handle_any  # noqa: N815

        def _say(self, says: Says) -> None:
            raw = says.raw if says.raw is not None else b"" if says.data is None else json.dumps(says.data).encode()
            names = {name.lower() for name in says.headers}
            self.send_response_only(says.status)
            if "date" not in names:
                self.send_header("Date", self.date_time_string())
            for name, value in says.headers.items():
                self.send_header(name, value)
            if says.status not in {204, 304}:
                self.send_header("Content-Length", str(len(raw) + (10 if says.cut else 0)))
            self.end_headers()
            self.wfile.write(raw)
            self.close_connection = self.close_connection or says.cut

        def log_message(self, *_: object) -> None:
            pass

    return Handler


class FakeClock:
    """Moves only when a test sleeps."""

    def __init__(self, now: float) -> None:
        self.now = now
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.slept.append(seconds)
        self.now += seconds
