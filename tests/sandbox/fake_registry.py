"""A company's registry with packages for npm and pip: on loopback, with a certificate of the company's own authority.

It answers only requests that carry its token, and behaves as badly as a test wants.
"""

import asyncio
import base64
import datetime as dt
import hashlib
import io
import json
import ssl
import tarfile
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.sandbox.fake_network import Heard, Internet, Write, answer_of, serving

TOKEN = "corp-token-4711-abcdef"
HOST = "packages.corp.test"
PRIVATE = "10.20.30.40"
"""The address that the company's name server gives for the registry."""

Answer = Callable[[Heard], bytes]


@dataclass
class Company:
    """An authority, and the certificates that it signs."""

    folder: Path
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    @property
    def ca_file(self) -> Path:
        file = self.folder / "company-ca.pem"
        if not file.exists():
            made = _builder("Company", "Company", self.key.public_key())
            made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            made = made.add_extension(_MAY_SIGN, critical=True)
            file.write_bytes(made.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        return file

    def server(self, name: str) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        made = _builder(name, "Company", key.public_key())
        made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        made = made.add_extension(issuer, critical=False)  # Python 3.13 demands it, and that the authority may sign
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        chain = self.folder / f"{name}.pem"
        chain.write_bytes(private + made.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
        return context


_MAY_SIGN = x509.KeyUsage(
    digital_signature=False, content_commitment=False, key_encipherment=False, data_encipherment=False,
    key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
)  # fmt: skip


def _builder(subject: str, issuer: str, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

    today = dt.datetime.now(dt.UTC) - dt.timedelta(hours=1)
    made = x509.CertificateBuilder().subject_name(name(subject)).issuer_name(name(issuer)).public_key(public)
    made = made.serial_number(x509.random_serial_number())
    made = made.not_valid_before(today).not_valid_after(today + dt.timedelta(2))
    return made.add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)


@dataclass
class FakeRegistry:
    answer: Answer
    port: int = 0
    heard: list[Heard] = field(default_factory=list)

    def net(self, *addresses: str) -> Internet:
        """Names and addresses of the company, with the registry behind all of them."""
        return Internet({HOST: [list(addresses) or [PRIVATE]]}, port=self.port)


@asynccontextmanager
async def registry(company: Company, answer: Answer | None = None, name: str = HOST) -> AsyncIterator[FakeRegistry]:
    made = FakeRegistry(answer or packages)

    async def play(heard: Heard, write: Write) -> None:
        made.heard.append(heard)
        await write(made.answer(heard))

    async with serving(play) as service:
        server = await asyncio.start_server(service.receive, "127.0.0.1", 0, ssl=company.server(name))
        made.port = server.sockets[0].getsockname()[1]
        try:
            yield made
        finally:
            server.close()


def packages(heard: Heard) -> bytes:
    """Answers as registries of npm and of Python do; `corp-words` is the only package of both."""
    sent = heard.header("authorization")
    if sent not in ([f"Bearer {TOKEN}"], ["Basic " + base64.b64encode(f"me:{TOKEN}".encode()).decode()]):
        return answer_of(401, b'{"error": "Unauthorized"}')
    path = heard.target.partition("?")[0]
    if path == "/npm/corp-words":
        return answer_of(200, json.dumps(_npm_document()).encode())
    if path == "/npm/corp-words/-/corp-words-1.0.0.tgz":
        return answer_of(200, _npm_package(), kind="application/octet-stream")
    if path == "/simple/corp-words/":
        return answer_of(200, b'<a href="/files/corp_words-1.0.0-py3-none-any.whl">1</a>', kind="text/html")
    if path == "/files/corp_words-1.0.0-py3-none-any.whl":
        return answer_of(200, _wheel(), kind="application/octet-stream")
    return answer_of(404, b'{"error": "not found"}')


def _npm_document() -> dict:
    tarball = f"https://{HOST}/npm/corp-words/-/corp-words-1.0.0.tgz"
    dist = {"tarball": tarball, "shasum": hashlib.sha1(_npm_package()).hexdigest()}
    version = {"name": "corp-words", "version": "1.0.0", "dist": dist}
    return {"name": "corp-words", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}


def _npm_package() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        files = {"package.json": '{"name": "corp-words", "version": "1.0.0"}', "index.js": 'module.exports = "hello"'}
        for name, text in files.items():
            info = tarfile.TarInfo(f"package/{name}")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return b"".join((packed.getvalue()[:4], bytes(4), packed.getvalue()[8:]))  # without the time


def _wheel() -> bytes:
    packed = io.BytesIO()
    info = "corp_words-1.0.0.dist-info"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("corp_words.py", 'WORD = "hello"\n')
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: corp-words\nVersion: 1.0.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", f"corp_words.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return packed.getvalue()
