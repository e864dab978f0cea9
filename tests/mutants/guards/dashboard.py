"""Who sees the dashboard, and what nobody can make it do."""

from tests.mutants.guards.guard import Guard

_ACCESS = "tests/web/test_access.py::test"
_BOARD = "tests/web/test_board.py::test"
_API = "tests/web/test_api.py::test"
_SHOWS = "tests/web/test_shows.py::test"

GUARDS = (
    Guard(
        "Dashboard: only a proxy's own address may say who it is",
        "bot/web/auth.py",
        "if not self.user_header or peer not in self.proxies:",
        "if not self.user_header:",
        (f"{_ACCESS}_only_the_proxy_may_say_who_it_is",),
    ),
    Guard(
        "Dashboard: nobody may say whose address they ask from",
        "bot/web/server.py",
        "proxy_headers=False",
        "proxy_headers=True",
        (f"{_ACCESS}_only_the_proxy_may_say_who_it_is",),
    ),
    Guard(
        "Dashboard: two names are none",
        "bot/web/auth.py",
        'if len(named) == 1 else ""',
        'if named else ""',
        (f"{_ACCESS}_behind_a_proxy_whoever_it_does_not_name_is_nobody",),
    ),
    Guard(
        "Dashboard: a cookie is known by its seal",
        "bot/web/auth.py",
        "if not hmac.compare_digest(seal.encode(), self._seal(told).encode()):",
        "if False:",
        (f"{_ACCESS}_a_cookie_ends_and_does_not_outlive_its_token",),
    ),
    Guard(
        "Dashboard: a cookie has an end",
        "bot/web/auth.py",
        'if self.clock() < said["until"] else ""',
        'if said else ""',
        (f"{_ACCESS}_a_cookie_ends_and_does_not_outlive_its_token",),
    ),
    Guard(
        "Dashboard: a login leads nowhere else",
        "bot/web/auth.py",
        'return "/" if leads_out or',
        'return "/" if False and leads_out or',
        (f"{_ACCESS}_a_login_leads_nowhere_but_here",),
    ),
    Guard(
        "Dashboard: what it shows is text",
        "bot/web/templating.py",
        "autoescape=True",
        "autoescape=False",
        (f"{_BOARD}_a_hostile_title_is_text",),
    ),
    Guard(
        "Dashboard: letters that nobody sees are left out",
        "bot/web/templating.py",
        "return visible(value) if isinstance(value, str)",
        "return value if isinstance(value, str)",
        (f"{_BOARD}_a_hostile_title_is_text",),
    ),
    Guard(
        "Dashboard: no script and no style but its own files",
        "bot/web/browser_guard.py",
        "script-src 'self'; style-src 'self'",
        "script-src 'unsafe-inline'; style-src 'self'",
        (f"{_BOARD}_no_page_holds_a_script_or_a_style_and_every_answer_forbids_them",),
    ),
    Guard(
        "Dashboard: what is sent to it has an end",
        "bot/web/forms.py",
        "if len(body) > MOST_BYTES:",
        "if False:",
        (f"{_API}_what_is_too_long_is_not_read",),
    ),
    Guard(
        "Dashboard: who cannot follow is not waited for",
        "bot/web/event_hub.py",
        "is_behind = len(viewer.waiting) >= _QUEUED",
        "is_behind = False",
        (f"{_BOARD}_who_cannot_follow_is_told_to_look_anew_and_nobody_waits_for_them",),
    ),
    Guard(
        "Dashboard: an order is one line",
        "bot/web/api.py",
        "words = on_one_line(f\"{name} {body.get('words', '')}\")",
        "words = f\"{name} {body.get('words', '')}\"",
        (f"{_API}_a_command_cannot_smuggle_in_another_line",),
    ),
    Guard(
        "Dashboard: no agent's server is given our cookie",
        "bot/web/run/servers.py",
        'is_shared = host == "localhost"',
        "is_shared = False",
        (f"{_SHOWS}_a_browser_is_never_led_there_by_the_name_that_our_cookie_is_for",),
    ),
    Guard(
        "Dashboard: so many lines of what is shown are kept",
        "bot/web/run/server_processes.py",
        "maxlen=_LINES",
        "maxlen=None",
        (f"{_SHOWS}_what_it_prints_has_an_end",),
    ),
    Guard(
        "Dashboard: so much of a line of what is shown is kept",
        "bot/web/run/server_processes.py",
        "line[:_LETTERS]",
        "line",
        (f"{_SHOWS}_what_it_prints_has_an_end",),
    ),
    Guard(
        "Dashboard: of one worktree one server is up",
        "bot/setup/run_server.py",
        "fcntl.LOCK_EX | fcntl.LOCK_NB",
        "fcntl.LOCK_SH | fcntl.LOCK_NB",
        ("tests/readiness/test_showing.py::test_two_of_one_worktree_are_not_up_at_once",),
    ),
)
