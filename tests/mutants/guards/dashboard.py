"""Guards of the dashboard: who sees it, and what it refuses."""

from tests.mutants.guards.guard import Guard

_SLOW = "tests/web/run/test_page.py::test_t16_words_that_are_slow_to_show_do_not_hold_the_loop"
_ACCESS = "tests/web/test_auth.py::test"
_BOARD = "tests/web/test_board.py::test"
_API = "tests/web/test_api.py::test"
_SHOWS = "tests/web/run/test_server_processes.py::test"

GUARDS = (
    Guard(
        "T16: the words on a run's page do not hold the loop",
        "bot/web/run/page.py",
        "await asyncio.to_thread(blocks_of, transcript)",
        "blocks_of(transcript)",
        (f"{_SLOW}[page]",),
    ),
    Guard(
        "T16: earlier words do not hold the loop",
        "bot/web/run/routes.py",
        "await asyncio.to_thread(blocks_of, transcript)",
        "blocks_of(transcript)",
        (f"{_SLOW}[earlier]",),
    ),
    Guard(
        "T16: new words do not hold the loop",
        "bot/web/run/events.py",
        "await asyncio.to_thread(_talk_events, transcript, self.position)",
        "_talk_events(transcript, self.position)",
        (f"{_SLOW}[later]",),
    ),
    Guard(
        "T16: a text has no more cells than a person reads",
        "bot/web/markdown.py",
        "if not _has_room(state, start, end) or not table",
        "if not table",
        ("tests/web/run/test_conversation.py::test_t16_a_few_signs_do_not_become_tens_of_thousands_of_cells",),
    ),
    Guard(
        "Dashboard: only a proxy's own address may say who it is",
        "bot/web/auth.py",
        "if not self.user_header or peer not in self.proxies:",
        "if not self.user_header:",
        (f"{_ACCESS}_only_the_proxy_may_name_the_person",),
    ),
    Guard(
        "Dashboard: nobody may say whose address they ask from",
        "bot/web/server.py",
        "proxy_headers=False",
        "proxy_headers=True",
        (f"{_ACCESS}_only_the_proxy_may_name_the_person",),
    ),
    Guard(
        "Dashboard: two names are none",
        "bot/web/auth.py",
        'if len(names) == 1 else ""',
        'if names else ""',
        (f"{_ACCESS}_behind_a_proxy_a_request_without_exactly_one_name_is_refused",),
    ),
    Guard(
        "Dashboard: a cookie is known by its signature",
        "bot/web/login_cookie.py",
        "if not hmac.compare_digest(signature.encode(), _signature(content, token).encode()):",
        "if False:",
        (f"{_ACCESS}_a_cookie_expires_and_is_invalid_for_another_token",),
    ),
    Guard(
        "Dashboard: a cookie has an end",
        "bot/web/login_cookie.py",
        'if now < login["until"] else ""',
        'if login else ""',
        (f"{_ACCESS}_a_cookie_expires_and_is_invalid_for_another_token",),
    ),
    Guard(
        "Dashboard: a login leads nowhere else",
        "bot/web/auth.py",
        'return "/" if leads_out or',
        'return "/" if False and leads_out or',
        (f"{_ACCESS}_a_login_redirects_only_to_our_own_pages",),
    ),
    Guard(
        "Dashboard: what it shows is text",
        "bot/web/templating.py",
        "autoescape=True",
        "autoescape=False",
        (f"{_BOARD}_a_hostile_title_is_shown_as_text",),
    ),
    Guard(
        "Dashboard: letters that nobody sees are left out",
        "bot/web/templating.py",
        "return strip_invisible(value) if isinstance(value, str)",
        "return value if isinstance(value, str)",
        (f"{_BOARD}_a_hostile_title_is_shown_as_text",),
    ),
    Guard(
        "Dashboard: no script and no style but its own files",
        "bot/web/security_headers.py",
        "script-src 'self'; style-src 'self'",
        "script-src 'unsafe-inline'; style-src 'self'",
        (f"{_BOARD}_pages_contain_no_inline_script_or_style_and_forbid_them",),
    ),
    Guard(
        "Dashboard: held work is published only after a page that says why",
        "bot/web/run/action_routes.py",
        "if must_ask_again(run, action.name, form):",
        "if False:",
        ("tests/web/run/test_page.py::test_blocked_work_is_published_only_after_a_page_that_shows_the_objections",),
    ),
    Guard(
        "Dashboard: an approval counts only for what its page has shown",
        "bot/web/run/publish_page.py",
        'form.get("seen", [""])[-1] != _digest(run)',
        'not form.get("seen")',
        ("tests/web/run/test_page.py::test_blocked_work_is_published_only_after_a_page_that_shows_the_objections",),
    ),
    Guard(
        "Dashboard: what is sent to it has an end",
        "bot/web/request_body.py",
        "if len(content) > most_bytes:",
        "if False:",
        (f"{_API}_a_body_that_is_too_long_is_not_read",),
    ),
    Guard(
        "Dashboard: who cannot follow is not waited for",
        "bot/web/event_hub.py",
        "is_behind = len(viewer.queue) >= _MOST_QUEUED",
        "is_behind = False",
        (f"{_BOARD}_a_slow_page_gets_a_resync_and_delays_no_other",),
    ),
    Guard(
        "Dashboard: a command is one line",
        "bot/web/run/actions.py",
        'words = on_one_line(f"{name} {fields.words}")',
        'words = f"{name} {fields.words}"',
        (f"{_API}_a_command_cannot_contain_another_line",),
    ),
    Guard(
        "Dashboard: no agent's server is given our cookie",
        "bot/web/run/server_panel.py",
        'shares_cookie_host = host == "localhost"',
        "shares_cookie_host = False",
        (f"{_SHOWS}_the_link_to_a_server_never_uses_the_host_name_of_our_cookie",),
    ),
    Guard(
        "Dashboard: so many lines of what is shown are kept",
        "bot/web/run/server_processes.py",
        "maxlen=_KEPT_LINES",
        "maxlen=None",
        (f"{_SHOWS}_only_the_end_of_the_output_is_kept",),
    ),
    Guard(
        "Dashboard: so much of a line of what is shown is kept",
        "bot/web/run/server_processes.py",
        "line[:_LONGEST_LINE]",
        "line",
        (f"{_SHOWS}_only_the_end_of_the_output_is_kept",),
    ),
    Guard(
        "Dashboard: of one worktree one server is up",
        "bot/setup/run_server.py",
        "fcntl.LOCK_EX | fcntl.LOCK_NB",
        "fcntl.LOCK_SH | fcntl.LOCK_NB",
        ("tests/setup/test_run_server.py::test_a_worktree_has_one_server_at_a_time",),
    ),
)
