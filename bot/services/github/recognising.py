"""Is a server that we know nothing of a GitHub? It is asked one harmless question, as nobody."""

import httpx

_SECONDS = 5.0
_SIGN = "x-github-request-id"
"""On every answer of GitHub's, also on refusals, and on nobody else's."""


def is_github(api_url: str) -> bool:
    """False as well when it does not answer."""
    try:
        answer = httpx.get(f"{api_url}/meta", timeout=_SECONDS, follow_redirects=False)
    except (httpx.HTTPError, httpx.InvalidURL):
        return False
    return _SIGN in answer.headers
