"""A package registry on loopback, and the only allowance for it: the names and addresses that the proxy sees in a test.

The installed command runs unchanged. A `sitecustomize` on the path of its Python gives the proxy other defaults for
resolving names and for dialling; the addresses that it checks are those that the names have here.
"""

import asyncio
import base64
import gzip
import hashlib
import io
import json
import ssl
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

REGISTRY, FILES, INTERNAL = "registry.test", "files.test", "npm.corp.test"
PUBLIC, PRIVATE = "93.184.216.34", "10.0.0.7"

_ALLOWANCE = """\
import asyncio
from bot.sandbox.proxy.network import Network

NAMES = {names!r}


async def resolve(host, port):
    if host not in NAMES:
        raise OSError("no such name")
    return [NAMES[host]]


async def dial(address, port):
    return await asyncio.open_connection("127.0.0.1", {port})


_, is_public, _, http_proxy = Network.__init__.__defaults__
Network.__init__.__defaults__ = resolve, is_public, dial, http_proxy
"""


@dataclass
class Registry:
    """Serves the package `tea`. Its registry redirects to another host for the files."""

    folder: Path
    port: int = 0
    asked: list[str] = field(default_factory=list)
    """Host and path of each request."""

    @property
    def environment(self) -> dict[str, str]:
        """Variables for the installed command."""
        allowance = self.folder / "allowance"
        allowance.mkdir(exist_ok=True)
        names = {REGISTRY: PUBLIC, FILES: PUBLIC, INTERNAL: PRIVATE}
        (allowance / "sitecustomize.py").write_text(_ALLOWANCE.format(names=names, port=self.port))
        return {"PYTHONPATH": f"{allowance}:{Path.cwd()}"}

    async def receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                lines = request.decode().split("\r\n")
                path = lines[0].split()[1]
                host = next(line[5:].strip() for line in lines if line.lower().startswith("host:")).partition(":")[0]
                self.asked.append(f"{host}{path}")
                writer.write(_answer(host, path))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def registry(folder: Path, tls: ssl.SSLContext) -> AsyncIterator[Registry]:
    made = Registry(folder)
    server = await asyncio.start_server(made.receive, "127.0.0.1", 0, ssl=tls)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


def node_project(name: str = "tea", **more: str) -> dict[str, str]:
    """A package that depends on `tea`, without a lock file: only setup knows where it comes from."""
    manifest = {"name": "shop", "version": "1.0.0", "dependencies": {name: "1.0.0"}, "scripts": more}
    npmrc = f"registry=https://{REGISTRY}/\nstrict-ssl=false\naudit=false\nfund=false\nfetch-retries=0\n"
    return {"package.json": json.dumps(manifest), ".npmrc": npmrc, ".gitignore": "node_modules/\n"}


def _package() -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as file:
        content = json.dumps({"name": "tea", "version": "1.0.0", "main": "index.js"}).encode()
        info = tarfile.TarInfo("package/package.json")
        info.size = len(content)
        file.addfile(info, io.BytesIO(content))
    return gzip.compress(held.getvalue(), mtime=0)


def _answer(host: str, path: str) -> bytes:
    if host == REGISTRY and path.startswith("/tea/-/"):
        return b"HTTP/1.1 302 Found\r\nlocation: https://%s%s\r\ncontent-length: 0\r\n\r\n" % (
            FILES.encode(),
            path.encode(),
        )
    if path.startswith("/tea/-/"):
        return _response(_package(), "application/octet-stream")
    if path.partition("?")[0] != "/tea":
        return b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
    digest = base64.b64encode(hashlib.sha512(_package()).digest()).decode()
    version = {
        "name": "tea",
        "version": "1.0.0",
        "dist": {"tarball": f"https://{REGISTRY}/tea/-/tea-1.0.0.tgz", "integrity": f"sha512-{digest}"},
    }
    found = {"name": "tea", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
    return _response(json.dumps(found).encode(), "application/json")


def _response(body: bytes, kind: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body
