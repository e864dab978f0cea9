"""What people are told, and those that watch: once, in time, without secrets, and never at the cost of a run."""

from tests.mutants.guards.guard import Guard

_PURE = "tests/engine/test_telling.py::test"
_WORDS = "tests/engine/test_announcing.py::test"
_CHANNELS = "tests/telling/test_channels.py::test"
_METRICS = "tests/web/test_metrics.py::test"
_READING = "tests/test_reading.py::test"
_SETTINGS = "tests/test_settings_of_telling.py::test"

_TELLING = "bot/engine/notifications.py"
_CRIER = "bot/notifications/notifier.py"
_CHANNEL = "bot/notifications/send.py"

_ONCE = (
    Guard(
        "Telling: what is about to be sent is saved first",
        _CRIER,
        "        self._keep(post, telling.begun(post.state, batch))\n",
        "        post.state = telling.begun(post.state, batch)\n",
        (f"{_CHANNELS}_killed_between_sending_and_saving_people_are_told_at_most_once_more_and_may_read_so",),
    ),
    Guard(
        "Telling: what arrived is saved",
        _TELLING,
        "told=channel.trying, trying=0",
        "told=channel.told, trying=0",
        (f"{_CHANNELS}_people_are_told_once_and_not_again_after_a_restart",),
    ),
    Guard(
        "Telling: an unknown outcome is never repeated twice",
        _TELLING,
        "if channel.trying and channel.doubted:",
        "if False:",
        (f"{_CHANNELS}_killed_twice_between_sending_and_saving_it_is_given_up",),
    ),
    Guard(
        "Telling: a repeat says so",
        _TELLING,
        "again=bool(channel.doubted)",
        "again=False",
        (f"{_PURE}_an_unknown_outcome_is_repeated_once_and_says_so_and_never_twice",),
    ),
    Guard(
        "Telling: a repeat tells nothing new",
        _TELLING,
        "        tidings = [one for one in tidings if one.id <= channel.doubted]\n",
        "        pass\n",
        (f"{_PURE}_a_repeat_that_fails_for_certain_stays_a_repeat",),
    ),
    Guard(
        "Telling: a run that stays where it is is no news",
        _TELLING,
        "if happening is None or occasion_of(before) == occasion_of(after):",
        "if happening is None:",
        (f"{_PURE}_as_long_as_a_run_stays_where_it_is_there_is_nothing_new",),
    ),
    Guard(
        "Telling: one occasion is one entry of the outbox",
        "bot/store/migrations/0010_tidings.sql",
        "    over      INTEGER NOT NULL,\n    UNIQUE (happening, subject, occasion)\n",
        "    over      INTEGER NOT NULL\n",
        ("tests/telling/test_once.py::test_nothing_is_told_twice_but_after_a_kill_and_then_once_and_said_so[0]",),
    ),
)

_LATE = (
    Guard(
        "Telling: what is too old is not told",
        _TELLING,
        "return one.at > now - MOST_LATE_SECONDS",
        "return True",
        (f"{_PURE}_what_is_too_old_or_over_is_passed_over_without_a_message",),
    ),
    Guard(
        "Telling: what is not so any more is not told",
        _TELLING,
        "if _is_fresh(one, now) and holds(one)]",
        "if _is_fresh(one, now)]",
        (f"{_CHANNELS}_after_a_long_outage_of_ours_there_is_one_message_of_what_is_still_so_and_lately",),
    ),
    Guard(
        "Telling: a run that has moved on is not as it was told",
        _TELLING,
        "return happening_of(run) is told.happening and occasion_of(run) == told.occasion",
        "return True",
        (f"{_PURE}_what_is_not_so_any_more_is_known",),
    ),
    Guard(
        "Telling: a new channel is told what happens from then on",
        "bot/store/notifications.py",
        "Channel(channel_id, told=self.last())",
        "Channel(channel_id)",
        (f"{_CHANNELS}_a_channel_that_is_new_is_told_what_happens_from_now_on",),
    ),
)

_HANGING = (
    Guard(
        "Telling: a message is sent in a thread",
        _CHANNEL,
        "daemon=True).start()",
        "daemon=True).run()",
        (f"{_CHANNELS}_nobody_waits_for_a_message_that_is_set_on_its_way",),
    ),
    Guard(
        "Telling: nobody waits for its thread at the end",
        _CHANNEL,
        "daemon=True).start()",
        "daemon=False).start()",
        (f"{_CHANNELS}_nobody_waits_for_a_channel_that_hangs_when_we_go_down",),
    ),
    Guard(
        "Telling: a channel has one message under way",
        _CRIER,
        "if post.sending is None and not telling.must_rest",
        "if not telling.must_rest",
        (f"{_CHANNELS}_a_channel_that_hangs_holds_up_nobody_and_is_said_to",),
    ),
    Guard(
        "Telling: a channel that fails rests",
        _CRIER,
        "post.sending is None and not telling.must_rest(post.state, now)",
        "post.sending is None",
        (f"{_CHANNELS}_a_channel_that_fails_is_tried_again_more_and_more_rarely_and_told_everything_at_once",),
    ),
    Guard(
        "Telling: whatever a service's code raises is a problem in words",
        _CHANNEL,
        "    except Exception as exc:  # noqa: BLE001 - a hundred services, by as many authors\n",
        "    except OSError as exc:\n",
        (f"{_CHANNELS}_whatever_goes_wrong_while_composing_is_a_problem_too",),
    ),
)

_SECRETS = (
    Guard(
        "Telling: what Apprise says of an address goes no further",
        _CHANNEL,
        "    logger.propagate = False\n    logger.addFilter(heard)\n",
        "    logger.propagate = True\n",
        (f"{_CHANNELS}_a_channel_that_refuses_or_is_none_is_a_problem_in_words",),
    ),
    Guard(
        "Telling: of an address only what is a host is shown",
        _CHANNEL,
        "if _HOST.fullmatch(host) else",
        "if host else",
        (f"{_CHANNELS}_of_an_address_only_its_kind_and_its_host_are_shown",),
    ),
    Guard(
        "Telling: what an address holds is known as a secret",
        "bot/settings/credentials.py",
        "    known |= _in_urls(notify_urls(settings))\n",
        "",
        (f"{_SETTINGS}_what_an_address_holds_is_redacted_everywhere",),
    ),
    Guard(
        "Telling: a channel's problem is redacted",
        _CRIER,
        "problem = self.redact(sending.problem)",
        "problem = sending.problem",
        (f"{_CHANNELS}_what_a_service_says_of_an_address_is_redacted_before_anybody_reads_it",),
    ),
    Guard(
        "Telling: no address is kept",
        _CHANNEL,
        "return hashlib.sha256(url.encode()).hexdigest()[:16]",
        "return url",
        (f"{_CHANNELS}_the_same_address_is_one_channel_and_no_address_is_kept",),
    ),
    Guard(
        "Telling: the outbox is redacted",
        "bot/store/notifications.py",
        "one.at, self._redact(one.words), one.over",
        "one.at, one.words, one.over",
        ("tests/telling/test_once.py::test_what_is_kept_is_redacted_and_forgotten_in_time",),
    ),
)

_HOSTILE = (
    Guard(
        "Telling: a title neither mentions nor marks up",
        "bot/notifications/text.py",
        "{harmless(known.title, _TITLE)}",
        "{known.title}",
        (f"{_WORDS}_what_others_wrote_is_read_and_does_nothing",),
    ),
    Guard(
        "Telling: an agent's words neither mention nor mark up",
        "bot/notifications/text.py",
        "*([harmless(tiding.words)] if",
        "*([tiding.words] if",
        (f"{_WORDS}_what_others_wrote_is_read_and_does_nothing",),
    ),
    Guard(
        "Telling: letters that a service obeys are replaced",
        "bot/notifications/text.py",
        "flat.translate(_LOOKALIKES)",
        "flat",
        (f"{_WORDS}_what_others_wrote_is_read_and_does_nothing",),
    ),
    Guard(
        "Telling: what others wrote holds no address",
        "bot/notifications/text.py",
        '_ADDRESS.sub(r"\\1: ", ',
        "str(",
        (f"{_WORDS}_what_others_wrote_is_read_and_does_nothing",),
    ),
    Guard(
        "Telling: a key is harmless as well",
        "bot/notifications/text.py",
        'harmless(key, _TITLE).replace("＃", "#")',
        "key",
        (f"{_WORDS}_a_key_that_is_hostile_is_harmless_as_well",),
    ),
)

_WATCHING = (
    Guard(
        "Log: a traceback forges no line",
        "bot/system/logs.py",
        'return "\\n".join(f"{_TRACE}{_plain(line)}" for line in lines)',
        'return "\\n".join(lines)',
        ("tests/test_logs.py::test_nobody_can_forge_a_line[text]",),
    ),
    Guard(
        "Log: a line is one line",
        "bot/system/logs.py",
        "said = _plain(super().formatMessage(record))",
        "said = super().formatMessage(record)",
        ("tests/test_logs.py::test_nobody_can_forge_a_line[text]",),
    ),
    Guard(
        "Log: what a line is about is no part of its words",
        "bot/system/logs.py",
        "            **subject(),\n",
        "",
        ("tests/test_logs.py::test_nobody_can_forge_a_line[json]",),
    ),
    Guard(
        "Metrics: for whoever shows the token",
        "bot/web/auth.py",
        'frozenset({"/healthz", "/readyz", "/login"})',
        'frozenset({"/healthz", "/readyz", "/login", "/metrics"})',
        (f"{_METRICS}_figures_are_for_whoever_shows_the_token",),
    ),
    Guard(
        "Metrics: a server's status is one of a few labels",
        "bot/status/metrics.py",
        'if 100 <= status < 600 else "other")',
        'if True else "other")',
        (f"{_METRICS}_no_label_takes_what_others_choose",),
    ),
    Guard(
        "Metrics: the loop goes on while ledgers are read",
        "bot/status/reading.py",
        "return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, look)",
        "return self._read(look)",
        (f"{_READING}_everything_is_opened_once_and_read_by_one_thread",),
    ),
    Guard(
        "Metrics: the loop's own connection leaves the ledgers alone",
        "bot/status/metrics.py",
        "await app.vitals.reader.read(lambda house: list(_of_what_is_written(house)))",
        "list(_of_what_is_written(app))",
        (f"{_READING}_neither_a_look_nor_a_scrape_reads_the_ledgers_on_the_loop",),
    ),
    Guard(
        "Health: nonsense that an agent asks for is no failure of the model",
        "bot/status/model_health.py",
        "status >= _THEIR_FAULT or status in _REFUSED",
        "status >= _GOOD_BELOW",
        ("tests/engine/test_model_answers.py::test_nonsense_that_an_agent_asks_for_is_no_failure",),
    ),
)

GUARDS = (*_ONCE, *_LATE, *_HANGING, *_SECRETS, *_HOSTILE, *_WATCHING)
