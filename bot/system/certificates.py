"""Certificates of authorities: those that this machine trusts, and those in the operator's own file."""

import ssl
from collections.abc import Iterator
from pathlib import Path

from bot.errors import BadSettings

_SYSTEM_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
_SYSTEM_ADDITIONS = ("/usr/local/share/ca-certificates", "/etc/pki/ca-trust/source/anchors", "/etc/pki/trust/anchors")
"""Folders in which the administrator of a machine adds authorities."""


def read_certificates(file: Path, name: str) -> str:
    """Returns the certificates of a PEM file and nothing else of it. `name` is the setting that names the file."""
    try:
        text = file.read_text(encoding="ascii", errors="replace")
    except OSError as exc:
        raise BadSettings(f"{name}: {file} cannot be read: {exc.strerror}.") from exc
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    found = list(split_certificates(text))
    try:
        context.load_verify_locations(cadata="".join(found))
    except (ssl.SSLError, ValueError) as exc:
        what = "contains a damaged certificate" if found else "contains no certificate"
        raise BadSettings(f"{name}: {file} {what}. It must be a PEM file: `-----BEGIN CERTIFICATE-----`.") from exc
    return "".join(found)


def machine_bundle() -> Path | None:
    """The file with all authorities that programs of this machine trust; `SSL_CERT_FILE` replaces the system's."""
    chosen = ssl.get_default_verify_paths()
    candidates = [chosen.cafile, *_SYSTEM_BUNDLES] if chosen.cafile else _SYSTEM_BUNDLES
    return next((Path(name) for name in candidates if name and Path(name).is_file()), None)


def has_own_authorities() -> bool:
    """True if the operator or the administrator of this machine has chosen authorities."""
    chosen = ssl.get_default_verify_paths()
    if chosen.cafile and chosen.cafile != chosen.openssl_cafile:
        return True
    return any(path.is_file() for folder in _SYSTEM_ADDITIONS for path in Path(folder).rglob("*"))


def split_certificates(text: str) -> Iterator[str]:
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    for part in text.split(begin)[1:]:
        body, found, _ = part.partition(end)
        if found:
            yield f"{begin}{body}{end}\n"
