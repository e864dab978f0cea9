"""What the gate lets out of a sandbox: to which hosts, to which model, and how much of it (T8, T9)."""

from tests.mutants.guards.guard import Guard

_GATE = "bot/sandbox/gate"
_EGRESS = "tests/escape/test_egress.py::test"
_TUNNEL = "tests/sandbox/test_tunnel.py::test"
_MODEL = "tests/sandbox/test_model.py::test"
_DOOR = "tests/sandbox/test_gate.py::test"
_PUBLIC = (f"{_DOOR}_nothing_else_is_public",)
_ASKED = (f"{_MODEL}_what_could_be_read_in_two_ways_or_not_at_all_is_refused",)
_SERVICE = (f"{_MODEL}_the_models_service_is_no_way_out_either",)
_PASS = (f"{_MODEL}_without_its_own_pass_and_nothing_else_nobody_asks_the_model",)

HOSTS = (
    Guard(
        "T8: a host that is not listed is not reached",
        f"{_GATE}/tunnel.py",
        "if place not in self._allowed:",
        "if False:",
        (f"{_EGRESS}_t8_a1_an_unlisted_host_is_refused_and_named",),
    ),
    Guard(
        "T8: a port is part of what is listed",
        f"{_GATE}/tunnel.py",
        "if place not in self._allowed:",
        "if place.host not in {one.host for one in self._allowed}:",
        (f"{_EGRESS}_t8_a4_another_port_of_a_listed_host_is_refused",),
    ),
    Guard(
        "T8: a private address is never dialled",
        f"{_GATE}/tunnel.py",
        "if not all(map(self.is_public, addresses)):",
        "if False:",
        (f"{_EGRESS}_t8_a9_not_even_a_listed_address_may_be_inside",),
    ),
    Guard(
        "T8: one private address among public ones is enough to refuse",
        f"{_GATE}/tunnel.py",
        "if not all(map(self.is_public, addresses)):",
        "if not any(map(self.is_public, addresses)):",
        (f"{_EGRESS}_t8_a9_a_listed_name_that_leads_inside_is_refused_even_when_its_other_addresses_do_not",),
    ),
    Guard(
        "T8: what is dialled is the address that was looked at",
        f"{_GATE}/tunnel.py",
        "return await self.dial(address, place.port)",
        "return await self.dial((await self.resolve(place.host, place.port))[0], place.port)",
        (f"{_EGRESS}_t8_a10_a_name_that_changes_its_mind_is_dialled_where_it_was_looked_at",),
    ),
    Guard(
        "T8: TLS in a tunnel asks for the tunnel's own host",
        f"{_GATE}/tunnel.py",
        'if name.removesuffix(".") != (place.host if place.is_named else ""):',
        "if False:",
        (f"{_EGRESS}_t8_a5_a_tunnel_for_one_host_does_not_carry_tls_for_another",),
    ),
    Guard(
        "T8: connections of one sandbox at once have an end",
        f"{_GATE}/tunnel.py",
        "if self._open >= _MOST_AT_ONCE:",
        "if False:",
        (f"{_TUNNEL}_there_is_an_end_to_connections_at_once",),
    ),
    Guard(
        "T8: what is no TLS is told at once",
        f"{_GATE}/hello.py",
        "if rest[0] != _HANDSHAKE or rest[1] != _TLS or not 0 < size <= MOST_BYTES:",
        "if False:",
        (f"{_TUNNEL}_what_is_no_hello_is_refused_at_once",),
    ),
    Guard(
        "T8: a hello with two server names has none",
        f"{_GATE}/hello.py",
        "if hello.data or len(names) > 1:",
        "if hello.data:",
        (f"{_TUNNEL}_two_names_or_odd_ones_are_refused",),
    ),
    Guard(
        "T8: a list of two names in a hello is no name",
        f"{_GATE}/hello.py",
        "if kind != _HOST_NAME or listed.data or content.data:",
        "if kind != _HOST_NAME:",
        (f"{_TUNNEL}_two_names_or_odd_ones_are_refused",),
    ),
    Guard(
        "T8: private and reserved addresses of IPv4 are not public",
        f"{_GATE}/addresses.py",
        "        return False\n    return address.is_global\n\n\ndef _is_public_6",
        "        return False\n    return True\n\n\ndef _is_public_6",
        _PUBLIC,
    ),
    Guard(
        "T8: groups of machines are not public",
        f"{_GATE}/addresses.py",
        "if address.is_multicast or address.is_reserved or any(",
        "if any(",
        _PUBLIC,
    ),
    Guard(
        "T8: a cloud's host under a public-looking address is not public",
        f"{_GATE}/addresses.py",
        '"168.63.129.16/32",',
        "",
        _PUBLIC,
    ),
    Guard(
        "T8: an address wrapped in another is judged as what it is",
        f"{_GATE}/addresses.py",
        "return _is_public_4(inner)",
        "return True",
        _PUBLIC,
    ),
    Guard(
        "T8: addresses nobody has assigned are not public",
        f"{_GATE}/addresses.py",
        "if address.scope_id or address not in _ASSIGNED or any(",
        "if address.scope_id or any(",
        _PUBLIC,
    ),
    Guard(
        "T8: an address of one link is not public",
        f"{_GATE}/addresses.py",
        "if address.scope_id or address not in",
        "if address not in",
        _PUBLIC,
    ),
    Guard(
        "T8: what was refused is shown to people on one harmless line",
        f"{_GATE}/passport.py",
        "what = _harmless(tried)",
        "what = tried",
        (f"{_DOOR}_refusals_are_one_harmless_line_each",),
    ),
    Guard(
        "T8: what was refused does not flood people",
        f"{_GATE}/passport.py",
        "or len(self._tried) < _KINDS_LISTED:",
        "or True:",
        (f"{_DOOR}_refusals_are_counted_by_kind_and_cut_to_what_people_read",),
    ),
    Guard(
        "T8: callers at the gate at once have an end",
        f"{_GATE}/door.py",
        "if self.callers >= _MOST_CALLERS:",
        "if False:",
        (f"{_DOOR}_many_silent_callers_do_not_keep_others_out_for_ever",),
    ),
)

MODEL = (
    Guard(
        "T9: a key that is not this run's is refused",
        f"{_GATE}/door.py",
        "if not all([hmac.compare_digest(key, ours) for key in _keys_in(request)]):",
        "if False:",
        (f"{_MODEL}_one_sandboxs_pass_opens_no_other_gate",),
    ),
    Guard(
        "T9: without a pass nobody asks the model",
        f"{_GATE}/door.py",
        "if not _keys_in(request):",
        "if False:",
        _PASS,
    ),
    Guard(
        "T9: an empty pass opens nothing",
        f"{_GATE}/door.py",
        "if self.model is None or not self.passport.token:",
        "if self.model is None:",
        (f"{_MODEL}_where_there_is_no_model_none_is_asked",),
    ),
    Guard(
        "T9: only messages are served",
        f"{_GATE}/door.py",
        'case "POST" if path in {MESSAGES, COUNT}:',
        'case "POST":',
        (f"{_MODEL}_anything_but_messages_is_refused_and_counted",),
    ),
    Guard(
        "T9: only known queries are served",
        f"{_GATE}/model.py",
        "if query not in _QUERIES:",
        "if False:",
        (f"{_MODEL}_anything_but_messages_is_refused_and_counted",),
    ),
    Guard(
        "T9: what a caller says stays out of the log",
        f"{_GATE}/door.py",
        'caller: %s.", type(exc).__name__)',
        'caller: %s.", exc)',
        (f"{_DOOR}_a_bug_met_by_one_caller_is_no_trouble_for_others_and_tells_the_log_only_its_kind",),
    ),
    Guard(
        "T9: a request with two lengths is refused",
        f"{_GATE}/caller.py",
        'if b"transfer-encoding" in names and b"content-length" in names:',
        "if False:",
        (f"{_EGRESS}_t9_a_request_that_tells_two_lengths_is_refused_even_if_one_is_right",),
    ),
    Guard(
        "T9: a request's body has an end",
        f"{_GATE}/caller.py",
        "if len(received) > most:",
        "if False:",
        (f"{_MODEL}_a_body_beyond_the_limit_is_refused",),
    ),
    Guard(
        "T9: only known headers go to the model",
        f"{_GATE}/model.py",
        "for name, value in request.headers if _SENT_ON.fullmatch(name)]",
        'for name, value in request.headers if name not in {b"host", b"content-length"}]',
        (f"{_EGRESS}_t9_headers_nobody_knows_do_not_go_to_the_model",),
    ),
    Guard(
        "T9: only known headers come back",
        f"{_GATE}/model.py",
        "for name, value in response.headers.raw if _SENT_BACK.fullmatch(name.lower())]",
        "for name, value in response.headers.raw]",
        (f"{_MODEL}_only_what_says_something_about_the_answer_comes_back",),
    ),
    Guard(
        "T9: the key follows no redirect",
        f"{_GATE}/model.py",
        "trust_env=False,",
        "trust_env=False,\n        follow_redirects=True,",
        (f"{_MODEL}_a_redirect_of_the_service_is_not_followed",),
    ),
    Guard(
        "T9: a run asks one model",
        f"{_GATE}/model.py",
        "if model != (self._pinned or given):",
        "if False:",
        (f"{_MODEL}_a_run_asks_one_model_only",),
    ),
    Guard(
        "T9: so many requests at once and no more",
        f"{_GATE}/model.py",
        "asyncio.Semaphore(_MOST_AT_ONCE)",
        "asyncio.Semaphore(1000)",
        (f"{_MODEL}_eight_are_answered_at_once_and_the_others_wait",),
    ),
    Guard(
        "T9: counting tokens has an end",
        f"{_GATE}/model.py",
        "if self._counted > _MOST_COUNTS:",
        "if False:",
        (f"{_MODEL}_counting_tokens_costs_none_but_has_an_end",),
    ),
    Guard(
        "T9: a run ends with its tokens",
        f"{_GATE}/meter.py",
        "        if self._is_over(bill):",
        "        if False:",
        (f"{_MODEL}_a_run_ends_with_its_tokens",),
    ),
    Guard(
        "T9: requests at once do not overshoot together",
        f"{_GATE}/meter.py",
        "while self._in_flight and not self._fits(bill)",
        "while False",
        (f"{_MODEL}_many_at_once_do_not_overshoot_together",),
    ),
    Guard(
        "T9: hanging up is not free",
        f"{_GATE}/meter.py",
        "self._owed += bill.untold",
        "self._owed += 0",
        (f"{_MODEL}_an_answer_that_never_tells_its_usage_counts_by_its_length",),
    ),
    Guard(
        "T9: tokens of every kind count",
        f"{_GATE}/usage.py",
        '_FIELDS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")',
        '_FIELDS = ("input_tokens", "output_tokens")',
        (f"{_MODEL}_tokens_of_every_kind_count",),
    ),
    Guard(
        "T9: a key that stands twice in a request is refused",
        f"{_GATE}/ask.py",
        "if len(made) != len(pairs):",
        "if False:",
        _ASKED,
    ),
    Guard(
        "T9: a key in other letters is refused",
        f"{_GATE}/ask.py",
        "if any(key.casefold() in _KEYS_THAT_MATTER and",
        "if False and any(key.casefold() in _KEYS_THAT_MATTER and",
        _ASKED,
    ),
    Guard(
        "T9: a request of too many pieces is not taken apart",
        f"{_GATE}/ask.py",
        "> _MOST_PIECES or body.count",
        "> 1 << 60 or body.count",
        _ASKED,
    ),
    Guard(
        "T9: the model's service is made to do nothing for a sandbox",
        f"{_GATE}/ask.py",
        "if reading.remote:",
        "if False:",
        _SERVICE,
    ),
    Guard(
        "T9: the model's service is made to fetch nothing",
        f"{_GATE}/ask.py",
        'self.remote = "fetch an address"',
        "pass",
        _SERVICE,
    ),
    Guard(
        "T9: a tool that is not known to run here is refused",
        f"{_GATE}/ask.py",
        "if kind is not None and not (isinstance(kind, str) and _OWN_TOOLS.fullmatch(kind)):",
        "if False:",
        _SERVICE,
    ),
)

GUARDS = (*HOSTS, *MODEL)
