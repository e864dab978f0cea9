"""A remote over HTTP: git's own server, and the batch requests of Git LFS, for one credential."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

from bot.domain.remote import Remote

_CREDENTIAL = "Basic dHJlZWhhbmQ6dG9rZW4="


class LfsServer:
    """Serves one bare repository. `speaks_lfs`: answers requests for its objects."""

    def __init__(self, bare: Path) -> None:
        self.bare = bare
        self.speaks_lfs = True
        self.url = ""

    @property
    def remote(self) -> Remote:
        config = {"KEY_0": f"http.{self.url}.extraHeader", "VALUE_0": f"Authorization: {_CREDENTIAL}"}
        return Remote(self.url, {"GIT_CONFIG_COUNT": "1", **{f"GIT_CONFIG_{key}": one for key, one in config.items()}})

    def place_of(self, oid: str) -> Path:
        return self.bare / "lfs" / "objects" / oid[:2] / oid[2:4] / oid

    def batch(self, asked: dict[str, object]) -> dict[str, object]:
        """https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md"""
        objects = asked["objects"]
        assert isinstance(objects, list)
        return {"transfer": "basic", "objects": [self._actions(one, str(asked["operation"])) for one in objects]}

    def _actions(self, one: dict[str, object], operation: str) -> dict[str, object]:
        is_here = self.place_of(str(one["oid"])).exists()
        if operation == "download" and not is_here:
            return {**one, "error": {"code": 404, "message": "Object does not exist"}}
        if operation == "upload" and is_here:
            return one
        return {**one, "actions": {operation: {"href": f"{self.url}/objects/{one['oid']}"}}}


class _Server(ThreadingHTTPServer):
    site: LfsServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline:
            self.close_connection = True
        elif self.parse_request():
            self._serve()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        path = urlsplit(self.path).path
        if self.headers.get("Authorization") != _CREDENTIAL:
            self._reply(401, b"", {"WWW-Authenticate": "Basic"})
        elif "/info/lfs/" in path or "/objects/" in path:
            self._lfs(path, body)
        else:
            self._git(path, body)

    def _lfs(self, path: str, body: bytes) -> None:
        site, kind = self.server.site, {"Content-Type": "application/vnd.git-lfs+json"}
        place = site.place_of(path.rpartition("/")[2])
        if not site.speaks_lfs or "/locks" in path:
            self._reply(404, b'{"message": "Not found"}', kind)
        elif path.endswith("/info/lfs/objects/batch"):
            self._reply(200, json.dumps(site.batch(json.loads(body))).encode(), kind)
        elif self.command == "PUT":
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(body)
            self._reply(200, b"", {})
        else:
            self._reply(200, place.read_bytes(), {})

    def _git(self, path: str, body: bytes) -> None:
        cgi = {
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(self.server.site.bare.parent),
            "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": urlsplit(self.path).query,
            "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)), "REMOTE_USER": "treehand",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
        }  # fmt: skip
        command = ["git", "http-backend"]
        answer = subprocess.run(command, env=cgi, input=body, capture_output=True, timeout=60, check=True).stdout
        head, _, content = answer.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self._reply(int(headers.pop("Status", "200 OK").split()[0]), content, headers)

    def _reply(self, code: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(bare: Path) -> Iterator[LfsServer]:
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.site = LfsServer(bare)
        server.site.url = f"http://127.0.0.1:{server.server_port}/{bare.name}"
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.site
        finally:
            server.shutdown()
            thread.join()
