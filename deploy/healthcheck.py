"""Health check of the container: asks the daemon for /healthz. Uses only Python's standard library."""

import http.client
import os
import sys
import tomllib
from pathlib import Path

_DEFAULT = "127.0.0.1:8700"
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - recognised, not bound
_SECONDS = 4.0


def main() -> str:
    """Returns an empty string if the daemon is healthy, otherwise the reason."""
    bind = _bind()
    host, _, port = bind.rpartition(":")
    if not port:
        return "web.bind is empty, so there is no health check"
    connection = http.client.HTTPConnection(_EVERYWHERE.get(host, host).strip("[]"), int(port), timeout=_SECONDS)
    try:
        connection.request("GET", "/healthz")
        status = connection.getresponse().status
    except OSError as problem:
        return f"no answer from {bind}: {problem}"
    finally:
        connection.close()
    return "" if status == http.HTTPStatus.OK else f"{bind} answers {status}"


def _bind() -> str:
    """Reads the environment first, then the settings file, like Treehand."""
    variable = os.environ.get("TREEHAND_WEB__BIND")
    file = Path(os.environ.get("TREEHAND_CONFIG", "treehand.toml"))
    if variable is not None:
        return variable
    settings = tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return str(settings.get("web", {}).get("bind", _DEFAULT))


if __name__ == "__main__":
    sys.exit(main() or 0)
