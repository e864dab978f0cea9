"""Who comes in over HTTP, and what a webhook may do."""

from tests.mutants.guards.guard import Guard

_DOORS = "tests/escape/test_doors.py::test"
_INIT = "tests/program/test_init.py::test"
_WEBHOOKS = "tests/web/test_webhooks.py::test"

GUARDS = (
    Guard(
        "Doors: a name that is not ours is refused",
        "bot/web/browser_guard.py",
        'if not self._is_ours(headers.getlist("host"), scope):',
        "if False:",
        (f"{_DOORS}_two_names_are_none", f"{_DOORS}_a_reverse_proxys_name_is_let_in_once_it_is_set"),
    ),
    Guard(
        "Doors: where we listen everywhere, a name is still none of ours",
        "bot/web/browser_guard.py",
        "(self._bound in _EVERYWHERE and _is_address(name))",
        "self._bound in _EVERYWHERE",
        (f"{_DOORS}_where_it_listens_everywhere_an_address_is_no_ones_trick_but_a_name_is",),
    ),
    Guard(
        "Doors: a page of another site sets nothing moving",
        "bot/web/browser_guard.py",
        'if scope["method"] not in _HARMLESS and not _is_own_page(headers):',
        "if False:",
        (f"{_DOORS}_another_sites_page_sets_nothing_moving_with_a_token_or_without",),
    ),
    Guard(
        "Doors: what a browser says of its page counts",
        "bot/web/browser_guard.py",
        'if headers.get("sec-fetch-site", "none") not in _OWN_PAGES:',
        "if False:",
        (f"{_DOORS}_another_sites_page_sets_nothing_moving_with_a_token_or_without",),
    ),
    Guard(
        "Doors: the token is asked for",
        "bot/web/auth.py",
        "if person or path in _OPEN or path.startswith(_OPEN_BELOW):",
        "if True:",
        (f"{_DOORS}_the_token_without_its_scheme_is_none",),
    ),
    Guard(
        "Doors: to listen to others takes a token",
        "bot/settings/credentials.py",
        'if host and not is_known and host not in {"127.0.0.1", "localhost", "[::1]"}:',
        "if False:",
        ("tests/test_settings.py::test_a_secret_that_is_missing_is_named_when_it_is_needed",),
    ),
    Guard(
        "Doors: no answer may be framed, or run or load anything",
        "bot/web/browser_guard.py",
        "headers.setdefault(name, value)",
        "pass",
        (f"{_DOORS}_every_answer_forbids_what_a_page_could_do_with_it",),
    ),
    Guard(
        "Doors: a webhook is known by its signature",
        "bot/web/app.py",
        "if not is_signed(body):",
        "if False:",
        (f"{_WEBHOOKS}_one_with_a_wrong_signature_wakes_nobody",),
    ),
    Guard(
        "Doors: without a secret no webhook is believed",
        "bot/web/app.py",
        "    if not secret:",
        "    if False:",
        (f"{_WEBHOOKS}_without_a_secret_of_ours_nothing_is_believed",),
    ),
    Guard(
        "Doors: a webhook has an end",
        "bot/web/app.py",
        "if len(body) > MOST_BYTES:",
        "if False:",
        (f"{_WEBHOOKS}_one_that_is_longer_than_github_sends_is_not_read",),
    ),
    Guard(
        "Doors: an App that nobody here began to make is not taken",
        "bot/web/github_app.py",
        "if not hmac.compare_digest(shown.encode(), self._state.encode()):",
        "if False:",
        (f"{_INIT}_a_page_that_was_not_asked_for_hands_us_no_app",),
    ),
    Guard(
        "Doors: where an App is made, nobody can guess",
        "bot/web/github_app.py",
        "self._place, self._state = secrets.token_urlsafe(16), secrets.token_urlsafe(32)",
        'self._place, self._state = "new", secrets.token_urlsafe(32)',
        (f"{_INIT}_an_app_is_made_in_the_browser_installed_and_used_at_once",),
    ),
    Guard(
        "Doors: an App's key is readable by its owner alone",
        "bot/cli/github_app.py",
        "os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)",
        "os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)",
        (f"{_INIT}_an_app_is_made_in_the_browser_installed_and_used_at_once",),
    ),
    Guard(
        "Doors: settings that are there are not written over",
        "bot/cli/init.py",
        "if file.exists():",
        "if False:",
        (f"{_INIT}_settings_that_are_there_are_never_written_over",),
    ),
    Guard(
        "Doors: a file that an agent left acts on no page",
        "bot/web/run/routes.py",
        "    if kind in _IN_PLACE:",
        "    if True:",
        ("tests/web/test_run_page.py::test_what_a_browser_might_run_is_only_saved",),
    ),
    Guard(
        "Doors: an order is one of the words there are buttons for",
        "bot/web/run/action_forms.py",
        "    if word not in _WORDS:",
        "    if not word:",
        ("tests/web/test_run_page.py::test_what_makes_no_sense_is_refused_in_words_and_says_nothing",),
    ),
    Guard(
        "Doors: a budget is an amount",
        "bot/web/run/action_forms.py",
        "    if not _is_amount(amount):",
        "    if False:",
        ("tests/web/test_run_page.py::test_what_makes_no_sense_is_refused_in_words_and_says_nothing",),
    ),
    Guard(
        "Doors: letters that turn text around are named in a difference",
        "bot/web/run/diff.py",
        'if letter == "\\t" or not is_unseen(letter):',
        "if True:",
        ("tests/web/test_diffs.py::test_letters_that_turn_text_around_are_named",),
    ),
    Guard(
        "Doors: what agents say is escaped",
        "bot/web/markdown.py",
        "parts.append(escape(text[at : found.start()]))",
        "parts.append(Markup(text[at : found.start()]))",
        ("tests/web/test_conversation.py::test_whatever_is_said_is_text_in_harmless_elements",),
    ),
)
