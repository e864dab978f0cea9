"""Authority of one sandbox: signs certificates with which the proxy answers for the sandbox's registries.

Rule: no key is written to a disk. Only this sandbox trusts the authority, and only for the names of its registries.
"""

import datetime as dt
import os
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from bot.system.clock import now

_DAYS = 60
"""A server that people look at keeps its sandbox open."""
_NAME = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Treehand proxy")])
_HASH = hashes.SHA256()


@dataclass(frozen=True, slots=True)
class Authority:
    certificate: str
    """In PEM; for the sandbox."""
    contexts: Mapping[str, ssl.SSLContext]
    """TLS of the proxy's side, by the name of the host."""


def make_authority(hosts: Iterable[str]) -> Authority:
    """The key of the authority is forgotten here: nothing can be signed later."""
    names = tuple(dict.fromkeys(hosts))
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _authority_certificate(key, names)
    contexts = {name: _context(name, key, certificate) for name in names}
    return Authority(_pem(certificate).decode("ascii"), contexts)


def _authority_certificate(key: ec.EllipticCurvePrivateKey, names: Iterable[str]) -> x509.Certificate:
    permitted = x509.NameConstraints([x509.DNSName(name) for name in names], excluded_subtrees=None)
    made = _builder(_NAME, key.public_key())
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    made = made.add_extension(_usage(signs=True), critical=True).add_extension(permitted, critical=True)
    return made.sign(key, _HASH)


def _context(name: str, key: ec.EllipticCurvePrivateKey, issuer: x509.Certificate) -> ssl.SSLContext:
    own = ec.generate_private_key(ec.SECP256R1())
    made = _builder(x509.Name([]), own.public_key())
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=True)
    made = made.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    made = made.add_extension(_usage(signs=False), critical=True)
    made = made.add_extension(x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    made = made.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
    private = own.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    _load(context, private + _pem(made.sign(key, _HASH)) + _pem(issuer))
    return context


def _builder(subject: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    today, day = dt.datetime.fromtimestamp(now(), dt.UTC), dt.timedelta(days=1)
    made = x509.CertificateBuilder().subject_name(subject).issuer_name(_NAME).public_key(public)
    made = made.serial_number(x509.random_serial_number())
    made = made.not_valid_before(today - day).not_valid_after(today + _DAYS * day)
    return made.add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=signs, crl_sign=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _load(context: ssl.SSLContext, chain: bytes) -> None:
    """TLS reads keys from files only: this one is in memory, and has no name."""
    with os.fdopen(os.memfd_create("chain"), "wb") as file:
        file.write(chain)
        file.flush()
        context.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
