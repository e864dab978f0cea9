"""Guards of notifications and monitoring: once, in time, without secrets, and never at the cost of a run."""

from tests.mutants.guards.guard import Guard

_PURE = "tests/engine/test_notifications.py::test"
_WORDS = "tests/notifications/test_text.py::test"
_CHANNELS = "tests/notifications/test_send.py::test"
_METRICS = "tests/web/test_metrics.py::test"
_READING = "tests/status/test_snapshot.py::test"
_SETTINGS = "tests/settings/test_notifications.py::test"

_TELLING = "bot/engine/notifications.py"
_CRIER = "bot/notifications/notifier.py"
_CHANNEL = "bot/notifications/send.py"

_ONCE = (
    Guard(
        "Notifications: what is about to be sent is saved first",
        _CRIER,
        "        self._save(channel, notifications.begin_sending(channel.state, batch))\n",
        "        channel.state = notifications.begin_sending(channel.state, batch)\n",
        (f"{_CHANNELS}_killed_between_sending_and_saving_a_message_is_repeated_at_most_once_and_says_so",),
    ),
    Guard(
        "Notifications: what arrived is saved",
        _TELLING,
        "delivered=channel.sending, sending=0",
        "delivered=channel.delivered, sending=0",
        (f"{_CHANNELS}_people_are_notified_once_and_not_again_after_a_restart",),
    ),
    Guard(
        "Notifications: an unknown outcome is never repeated twice",
        _TELLING,
        "if channel.sending and channel.unconfirmed:",
        "if False:",
        (f"{_CHANNELS}_killed_twice_between_sending_and_saving_it_is_given_up",),
    ),
    Guard(
        "Notifications: a repeat says so",
        _TELLING,
        "again=bool(channel.unconfirmed)",
        "again=False",
        (f"{_PURE}_an_unknown_outcome_is_repeated_once_and_says_so_and_never_twice",),
    ),
    Guard(
        "Notifications: a repeat tells nothing new",
        _TELLING,
        "        notifications = [one for one in notifications if one.id <= channel.unconfirmed]\n",
        "        pass\n",
        (f"{_PURE}_a_repeat_that_fails_for_certain_stays_a_repeat",),
    ),
    Guard(
        "Notifications: a run that stays where it is is no news",
        _TELLING,
        "if kind is None or dedup_key_of(before) == dedup_key_of(after):",
        "if kind is None:",
        (f"{_PURE}_as_long_as_a_run_stays_where_it_is_there_is_nothing_new",),
    ),
    Guard(
        "Notifications: one occasion is one entry of the outbox",
        "bot/store/migrations/0010_tidings.sql",
        "    over      INTEGER NOT NULL,\n    UNIQUE (happening, subject, occasion)\n",
        "    over      INTEGER NOT NULL\n",
        (
            "tests/notifications/test_once.py::test_nothing_is_sent_twice_but_after_a_kill_and_then_once_and_marked_so[0]",
        ),
    ),
)

_LATE = (
    Guard(
        "Notifications: an old one is dropped",
        _TELLING,
        "return one.at > now - MOST_LATE_SECONDS",
        "return True",
        (f"{_PURE}_what_is_too_old_or_over_is_passed_over_without_a_message",),
    ),
    Guard(
        "Notifications: an outdated one is dropped",
        _TELLING,
        "if _is_fresh(one, now) and holds(one)]",
        "if _is_fresh(one, now)]",
        (f"{_CHANNELS}_after_a_long_outage_of_ours_there_is_one_message_of_what_is_still_so_and_lately",),
    ),
    Guard(
        "Notifications: a run that has moved on gets none",
        _TELLING,
        "return kind_of(run) is notification.kind and dedup_key_of(run) == notification.dedup_key",
        "return True",
        (f"{_PURE}_what_is_not_so_any_more_is_known",),
    ),
    Guard(
        "Notifications: a new channel gets those from then on",
        "bot/store/notifications.py",
        "ChannelState(channel_id, delivered=self.last())",
        "ChannelState(channel_id)",
        (f"{_CHANNELS}_a_new_channel_gets_notifications_from_now_on",),
    ),
)

_HANGING = (
    Guard(
        "Notifications: a message is sent in a thread",
        _CHANNEL,
        "daemon=True).start()",
        "daemon=True).run()",
        (f"{_CHANNELS}_nobody_waits_for_a_message_that_is_set_on_its_way",),
    ),
    Guard(
        "Notifications: nobody waits for its thread at the end",
        _CHANNEL,
        "daemon=True).start()",
        "daemon=False).start()",
        (f"{_CHANNELS}_nobody_waits_for_a_channel_that_hangs_when_we_go_down",),
    ),
    Guard(
        "Notifications: a channel has one message under way",
        _CRIER,
        "if channel.sending is None and not notifications.must_wait",
        "if not notifications.must_wait",
        (f"{_CHANNELS}_a_channel_that_hangs_delays_no_other_and_is_reported",),
    ),
    Guard(
        "Notifications: a channel that fails rests",
        _CRIER,
        "channel.sending is None and not notifications.must_wait(channel.state, now)",
        "channel.sending is None",
        (f"{_CHANNELS}_a_failing_channel_is_tried_more_and_more_rarely_and_then_gets_everything_at_once",),
    ),
    Guard(
        "Notifications: whatever a service's code raises is a problem in words",
        _CHANNEL,
        "    except Exception as exc:  # noqa: BLE001 - every service's plugin raises its own errors\n",
        "    except OSError as exc:\n",
        (f"{_CHANNELS}_whatever_goes_wrong_while_composing_is_a_problem_too",),
    ),
)

_SECRETS = (
    Guard(
        "Notifications: what Apprise says of an address goes no further",
        _CHANNEL,
        "    logger.propagate = False\n    logger.addFilter(captured)\n",
        "    logger.propagate = True\n",
        (f"{_CHANNELS}_a_channel_that_refuses_or_is_none_is_a_problem_in_words",),
    ),
    Guard(
        "Notifications: of an address only what is a host is shown",
        _CHANNEL,
        "if _HOST.fullmatch(host) else",
        "if host else",
        (f"{_CHANNELS}_of_an_address_only_its_kind_and_its_host_are_shown",),
    ),
    Guard(
        "Notifications: what an address holds is known as a secret",
        "bot/settings/credentials.py",
        "    known |= _secrets_in_urls(notify_urls(settings))\n",
        "",
        (f"{_SETTINGS}_what_an_address_holds_is_redacted_everywhere",),
    ),
    Guard(
        "Notifications: a channel's problem is redacted",
        _CRIER,
        "problem = self.redact(sending.problem)",
        "problem = sending.problem",
        (f"{_CHANNELS}_what_a_service_says_of_an_address_is_redacted_before_anybody_reads_it",),
    ),
    Guard(
        "Notifications: no address is kept",
        _CHANNEL,
        "return hashlib.sha256(url.encode()).hexdigest()[:16]",
        "return url",
        (f"{_CHANNELS}_the_same_address_is_one_channel_and_no_address_is_kept",),
    ),
    Guard(
        "Notifications: the outbox is redacted",
        "bot/store/notifications.py",
        "one.at, self._redact(one.text), one.resolved",
        "one.at, one.text, one.resolved",
        ("tests/notifications/test_once.py::test_saved_notifications_are_redacted_and_deleted_in_time",),
    ),
)

_HOSTILE = (
    Guard(
        "Notifications: a title neither mentions nor marks up",
        "bot/notifications/text.py",
        "{neutralize_plain(context.title, _TITLE_LENGTH)}",
        "{context.title}",
        (f"{_WORDS}_what_others_wrote_is_read_and_does_nothing",),
    ),
    Guard(
        "Notifications: an agent's words neither mention nor mark up",
        "bot/notifications/text.py",
        "*([neutralize_plain(one.text)] if",
        "*([one.text] if",
        (f"{_WORDS}_what_others_wrote_is_read_and_does_nothing",),
    ),
    Guard(
        "Notifications: letters that a service obeys are replaced",
        "bot/notifications/text.py",
        "flat.translate(_LOOKALIKES)",
        "flat",
        (f"{_WORDS}_what_others_wrote_is_read_and_does_nothing",),
    ),
    Guard(
        "Notifications: what others wrote holds no address",
        "bot/notifications/text.py",
        '_URL_SCHEME.sub(r"\\1: ", ',
        "str(",
        (f"{_WORDS}_what_others_wrote_is_read_and_does_nothing",),
    ),
    Guard(
        "Notifications: a key is harmless as well",
        "bot/notifications/text.py",
        'neutralize_plain(key, _TITLE_LENGTH).replace("＃", "#")',
        "key",
        (f"{_WORDS}_a_key_that_is_hostile_is_harmless_as_well",),
    ),
)

_WATCHING = (
    Guard(
        "Log: a traceback forges no line",
        "bot/system/logs.py",
        'return "\\n".join(f"{_TRACEBACK_PREFIX}{_escape_unprintable(line)}" for line in lines)',
        'return "\\n".join(lines)',
        ("tests/system/test_logs.py::test_nobody_can_forge_a_line[text]",),
    ),
    Guard(
        "Log: a line is one line",
        "bot/system/logs.py",
        "line = _escape_unprintable(super().formatMessage(record))",
        "line = super().formatMessage(record)",
        ("tests/system/test_logs.py::test_nobody_can_forge_a_line[text]",),
    ),
    Guard(
        "Log: what a line is about is no part of its words",
        "bot/system/logs.py",
        "            **log_context(),\n",
        "",
        ("tests/system/test_logs.py::test_nobody_can_forge_a_line[json]",),
    ),
    Guard(
        "Metrics: for whoever shows the token",
        "bot/web/auth.py",
        'frozenset({"/healthz", "/readyz", "/login"})',
        'frozenset({"/healthz", "/readyz", "/login", "/metrics"})',
        (f"{_METRICS}_metrics_need_the_token",),
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
        "bot/status/reader_thread.py",
        "return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, query)",
        "return self._read(query)",
        (f"{_READING}_everything_is_opened_once_and_read_by_one_thread",),
    ),
    Guard(
        "Metrics: the loop's own connection leaves the ledgers alone",
        "bot/status/metrics.py",
        "await monitor.reader.read(lambda health: list(_stored_metrics(health)))",
        "list(_stored_metrics(monitor))",
        (f"{_READING}_neither_a_look_nor_a_scrape_reads_the_ledgers_on_the_loop",),
    ),
    Guard(
        "Health: nonsense that an agent asks for is no failure of the model",
        "bot/status/model_health.py",
        "status >= _THEIR_FAULT or status in _REFUSED",
        "status >= _GOOD_BELOW",
        ("tests/status/test_model_health.py::test_nonsense_that_an_agent_asks_for_is_no_failure",),
    ),
)

GUARDS = (*_ONCE, *_LATE, *_HANGING, *_SECRETS, *_HOSTILE, *_WATCHING)
