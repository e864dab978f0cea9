"""Stand-ins for channels on the loopback: a web hook and a mail server that can delay or refuse messages."""

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Hook:
    host: str = "127.0.0.1"
    port: int = 0
    status: int = 200
    got: list[dict[str, str]] = field(default_factory=list)
    """Messages that arrived, with any answer."""
    let_go: threading.Event = field(default_factory=threading.Event)
    """Until it is set, nobody is answered."""

    def __post_init__(self) -> None:
        self.let_go.set()

    @property
    def url(self) -> str:
        return f"json://{self.host}:{self.port}/hook/a1b2c3d4e5f6?cto=5&rto=60"

    @property
    def bodies(self) -> list[str]:
        return [one["message"] for one in self.got]


@contextmanager
def hook(address: tuple[str, int] = ("127.0.0.1", 0)) -> Iterator[Hook]:
    there = Hook(address[0])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            there.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            there.let_go.wait(60)
            self.send_response(there.status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(address, Handler)
    with _answering(server) as there.port:
        try:
            yield there
        finally:
            there.let_go.set()


@dataclass
class Mailbox:
    port: int = 0
    mails: list[str] = field(default_factory=list)


@contextmanager
def mailbox() -> Iterator[Mailbox]:
    """Accepts every message."""
    there = Mailbox()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 here\r\n")
            for line in self.rfile:
                verb = line.strip().upper()
                if verb == b"DATA":
                    self.wfile.write(b"354 go on\r\n")
                    there.mails.append(b"".join(iter(self.rfile.readline, b".\r\n")).decode())
                self.wfile.write(b"221 bye\r\n" if verb == b"QUIT" else b"250 fine\r\n")
                if verb == b"QUIT":
                    return

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    with _answering(server) as there.port:
        yield there


@contextmanager
def _answering(server: socketserver.TCPServer) -> Iterator[int]:
    """Serves in its own threads; yields the port."""
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
