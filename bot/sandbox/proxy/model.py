"""Model route of the proxy: forwards message requests to the model, with a key that the sandbox never sees."""

import asyncio
import contextlib
import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field

import h11
import httpx

from bot.domain.price import NO_TOKENS, Price, TokenCounts, is_unpriced, price_of
from bot.sandbox.mount_plan import MODEL_KEYS, PROXY_PORT
from bot.sandbox.proxy.connection import Connection, ConnectionGone, HeaderList
from bot.sandbox.proxy.grant import DayBudget, Grant, ModelUpstream, ProxyRefusal, SandboxUsage
from bot.sandbox.proxy.http_proxy import HttpProxy
from bot.sandbox.proxy.model_request import ModelRequest, parse_model_request, refuse_unknown_betas
from bot.sandbox.proxy.model_usage_limit import parse_usage_limit
from bot.sandbox.proxy.request_budget import RequestBill, RequestBudget
from bot.sandbox.proxy.token_usage import TokenUsage

MODEL_ADDRESS = "https://api.anthropic.com"
_PROXY_ADDRESS = f"http://127.0.0.1:{PROXY_PORT}"
PROXY_VARIABLES = dict.fromkeys(("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"), _PROXY_ADDRESS)
"""Variables through which programs in the sandbox find the proxy."""
_KEY_HEADERS = {"ANTHROPIC_API_KEY": "x-api-key"}
MESSAGES = "/v1/messages"
COUNT_TOKENS = "/v1/messages/count_tokens"
_QUERIES = frozenset({"", "beta=true"})

_MAX_BYTES = 32 * 1024 * 1024
"""The model's service takes no more."""
_MAX_AT_ONCE = 8
_MAX_COUNTS = 500
_LARGE_BYTES = 256 * 1024
_FIRST_ERROR_STATUS = 400
_FIRST_SERVER_ERROR = 500
_REASON_LETTERS = 200
_KEY_REFUSED = frozenset({401, 402, 403})

_REQUEST_HEADERS = re.compile(
    rb"accept|user-agent|x-app|x-claude-code-[\w-]+|x-stainless-[\w-]+"
    rb"|anthropic-(?:beta|version|dangerous-direct-browser-access)"
)
_RESPONSE_HEADERS = re.compile(rb"content-type|request-id|retry-after(?:-ms)?|x-should-retry|anthropic-[\w-]+")
_ALIAS = re.compile(r"[A-Za-z-]+")
_ANY_MODEL = frozenset({"", "default", "best", "opusplan"})
_WINDOW = re.compile(r"\[\w+\]$")


def key_variable(model: Mapping[str, str]) -> str:
    """Name of the variable whose key is used; empty if there is no key."""
    return next((name for name in MODEL_KEYS if model.get(name)), "")


def upstream_for(model: Mapping[str, str]) -> ModelUpstream:
    address, key = model.get("ANTHROPIC_BASE_URL") or MODEL_ADDRESS, key_variable(model)
    if not key:
        return ModelUpstream(address, {})
    header = _KEY_HEADERS.get(key, "authorization")
    return ModelUpstream(address, {header: model[key] if key in _KEY_HEADERS else f"Bearer {model[key]}"})


def model_variables(model: Mapping[str, str], token: str) -> dict[str, str]:
    """Variables of the agent's program, with `token` in place of the model's key."""
    variables = {"ANTHROPIC_BASE_URL": _PROXY_ADDRESS, key_variable(model) or MODEL_KEYS[0]: token}
    if name := model.get("ANTHROPIC_MODEL"):
        variables["ANTHROPIC_MODEL"] = name
    return {**variables, **PROXY_VARIABLES}


def model_client(upstream: ModelUpstream, http_proxy: HttpProxy | None = None) -> httpx.AsyncClient:
    """A client for this address alone: no redirects, no other proxies of the environment, and no log of requests."""
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    place = httpx.URL(upstream.address)
    is_covered = http_proxy is not None and place.scheme == "https" and http_proxy.covers(place.host)
    return httpx.AsyncClient(
        proxy=http_proxy.url if http_proxy and is_covered else None,
        base_url=upstream.address,
        timeout=httpx.Timeout(600.0, connect=15.0, write=60.0, pool=None),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=_MAX_AT_ONCE),
        trust_env=False,
        verify=httpx.create_ssl_context() if upstream.address.startswith("https:") else False,
    )


@dataclass(slots=True)
class ModelRoute:
    """Access of one sandbox to the model."""

    upstream: ModelUpstream
    grant: Grant
    usage: SandboxUsage
    client: httpx.AsyncClient
    count_answer: Callable[[int], None] = lambda _: None
    """Called with the status of each answer of the model's service; 0: no answer came."""
    prices: Mapping[str, Price] = field(default_factory=dict)
    """Prices that the operator set, by the name of the model."""
    day: DayBudget = field(default_factory=DayBudget)
    _pinned: str = ""
    _counts: int = 0
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MAX_AT_ONCE))
    _parse_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _budget: RequestBudget = field(init=False)

    def __post_init__(self) -> None:
        self._budget = RequestBudget(self.grant, self.usage, self.day)

    async def serve(self, connection: Connection, request: h11.Request, path: str) -> None:
        _ensure_known_query(request)
        refuse_unknown_betas(request.headers)
        async with self._slots:
            body = await connection.body(_MAX_BYTES)
            parsed = await self._parse(body)
            self._ensure_model(parsed.model)
            target = request.target.decode("ascii")
            upstream_request = self.client.build_request(
                "POST", target, content=body, headers=self._request_headers(request)
            )
            if path == COUNT_TOKENS:
                self._limit_counts()
                await self._forward(connection, upstream_request, None)
                return
            if is_unpriced(parsed.model, self.prices):
                self.usage.record_unpriced(parsed.model)
            bill = RequestBill(parsed.input, parsed.output, price_of(parsed.model, self.prices))
            async with self._budget.reserve(bill):
                try:
                    await self._forward(connection, upstream_request, bill)
                finally:
                    self._settle(bill)

    def _request_headers(self, request: h11.Request) -> HeaderList:
        """Asks for uncompressed answers, so that tokens can be counted, and says itself how the body is to be read."""
        ours = [(name.encode(), value.encode()) for name, value in self.upstream.headers.items()]
        known = [(name, value) for name, value in request.headers if _REQUEST_HEADERS.fullmatch(name)]
        return [*known, *ours, (b"content-type", b"application/json"), (b"accept-encoding", b"identity")]

    async def _parse(self, body: bytes) -> ModelRequest:
        """Parses a large body in a thread, one after another: in the loop it would hold up everything else."""
        if len(body) < _LARGE_BYTES:
            return parse_model_request(body)
        async with self._parse_lock:
            return await asyncio.to_thread(parse_model_request, body)

    def _ensure_model(self, model: str) -> None:
        allowed = _WINDOW.sub("", self.grant.model)
        if not self._pinned and _may_choose(allowed, model):
            self._pinned = model
        if model != (self._pinned or allowed):
            only = self._pinned or allowed
            raise ProxyRefusal(403, f"This run may use only the model {only}.", attempt=f"ask for the model {model}")

    def _limit_counts(self) -> None:
        self._counts += 1
        if self._counts > _MAX_COUNTS:
            raise ProxyRefusal(
                429, "Tokens were counted too often.", attempt=f"count tokens more than {_MAX_COUNTS} times"
            )

    async def _forward(self, connection: Connection, upstream_request: httpx.Request, bill: RequestBill | None) -> None:
        """Returns when the answer has ended; ends the request to the model if the connection is closed before."""
        async with asyncio.TaskGroup() as group:
            answering = group.create_task(self._answer(connection, upstream_request, bill))
            leaving = group.create_task(connection.wait_until_closed())
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            gone = not answering.done()
            answering.cancel()
            leaving.cancel()
        if gone:
            raise ConnectionGone
        if problem := answering.result():
            raise problem

    async def _answer(
        self, connection: Connection, upstream_request: httpx.Request, bill: RequestBill | None
    ) -> ProxyRefusal | ConnectionGone | None:
        started = False
        try:
            async with self._open_response(upstream_request) as response:
                self.usage.unreachable = why_no_model(self.client.base_url, response)
                if _is_page(response):
                    return self._not_answered(bill, "A web page answers instead of the model's service.")
                self.count_answer(response.status_code)
                counter = self._start_counting(response, bill)
                self.usage.is_key_refused |= response.status_code in _KEY_REFUSED
                if bill:
                    self.usage.limit_reset_at = parse_usage_limit(response.status_code, response.headers)
                await connection.start_response(response.status_code, _response_headers(response))
                started = True
                async for chunk in response.aiter_bytes():
                    if counter:
                        counter.feed(chunk)
                    await connection.send_data(chunk)
                if counter:
                    counter.finish()
                await connection.end_response()
        except httpx.HTTPError as problem:
            self.usage.unreachable = unreachable(self.client.base_url, problem)
            refusal = self._not_answered(bill, "The model's service does not answer.")
            return ConnectionGone() if started else refusal
        except ConnectionGone as gone:
            return gone
        return None

    def _not_answered(self, bill: RequestBill | None, why: str) -> ProxyRefusal:
        self.count_answer(0)
        if bill:
            bill.is_free = True
        return ProxyRefusal(502, why)

    def _start_counting(self, response: httpx.Response, bill: RequestBill | None) -> TokenUsage | None:
        """Returns the counter of the answer's tokens; None if the answer is free, as errors are."""
        if bill is None:
            return None
        if response.status_code >= _FIRST_ERROR_STATUS:
            bill.is_free = True
            return None
        streamed = "text/event-stream" in response.headers.get("content-type", "")
        bill.counter = TokenUsage(_Meter(self.usage, bill), streamed=streamed)
        return bill.counter

    def _settle(self, bill: RequestBill) -> None:
        """Counts what an answer that was cut off has cost besides what the service reported of it: an estimate."""
        if bill.counter:
            bill.counter.settle()
        elif not bill.is_free:  # the agent left while the service was reading
            _Meter(self.usage, bill)(TokenCounts(input=bill.input))

    @contextlib.asynccontextmanager
    async def _open_response(self, upstream_request: httpx.Request) -> AsyncIterator[httpx.Response]:
        response = await self.client.send(upstream_request, stream=True)
        try:
            yield response
        finally:
            await response.aclose()


@dataclass(slots=True)
class _Meter:
    """Adds the growing counts of one answer to the usage of its sandbox: so much of it is not reserved any more."""

    usage: SandboxUsage
    bill: RequestBill
    _counted: TokenCounts = NO_TOKENS

    def __call__(self, counts: TokenCounts) -> None:
        bill, price = self.bill, self.bill.price
        usd = price.cost(counts) - price.cost(self._counted)
        tokens, self._counted = counts.tokens - self._counted.tokens, counts
        is_final = bill.counter is not None and bill.counter.is_final
        settled = bill.unsettled_usd if is_final else min(usd, bill.unsettled_usd)
        bill.unsettled_usd -= settled
        if tokens or usd or settled:
            self.usage.add(tokens, usd, settled_usd=settled)


def unreachable(address: httpx.URL, problem: Exception) -> str:
    reason = " ".join(str(problem).split())[:_REASON_LETTERS] or type(problem).__name__
    return f"The model's service at {_place(address)} does not answer ({reason})."


def why_no_model(address: httpx.URL, response: httpx.Response) -> str:
    """Returns why this answer is not the model's; empty if it is."""
    if response.status_code >= _FIRST_SERVER_ERROR:
        return f"The model's service at {_place(address)} does not work now (it answers with {response.status_code})."
    if _is_page(response):
        return (
            f"A web page answers at {_place(address)} instead of the model's service ({response.status_code}). "
            "Does the network want a login, or is the address wrong?"
        )
    return ""


def _is_page(response: httpx.Response) -> bool:
    """Returns True for the page of a network that wants a login, or the way to it. Errors of a service may be pages."""
    is_page = response.has_redirect_location or "text/html" in response.headers.get("content-type", "")
    return is_page and response.status_code < _FIRST_SERVER_ERROR


def _place(address: httpx.URL) -> str:
    """Names the address that was tried, without anything else that is in it."""
    return f"{address.scheme}://{address.host}{f':{address.port}' if address.port else ''}"


def _may_choose(allowed: str, model: str) -> bool:
    return allowed in _ANY_MODEL or (_ALIAS.fullmatch(allowed) is not None and allowed.lower() in model.lower())


def _ensure_known_query(request: h11.Request) -> None:
    query = request.target.decode("ascii").partition("?")[2]
    if query not in _QUERIES:
        raise ProxyRefusal(403, "The query is not allowed.", attempt=f"ask the model's service for ?{query}")


def _response_headers(response: httpx.Response) -> HeaderList:
    return [(name.lower(), value) for name, value in response.headers.raw if _RESPONSE_HEADERS.fullmatch(name.lower())]
