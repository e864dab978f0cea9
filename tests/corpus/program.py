"""The installed `treehand`, on a machine that reaches its registries at private addresses.

The proxy connects to public addresses only. This starts the same program with a proxy that may connect to the
registries' addresses of this machine, and with setup that knows the machine's certificates. Only the corpus uses it,
and only if `CORPUS_PRIVATE_REGISTRIES` is set.
"""

import os
import socket
import sys

from bot.cli.main import main
from bot.sandbox.proxy.network import Network
from bot.setup import run_steps

_CERTIFICATES = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "PIP_CERT", "REQUESTS_CA_BUNDLE")


def _open_up(hosts: str) -> None:
    private = {str(found[4][0]) for host in hosts.split() for found in socket.getaddrinfo(host, 443)}
    told = {name: os.environ[name] for name in _CERTIFICATES if name in os.environ}
    resolve, is_public, dial, http_proxy = Network.__init__.__defaults__
    Network.__init__.__defaults__ = (
        resolve, lambda address: address in private or is_public(address), dial, http_proxy,
    )  # fmt: skip
    original = run_steps.setup_variables
    run_steps.setup_variables = lambda *words: {**told, **original(*words)}


if __name__ == "__main__":
    if asked := os.environ.get("CORPUS_PRIVATE_REGISTRIES"):
        _open_up(asked)
    sys.exit(main())
