"""A package registry on loopback, for the real npm."""

import base64
import contextlib
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


@dataclass
class NpmRegistry:
    """Packages by name and version, as archives."""

    url: str = ""
    archives: dict[tuple[str, str], bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def add(self, name: str, version: str, files: Mapping[str, str], **manifest: object) -> bytes:
        """Returns the archive."""
        manifest = {"name": name, "version": version, **manifest}
        return self.add_archive(name, version, pack({"package.json": json.dumps(manifest), **files}))

    def add_archive(self, name: str, version: str, archive: bytes) -> bytes:
        self.archives[name, version] = archive
        return archive

    def answer(self, path: str) -> bytes | None:
        self.asked.append(path)
        wanted = unquote(path.removeprefix("/"))
        name, _, file = wanted.partition("/-/")
        if file:
            return self.archives.get((name, file.removesuffix(".tgz")))
        versions = {version: self._entry(name, version) for one, version in self.archives if one == name}
        if not versions:
            return None
        return json.dumps({"name": name, "dist-tags": {"latest": max(versions)}, "versions": versions}).encode()

    def _entry(self, name: str, version: str) -> dict[str, object]:
        archive = self.archives[name, version]
        integrity = f"sha512-{base64.b64encode(hashlib.sha512(archive).digest()).decode()}"
        dist = {"tarball": f"{self.url}/{name}/-/{version}.tgz", "integrity": integrity}
        return {"name": name, "version": version, "dist": dist}


def pack(files: Mapping[str, str], *members: tarfile.TarInfo) -> bytes:
    """An archive as npm makes it, with further members before its files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for member in members:
            archive.addfile(member)
        for path, text in files.items():
            content = text.encode()
            info = tarfile.TarInfo(f"package/{path}")
            info.size, info.mode = len(content), 0o644
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


@contextlib.contextmanager
def serve_registry() -> Iterator[NpmRegistry]:
    registry = NpmRegistry()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = registry.answer(self.path)
            self.send_response(200 if found is not None else 404)
            self.end_headers()
            self.wfile.write(found or b"{}")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        registry.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield registry
        finally:
            server.shutdown()
            thread.join()
