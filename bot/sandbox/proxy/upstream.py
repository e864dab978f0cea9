"""How the gate reaches the model, and what an agent holds in place of the key. Pure."""

from collections.abc import Mapping

from bot.sandbox.mount_plan import KEYS, PORT
from bot.sandbox.proxy import Upstream

ADDRESS = "https://api.anthropic.com"
_PROXY = f"http://127.0.0.1:{PORT}"
PROXIES = dict.fromkeys(("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"), _PROXY)
"""How programs in there find the gate."""
_HEADERS = {"ANTHROPIC_API_KEY": "x-api-key"}


def key_in(model: Mapping[str, str]) -> str:
    """The name of the variable with the credential that counts; empty: there is none."""
    return next((name for name in KEYS if model.get(name)), "")


def upstream_for(model: Mapping[str, str]) -> Upstream:
    address, key = model.get("ANTHROPIC_BASE_URL") or ADDRESS, key_in(model)
    if not key:
        return Upstream(address, {})
    header = _HEADERS.get(key, "authorization")
    return Upstream(address, {header: model[key] if key in _HEADERS else f"Bearer {model[key]}"})


def stand_in_for(model: Mapping[str, str], token: str) -> dict[str, str]:
    """What the agent's program is told instead: it behaves as with the real key, and holds nothing of worth."""
    told = {"ANTHROPIC_BASE_URL": _PROXY, key_in(model) or KEYS[0]: token}
    if name := model.get("ANTHROPIC_MODEL"):
        told["ANTHROPIC_MODEL"] = name
    return {**told, **PROXIES}
