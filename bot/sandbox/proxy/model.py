"""The one way to the model: its messages and nothing else, with a key that the sandbox never sees."""

import asyncio
import contextlib
import logging
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import h11
import httpx

from bot.sandbox.proxy.connection import Caller, Gone, Headers
from bot.sandbox.proxy.grant import Passage, Passport, Refusal, Upstream
from bot.sandbox.proxy.model_request import Ask, parse_ask
from bot.sandbox.proxy.token_budget import Bill, Meter
from bot.sandbox.proxy.token_usage import Usage
from bot.sandbox.proxy.usage_limit import limit_in

MESSAGES = "/v1/messages"
COUNT = "/v1/messages/count_tokens"
_QUERIES = frozenset({"", "beta=true"})

_MOST_BYTES = 64 * 1024 * 1024
_MOST_AT_ONCE = 8
_MOST_COUNTS = 500
_LARGE = 1024 * 1024
_ERROR = 400
_KEY_REFUSED = frozenset({401, 402, 403})

_SENT_ON = re.compile(
    rb"accept|content-type|user-agent|x-app|x-claude-[\w-]+|x-stainless-[\w-]+"
    rb"|anthropic-(?:beta|version|dangerous-direct-browser-access)"
)
_SENT_BACK = re.compile(rb"content-type|request-id|retry-after(?:-ms)?|x-should-retry|anthropic-[\w-]+")
_ALIAS = re.compile(r"[A-Za-z-]+")
_ANY_MODEL = frozenset({"", "default", "best", "opusplan"})
_WINDOW = re.compile(r"\[\w+\]$")


def client_for(upstream: Upstream) -> httpx.AsyncClient:
    """Goes nowhere else: no redirects, no proxies of the environment. And tells nobody what it carries."""
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    return httpx.AsyncClient(
        base_url=upstream.address,
        timeout=httpx.Timeout(600.0, connect=15.0, write=60.0, pool=None),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=_MOST_AT_ONCE),
        trust_env=False,
        verify=httpx.create_ssl_context() if upstream.address.startswith("https:") else False,
    )


@dataclass(slots=True)
class ModelRoute:
    """For one sandbox."""

    upstream: Upstream
    passport: Passport
    passage: Passage
    client: httpx.AsyncClient
    heard: Callable[[int], None] = lambda _: None
    """With the status of each answer of the model's service; 0: there was none."""
    _pinned: str = ""
    _counted: int = 0
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MOST_AT_ONCE))
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    _meter: Meter = field(init=False)

    def __post_init__(self) -> None:
        self._meter = Meter(self.passport.most_tokens, self.passage)

    async def serve(self, caller: Caller, request: h11.Request, path: str) -> None:
        _ensure_known_query(request)
        async with self._slots:
            body = await caller.body(_MOST_BYTES)
            ask = await self._read(body)
            self._ensure_model(ask.model)
            target = request.target.decode("ascii")
            sent = self.client.build_request("POST", target, content=body, headers=self._sent_on(request))
            if path == COUNT:
                self._count()
                await self._pass_on(caller, sent, None)
                return
            bill = Bill(ask.input, ask.output)
            async with self._meter.holding(bill):
                await self._pass_on(caller, sent, bill)

    def _sent_on(self, request: h11.Request) -> Headers:
        """Answers come unpacked, so that they can be counted."""
        ours = [(name.encode(), value.encode()) for name, value in self.upstream.headers.items()]
        known = [(name, value) for name, value in request.headers if _SENT_ON.fullmatch(name)]
        return [*known, *ours, (b"accept-encoding", b"identity")]

    async def _read(self, body: bytes) -> Ask:
        """A large one stops everything else for a moment: then everything else has its turn first."""
        if len(body) < _LARGE:
            return parse_ask(body)
        async with self._reading:
            clock = asyncio.get_running_loop().time
            begun = clock()
            try:
                return parse_ask(body)
            finally:
                await asyncio.sleep(clock() - begun)

    def _ensure_model(self, model: str) -> None:
        given = _WINDOW.sub("", self.passport.model)
        if not self._pinned and _may_choose(given, model):
            self._pinned = model
        if model != (self._pinned or given):
            only = self._pinned or given
            raise Refusal(403, f"This run may ask the model {only} only.", tried=f"ask for the model {model}")

    def _count(self) -> None:
        self._counted += 1
        if self._counted > _MOST_COUNTS:
            raise Refusal(429, "Tokens were counted too often.", tried=f"count tokens more than {_MOST_COUNTS} times")

    async def _pass_on(self, caller: Caller, sent: httpx.Request, bill: Bill | None) -> None:
        """Until the answer has ended, or the caller is gone: then the model need not go on either."""
        async with asyncio.TaskGroup() as group:
            answering = group.create_task(self._answer(caller, sent, bill))
            leaving = group.create_task(caller.until_gone())
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            gone = not answering.done()
            answering.cancel()
            leaving.cancel()
        if gone:
            raise Gone
        if problem := answering.result():
            raise problem

    async def _answer(self, caller: Caller, sent: httpx.Request, bill: Bill | None) -> Refusal | Gone | None:
        begun = False
        try:
            async with self._sending(sent) as response:
                self.heard(response.status_code)
                usage = self._usage_of(response, bill)
                self.passage.is_key_refused |= response.status_code in _KEY_REFUSED
                if bill:
                    self.passage.limit = limit_in(response.status_code, response.headers)
                await caller.begin(response.status_code, _sent_back(response))
                begun = True
                async for chunk in response.aiter_bytes():
                    if usage:
                        usage.feed(chunk)
                    await caller.give(chunk)
                if usage:
                    usage.end()
                await caller.end()
        except httpx.HTTPError:
            self.heard(0)
            if bill:
                bill.is_excused = True
            return Gone() if begun else Refusal(502, "The model's service does not answer.")
        except Gone as gone:
            return gone
        return None

    def _usage_of(self, response: httpx.Response, bill: Bill | None) -> Usage | None:
        """An error costs nothing."""
        if bill is None:
            return None
        if response.status_code >= _ERROR:
            bill.is_excused = True
            return None
        streamed = "text/event-stream" in response.headers.get("content-type", "")
        bill.usage = Usage(self.passage.count, streamed=streamed)
        return bill.usage

    @contextlib.asynccontextmanager
    async def _sending(self, sent: httpx.Request) -> AsyncIterator[httpx.Response]:
        response = await self.client.send(sent, stream=True)
        try:
            yield response
        finally:
            await response.aclose()


def _may_choose(given: str, model: str) -> bool:
    return given in _ANY_MODEL or (_ALIAS.fullmatch(given) is not None and given.lower() in model.lower())


def _ensure_known_query(request: h11.Request) -> None:
    query = request.target.decode("ascii").partition("?")[2]
    if query not in _QUERIES:
        raise Refusal(403, "That is not asked of the model here.", tried=f"ask the model's service for ?{query}")


def _sent_back(response: httpx.Response) -> Headers:
    return [(name.lower(), value) for name, value in response.headers.raw if _SENT_BACK.fullmatch(name.lower())]
