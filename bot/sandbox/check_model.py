"""Checks the model's service with a request that costs nothing: it answers, takes the key, and knows the model."""

import asyncio
from collections.abc import Mapping

import httpx

from bot.domain.health import Health
from bot.sandbox.proxy.http_proxy import HttpProxy
from bot.sandbox.proxy.model import COUNT_TOKENS, key_variable, model_client, unreachable, upstream_for, why_no_model

_SECONDS = 20.0
_ANY_MODEL = "claude-haiku-4-5"
"""Named in the request if the agent's program chooses the model."""
_HEADERS = {"anthropic-version": "2023-06-01"}
_OAUTH_HEADERS = {"anthropic-beta": "oauth-2025-04-20"}
"""Without it, the service refuses tokens from `claude setup-token`."""
_KEY_REFUSED, _NOT_FOUND, _LIMITED = frozenset({401, 402, 403}), 404, frozenset({429, 529})


async def check_model(variables: Mapping[str, str], chosen: str, http_proxy: HttpProxy | None) -> Health:
    """`variables`: address and key of the model. `chosen`: its full name; empty if it is not known."""
    upstream = upstream_for(variables)
    oauth = _OAUTH_HEADERS if "authorization" in upstream.headers else {}
    body = {"model": chosen or _ANY_MODEL, "messages": [{"role": "user", "content": "Hello"}]}
    async with model_client(upstream, http_proxy) as client:
        try:
            async with asyncio.timeout(_SECONDS):
                answer = await client.post(COUNT_TOKENS, json=body, headers={**_HEADERS, **oauth, **upstream.headers})
        except (httpx.HTTPError, TimeoutError) as problem:
            return Health("model", ok=False, detail=unreachable(client.base_url, problem))
    return _judge(client.base_url, answer, key_variable(variables), chosen)


def _judge(address: httpx.URL, answer: httpx.Response, variable: str, chosen: str) -> Health:
    status = answer.status_code
    if status in _KEY_REFUSED:
        fix = f"Set {variable} to a valid key, or renew it."
        return Health("model", ok=False, detail=f"The model's service refuses the key (it answers {status}). {fix}")
    if status in _LIMITED:
        return Health("model", ok=True, detail=f"it takes the key, but limits requests now ({status})")
    if why := why_no_model(address, answer):
        return Health("model", ok=False, detail=why)
    if status == _NOT_FOUND and chosen and chosen in answer.text:
        detail = f"The model's service does not know the model {chosen}. Correct `agent.model` or ANTHROPIC_MODEL."
        return Health("model", ok=False, detail=detail)
    if answer.is_success:
        return Health("model", ok=True, detail="it answers, and takes the key")
    return Health("model", ok=True, detail=f"it answers, but cannot test the key ({status})")
