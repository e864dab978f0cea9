"""Guards of notifications and monitoring: once, in time, without secrets, and without effect on runs."""

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
        "T18: a notification has no name that a chat makes a link of",
        "bot/notifications/text.py",
        'name[0].replace(".", _LOOKALIKE_DOT)',
        "name[0]",
        (f"{_WORDS}_t18_no_name_becomes_a_link_and_numbers_read_the_same",),
    ),
    Guard(
        "T18: a notification has no address without a space after its scheme",
        "bot/notifications/text.py",
        '_SCHEME_END.sub(": ", flat.translate(_LOOKALIKES))',
        "flat.translate(_LOOKALIKES)",
        (f"{_WORDS}_t18_no_name_becomes_a_link_and_numbers_read_the_same",),
    ),
    Guard(
        "Notifications: what is about to be sent is saved first",
        _CRIER,
        "        self._save(channel, notifications.begin_sending(channel.state, batch))\n",
        "        channel.state = notifications.begin_sending(channel.state, batch)\n",
        (f"{_CHANNELS}_a_kill_between_sending_and_saving_repeats_a_message_at_most_once_and_marked",),
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
        (f"{_CHANNELS}_two_kills_between_sending_and_saving_give_a_message_up",),
    ),
    Guard(
        "Notifications: a repeat says so",
        _TELLING,
        "again=bool(channel.unconfirmed)",
        "again=False",
        (f"{_PURE}_a_message_with_an_unknown_outcome_is_repeated_once_and_marked",),
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
        (f"{_PURE}_an_unchanged_phase_causes_no_new_notification",),
    ),
    Guard(
        "Notifications: one occasion is one entry of the outbox",
        "bot/store/migrations/0010_tidings.sql",
        "    over      INTEGER NOT NULL,\n    UNIQUE (happening, subject, occasion)\n",
        "    over      INTEGER NOT NULL\n",
        ("tests/notifications/test_once.py::test_a_message_is_repeated_only_after_a_kill_once_and_marked[0]",),
    ),
)

_LATE = (
    Guard(
        "Notifications: an old one is dropped",
        _TELLING,
        "return one.at > now - MOST_LATE_SECONDS",
        "return True",
        (f"{_PURE}_old_and_outdated_notifications_are_skipped_without_a_message",),
    ),
    Guard(
        "Notifications: an outdated one is dropped",
        _TELLING,
        "if _is_fresh(one, now) and holds(one)]",
        "if _is_fresh(one, now)]",
        (f"{_CHANNELS}_a_long_outage_of_ours_ends_with_one_message_of_recent_and_current_events",),
    ),
    Guard(
        "Notifications: a run that has moved on gets none",
        _TELLING,
        "return kind_of(run) is notification.kind and dedup_key_of(run) == notification.dedup_key",
        "return True",
        (f"{_PURE}_an_outdated_notification_is_recognized",),
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
        (f"{_CHANNELS}_sending_does_not_block_the_caller",),
    ),
    Guard(
        "Notifications: nobody waits for its thread at the end",
        _CHANNEL,
        "daemon=True).start()",
        "daemon=False).start()",
        (f"{_CHANNELS}_a_hanging_channel_does_not_delay_the_shutdown",),
    ),
    Guard(
        "Notifications: a channel has one message under way",
        _CRIER,
        "if channel.sending is None and not notifications.must_wait",
        "if not notifications.must_wait",
        (f"{_CHANNELS}_a_hanging_channel_delays_no_other_and_is_reported",),
    ),
    Guard(
        "Notifications: a channel that fails rests",
        _CRIER,
        "channel.sending is None and not notifications.must_wait(channel.state, now)",
        "channel.sending is None",
        (f"{_CHANNELS}_a_failing_channel_is_retried_more_rarely_and_then_gets_one_message",),
    ),
    Guard(
        "Notifications: whatever a service's code raises is a problem in words",
        _CHANNEL,
        "    except Exception as exc:  # noqa: BLE001 - every service's plugin raises its own errors\n",
        "    except OSError as exc:\n",
        (f"{_CHANNELS}_an_error_while_composing_is_reported",),
    ),
)

_SECRETS = (
    Guard(
        "Notifications: what Apprise says of an address goes no further",
        _CHANNEL,
        "    logger.propagate = False\n    logger.addFilter(captured)\n",
        "    logger.propagate = True\n",
        (f"{_CHANNELS}_an_unreachable_or_unknown_channel_is_reported_without_its_address",),
    ),
    Guard(
        "Notifications: of an address only what is a host is shown",
        _CHANNEL,
        "if _HOST.fullmatch(host) else",
        "if host else",
        (f"{_CHANNELS}_only_kind_and_host_of_an_address_are_shown",),
    ),
    Guard(
        "Notifications: what an address holds is known as a secret",
        "bot/settings/credentials.py",
        "    known |= _secrets_in_urls(notify_urls(settings))\n",
        "",
        (f"{_SETTINGS}_secrets_in_an_address_are_redacted",),
    ),
    Guard(
        "Notifications: a channel's problem is redacted",
        _CRIER,
        "problem = self.redact(sending.problem)",
        "problem = sending.problem",
        (f"{_CHANNELS}_an_error_message_with_an_address_is_redacted_before_it_is_shown_or_saved",),
    ),
    Guard(
        "Notifications: no address is kept",
        _CHANNEL,
        "return hashlib.sha256(url.encode()).hexdigest()[:16]",
        "return url",
        (f"{_CHANNELS}_the_same_address_twice_is_one_channel_and_no_address_is_saved",),
    ),
    Guard(
        "Notifications: the outbox is redacted",
        "bot/store/notifications.py",
        "one.at, self._redact(one.text), one.resolved",
        "one.at, one.text, one.resolved",
        ("tests/notifications/test_once.py::test_saved_notifications_are_redacted_and_deleted_after_a_time",),
    ),
)

_HOSTILE = (
    Guard(
        "Notifications: a title neither mentions nor marks up",
        "bot/notifications/text.py",
        "{neutralize_plain(context.title, _TITLE_LENGTH)}",
        "{context.title}",
        (f"{_WORDS}_untrusted_text_is_shown_without_effect",),
    ),
    Guard(
        "Notifications: an agent's words neither mention nor mark up",
        "bot/notifications/text.py",
        "*([neutralize_plain(one.text)] if",
        "*([one.text] if",
        (f"{_WORDS}_untrusted_text_is_shown_without_effect",),
    ),
    Guard(
        "Notifications: letters that a service obeys are replaced",
        "bot/notifications/text.py",
        "flat.translate(_LOOKALIKES)",
        "flat",
        (f"{_WORDS}_untrusted_text_is_shown_without_effect",),
    ),
    Guard(
        "Notifications: a key is harmless as well",
        "bot/notifications/text.py",
        'neutralize_plain(key, _TITLE_LENGTH).replace("＃", "#")',
        "key",
        (f"{_WORDS}_a_hostile_key_is_escaped_in_the_title",),
    ),
)

_WATCHING = (
    Guard(
        "Log: a traceback forges no line",
        "bot/system/logs.py",
        'return "\\n".join(f"{_TRACEBACK_PREFIX}{_escape_unprintable(line)}" for line in lines)',
        'return "\\n".join(lines)',
        ("tests/system/test_logs.py::test_untrusted_text_cannot_forge_a_line[text]",),
    ),
    Guard(
        "Log: a line is one line",
        "bot/system/logs.py",
        "line = _escape_unprintable(super().formatMessage(record))",
        "line = super().formatMessage(record)",
        ("tests/system/test_logs.py::test_untrusted_text_cannot_forge_a_line[text]",),
    ),
    Guard(
        "Log: what a line is about is no part of its words",
        "bot/system/logs.py",
        "            **log_context(),\n",
        "",
        ("tests/system/test_logs.py::test_untrusted_text_cannot_forge_a_line[json]",),
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
        (f"{_METRICS}_labels_have_a_bounded_set_of_values",),
    ),
    Guard(
        "Metrics: the loop goes on while ledgers are read",
        "bot/status/reader_thread.py",
        "return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, query)",
        "return self._read(query)",
        (f"{_READING}_databases_are_opened_once_and_read_by_one_thread",),
    ),
    Guard(
        "Metrics: the loop's own connection leaves the ledgers alone",
        "bot/status/metrics.py",
        "await monitor.reader.read(lambda health: list(_stored_metrics(health)))",
        "list(_stored_metrics(monitor))",
        (f"{_READING}_health_checks_and_metrics_do_not_read_growing_tables_on_the_loop",),
    ),
    Guard(
        "Health: nonsense that an agent asks for is no failure of the model",
        "bot/status/model_health.py",
        "status >= _THEIR_FAULT or status in _REFUSED",
        "status >= _GOOD_BELOW",
        ("tests/status/test_model_health.py::test_invalid_requests_of_an_agent_are_no_failure_of_the_model",),
    ),
)

GUARDS = (*_ONCE, *_LATE, *_HANGING, *_SECRETS, *_HOSTILE, *_WATCHING)
