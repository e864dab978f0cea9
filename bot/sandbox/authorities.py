"""Authorities that tools in a sandbox trust: this machine's, the operator's own, and the proxy's for its registries."""

import contextlib
import ssl
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from bot.sandbox.mount_plan import AUTHORITIES, JAVA_AUTHORITIES
from bot.system.certificates import machine_bundle, read_certificates, split_certificates

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_VARIABLES = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "npm_config_cafile",
    "CARGO_HTTP_CAINFO",
    "BUNDLE_SSL_CA_CERT",
    "COMPOSER_CAFILE",
    "DENO_CERT",
)
"""Variables with a file of certificates. Other tools read one of these, or the system's files."""
AUTHORITY_FILES = (Path(AUTHORITIES).name, Path(JAVA_AUTHORITIES).name)
"""Names of the files that `write` leaves in the folder of a sandbox."""
_PASSWORD = "changeit"  # noqa: S105 - Java's own default: it protects nothing
_JAVA = (
    f"-Djavax.net.ssl.trustStore={JAVA_AUTHORITIES} -Djavax.net.ssl.trustStoreType=PKCS12 "
    f"-Djavax.net.ssl.trustStorePassword={_PASSWORD}"
)


@dataclass(frozen=True)
class TrustedAuthorities:
    ca_file: Path | None = None
    """Certificates of the operator's own authorities."""
    has_more: bool = False
    """This machine trusts authorities that tools do not know by themselves."""

    @cached_property
    def own(self) -> str:
        """Raises BadSettings if the file cannot be used."""
        return read_certificates(self.ca_file, "sandbox.ca_file") if self.ca_file else ""

    @cached_property
    def machine(self) -> str:
        bundle = machine_bundle()
        return read_certificates(bundle, "SSL_CERT_FILE") if bundle else ""

    @property
    def are_usual(self) -> bool:
        """True if tools find all of them by themselves."""
        return not (self.own or self.has_more)

    @property
    def context(self) -> ssl.SSLContext:
        """TLS of the host to registries."""
        context = ssl.create_default_context()
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        if self.own:
            context.load_verify_locations(cadata=self.own)
        return context

    def write(self, folder: Path, more: str, *, for_java: bool) -> Mapping[str, str]:
        """Writes the files of one sandbox and returns their variables. `more`: a certificate for this sandbox alone."""
        text = f"{more}{self.own}{self.machine}"
        _write(folder / AUTHORITY_FILES[0], text.encode())
        if not for_java:
            return dict.fromkeys(_VARIABLES, AUTHORITIES)
        _write(folder / AUTHORITY_FILES[1], _java_store(text))
        return {**dict.fromkeys(_VARIABLES, AUTHORITIES), "JDK_JAVA_OPTIONS": _JAVA}


def _write(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    file.chmod(0o644)  # agents of another user id read it in their sandbox


def _java_store(text: str) -> bytes:
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore

    named = [PKCS12Certificate(one, f"authority-{number}".encode()) for number, one in enumerate(_parsed(text))]
    return serialize_java_truststore(named, BestAvailableEncryption(_PASSWORD.encode()))


def _parsed(text: str) -> "Iterator[Certificate]":
    """Without old certificates that break the rules of today."""
    from cryptography.utils import CryptographyDeprecationWarning
    from cryptography.x509 import load_pem_x509_certificate

    with warnings.catch_warnings():
        warnings.simplefilter("error", CryptographyDeprecationWarning)
        for one in split_certificates(text):
            with contextlib.suppress(ValueError, CryptographyDeprecationWarning):
                yield load_pem_x509_certificate(one.encode())
