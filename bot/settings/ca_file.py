"""Makes this process trust the operator's own authorities, in all its clients and in the git that it starts."""

import os

from bot.errors import BadSettings
from bot.settings.schema import Settings
from bot.system.certificates import machine_bundle, read_certificates

_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO")
"""Variables that httpx, requests and git read."""
_BUNDLE = "authorities.pem"
"""File in the state directory."""


def trust_ca_file(settings: Settings) -> None:
    """Makes this process, and the git that it starts, trust `sandbox.ca_file` besides the machine's authorities."""
    assert settings.sandbox.ca_file
    bundle = settings.state_dir / _BUNDLE
    own, machine = read_certificates(settings.sandbox.ca_file, "sandbox.ca_file"), machine_bundle()
    if machine != bundle:
        text = own + (read_certificates(machine, "SSL_CERT_FILE") if machine else "")
        fresh = bundle.with_name(f"{_BUNDLE}.{os.getpid()}")
        try:
            settings.state_dir.mkdir(parents=True, exist_ok=True)
            fresh.write_text(text)
            fresh.replace(bundle)
        except OSError as exc:
            raise BadSettings(f"{bundle} cannot be written: {exc.strerror}. Choose another state_dir.") from exc
        os.environ |= dict.fromkeys(_VARIABLES, str(bundle))
