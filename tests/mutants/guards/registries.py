"""Guards of a company's registries: which private addresses are dialled, and where the token goes (T6, T8)."""

from tests.mutants.guards.guard import Guard

_HOST = "tests/sandbox/test_private_hosts.py::test"
_REGISTRY = "tests/sandbox/test_registry.py::test"
_SETTINGS = "tests/settings/test_registries.py::test"
_ADDRESSES = "bot/sandbox/proxy/private_addresses.py"
_REQUEST = "bot/sandbox/proxy/registry.py"
_ROUTE = "bot/sandbox/proxy/registry_route.py"
_REFUSED_ADDRESS = (f"{_HOST}_t8_a_private_host_at_this_machine_or_a_clouds_metadata_is_refused",)
_SMUGGLED = (f"{_REGISTRY}_t8_a_request_with_a_body_or_two_lengths_reaches_nothing",)
_DETOUR = (f"{_REGISTRY}_t8_a_path_does_not_lead_out_of_the_registrys_own",)
_ECHO = (f"{_REGISTRY}_t6_an_answer_that_repeats_the_token_is_cut_off_before_it",)

GUARDS = (
    Guard(
        "T8: only hosts that the operator lists may have private addresses",
        "bot/sandbox/proxy/tunnel.py",
        "may_be_private = target in self._private",
        "may_be_private = True",
        (f"{_HOST}_t8_a_private_address_needs_both_lists",),
    ),
    Guard(
        "T8: a private host is not this machine",
        "bot/sandbox/proxy/network.py",
        "(may_be_private and is_private(address))",
        "may_be_private",
        _REFUSED_ADDRESS,
    ),
    Guard(
        "T8: the metadata of a cloud is no private host",
        _ADDRESSES,
        "    if known in _METADATA:\n        return False\n",
        "",
        _REFUSED_ADDRESS,
    ),
    Guard(
        "T8: an address wrapped in another is judged as what it is, for a private host, too",
        _ADDRESSES,
        "        known = known.ipv4_mapped\n",
        "        return True\n",
        _REFUSED_ADDRESS,
    ),
    Guard(
        "T8: a registry is reached only by sandboxes that may reach its host",
        _ROUTE,
        "if registry.host in allowed]",
        "]",
        (f"{_REGISTRY}_t8_a_registry_that_is_not_granted_is_not_reached",),
    ),
    Guard(
        "T6: nothing is published to a registry",
        _REQUEST,
        "if method not in _METHODS:",
        "if False:",
        (f"{_REGISTRY}_t8_nothing_is_published",),
    ),
    Guard(
        "T8: a request to a registry names a path",
        _REQUEST,
        'if not target.startswith("/") or target.startswith("//"):',
        "if False:",
        (f"{_REGISTRY}_t8_an_absolute_address_is_refused",),
    ),
    Guard(
        "T8: a request to a registry names its host",
        _REQUEST,
        '(parse_host_port(named) or parse_host_port(f"{named}:{HTTPS}")) != registry.host',
        "False",
        (f"{_REGISTRY}_t8_a_request_for_another_host_is_refused",),
    ),
    Guard(
        "T8: a download has no body, so that no request hides in it",
        _REQUEST,
        "if any(_announces_body(name, value) for name, value in request.headers):",
        "if False:",
        _SMUGGLED,
    ),
    Guard(
        "T8: a path of a registry has no detours",
        _REQUEST,
        'if any(part.partition(";")[0] in {".", ".."} for part',
        "if any(part is None for part",
        _DETOUR,
    ),
    Guard(
        "T8: a path of a registry has no hidden detours",
        _REQUEST,
        "        decoded = unquote(path)\n",
        "        decoded = path\n",
        _DETOUR,
    ),
    Guard(
        "T8: a path of a registry is not encoded again and again",
        _REQUEST,
        '        path = decoded\n    raise ProxyRefusal(400, "The path is not plain."',
        '        path = decoded\n    return ProxyRefusal(400, "The path is not plain."',
        _DETOUR,
    ),
    Guard(
        "T6: only requests below its path get the token of a registry",
        _REQUEST,
        'if not target.partition("?")[0].startswith(self.path):',
        "if False:",
        (f"{_REGISTRY}_t6_requests_outside_of_its_path_carry_no_token",),
    ),
    Guard(
        "T6: a registry gets no other headers of the sandbox",
        _REQUEST,
        "if _REQUEST_HEADERS.fullmatch(name)]",
        "]",
        (f"{_REGISTRY}_t6_what_the_sandbox_sends_as_a_credential_is_dropped",),
    ),
    Guard(
        "T6: an error page of a registry is not passed on",
        _ROUTE,
        "if status >= _FIRST_ERROR_STATUS:",
        "if False:",
        (f"{_REGISTRY}_t6_an_error_page_with_the_token_does_not_reach_the_sandbox",),
    ),
    Guard(
        "T6: an answer that repeats the token is cut off",
        "bot/sandbox/proxy/secret_echo.py",
        "if any(secret in text for secret in self._secrets):",
        "if False:",
        _ECHO,
    ),
    Guard(
        "T6: the token is found across two pieces of an answer",
        "bot/sandbox/proxy/secret_echo.py",
        "passed = max(0, len(waiting) - self._held)",
        "passed = len(waiting)",
        (f"{_REGISTRY}_t6_a_secret_in_several_pieces_is_found_before_its_first_letter_has_passed",),
    ),
    Guard(
        "T6: a header that repeats the token is not passed on",
        _ROUTE,
        "        echo.check(value)\n",
        "        pass\n",
        (f"{_REGISTRY}_t6_a_header_that_repeats_the_token_does_not_reach_the_sandbox",),
    ),
    Guard(
        "T6: a session of the registry does not reach the sandbox",
        _ROUTE,
        "if _RESPONSE_HEADERS.fullmatch(name)]",
        'if name != b"content-length"]',
        (f"{_REGISTRY}_t6_a_redirect_to_another_host_is_passed_on_and_not_followed",),
    ),
    Guard(
        "T6: the certificate of a registry is checked before the token is sent",
        "bot/sandbox/authorities.py",
        "        return context\n",
        "        context.check_hostname = False\n        context.verify_mode = ssl.CERT_NONE\n        return context\n",
        (f"{_REGISTRY}_t6_the_token_is_not_sent_to_a_server_with_an_unknown_authority",),
    ),
    Guard(
        "T6: the certificate of a registry has its name",
        "bot/sandbox/authorities.py",
        "        return context\n",
        "        context.check_hostname = False\n        return context\n",
        (f"{_REGISTRY}_t6_the_token_is_not_sent_to_a_server_with_another_name",),
    ),
    Guard(
        "T6: a token is not shown by the text of an object",
        _REQUEST,
        "token: str = field(repr=False)",
        "token: str",
        (f"{_REGISTRY}_the_token_is_not_in_the_text_of_any_object",),
    ),
    Guard(
        "T8: an address is never asked of the HTTP proxy of a network",
        "bot/sandbox/proxy/network.py",
        "if self.http_proxy and target.is_named and self.http_proxy.covers(target.host):",
        "if self.http_proxy:",
        ("tests/sandbox/test_http_proxy.py::test_t8_a_listed_address_is_checked_and_not_asked_of_the_proxy",),
    ),
    Guard(
        "T6: the password of an HTTP proxy is not shown by the text of an object",
        "bot/sandbox/proxy/http_proxy.py",
        "url: str = field(repr=False)",
        "url: str",
        ("tests/sandbox/test_http_proxy.py::test_t6_the_password_is_not_in_the_text_of_the_proxy",),
    ),
    Guard(
        "T6: only git's commands with network get the password of an HTTP proxy",
        "bot/git/command.py",
        "if command in _NETWORK_COMMANDS else {}",
        "",
        ("tests/git/test_command.py::test_t6_only_commands_with_network_get_the_http_proxy",),
    ),
    Guard(
        "T7: the tokens of registries are secrets of the host",
        "bot/settings/credentials.py",
        'known |= {f"the token of {host}": token,',
        "known |= {",
        (f"{_SETTINGS}_the_token_of_a_registry_comes_from_a_variable_or_a_file",),
    ),
)
