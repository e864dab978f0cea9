"""Guards of the secret scan: no known or likely secret leaves, in any encoding (T6, T7)."""

from tests.mutants.guards.guard import Guard

_LEAKS = "tests/secret_scan/test_scanner.py::test"
_SECRETS = "tests/escape/test_secrets.py::test"
_GUARD = "tests/publish_guard/test_guard.py::test"
_ENCODINGS = (f"{_LEAKS}_t7_every_canary_is_found_in_every_encoding",)
_FILES = (f"{_LEAKS}_t7_every_canary_is_found_in_every_kind_of_file",)
_TOO_MUCH = "tests/workspace/test_too_much.py::test"
_CHANNEL = f"{_SECRETS}_t7_no_channel_publishes_a_canary[%s-the GitHub token]"
_FIELDS = (f"{_SECRETS}_t7_every_field_of_a_report_is_withheld_in_every_encoding",)
_WIRED = (f"{_SECRETS}_t7_the_daemon_screens_every_output_channel",)

FOUND = (
    Guard(
        "T7: case, line ends and separators hide nothing",
        "bot/secret_scan/encodings.py",
        "return data.translate(_LOWER, _DROPPED)",
        "return data",
        _ENCODINGS,
    ),
    Guard(
        "T7: base64 is read from every offset",
        "bot/secret_scan/encodings.py",
        "bits=6, offsets=3)",
        "bits=6, offsets=1)",
        _ENCODINGS,
    ),
    Guard(
        "T7: base32 is read",
        "bot/secret_scan/encodings.py",
        "for text in (*_base64(raw), *_base32(raw), raw.hex().encode()):",
        "for text in (*_base64(raw), raw.hex().encode()):",
        _ENCODINGS,
    ),
    Guard(
        "T7: hexadecimal digits are read",
        "bot/secret_scan/encodings.py",
        "*_base32(raw), raw.hex().encode()):",
        "*_base32(raw)):",
        _ENCODINGS,
    ),
    Guard(
        "T7: texts are read backwards, too",
        "bot/secret_scan/encodings.py",
        "    yield front[::-1]\n",
        "",
        _ENCODINGS,
    ),
    Guard(
        "T7: every other letter is read, too",
        "bot/secret_scan/encodings.py",
        "for start in (0, 1):",
        "for start in ():",
        _ENCODINGS,
    ),
    Guard(
        "T7: what is escaped is read as it was before",
        "bot/secret_scan/encodings.py",
        "if bare != plain:",
        "if False:",
        _ENCODINGS,
    ),
    Guard(
        "T7: letters are read that only look like ASCII",
        "bot/secret_scan/encodings.py",
        'unicodedata.normalize("NFKD", text)).encode',
        "text).encode",
        _ENCODINGS,
    ),
    Guard(
        "T7: half of a secret is one",
        "bot/secret_scan/scanner.py",
        "in _pieces(spelling) if in_parts else (spelling,):",
        "in (spelling,):",
        _ENCODINGS,
    ),
    Guard(
        "T7: packed files are looked into",
        "bot/secret_scan/scanner.py",
        "for layer in unpacking.layers():",
        "for layer in (content,):",
        _FILES,
    ),
    Guard(
        "T7: unpacking has an end",
        "bot/secret_scan/unpack.py",
        "                    self.is_complete = False\n                    break",
        "                    self.is_complete = False",
        ("tests/secret_scan/test_scanner.py::test_unpacking_a_compression_bomb_is_bounded",),
    ),
    Guard(
        "T7: what was not unpacked is told",
        "bot/publish_guard/added_lines.py",
        "return held if found.is_complete else (*held, NOT_SEARCHED)",
        "return held",
        (f"{_TOO_MUCH}_a_file_that_could_not_be_unpacked_gives_an_objection",),
    ),
    Guard(
        "T16: all files of a capture share one budget of unpacking",
        "bot/publish_guard/guard.py",
        "self.guard.secrets, self.budget)",
        "self.guard.secrets, UnpackBudget())",
        (f"{_TOO_MUCH}_all_files_of_a_capture_share_the_budget",),
    ),
    Guard(
        "T16: no number of an entity crashes the scan",
        "bot/secret_scan/encodings.py",
        '_NO_LETTER.sub("", _LEADING_ZEROS.sub("&#", text))',
        "text",
        (f"{_TOO_MUCH}_a_very_long_number_does_not_crash_the_secret_scan",),
    ),
    Guard(
        "T7: tokens minted while it runs are known",
        "bot/secret_scan/scanner.py",
        "self._learned.append((name, value))",
        "pass",
        (f"{_LEAKS}_a_learned_secret_is_found_from_then_on",),
    ),
    Guard(
        "T7: the keys of known makers are suspicious",
        "bot/secret_scan/scanner.py",
        "in (*token_patterns.find_tokens(text), *named_secrets.find_named_secrets(text))",
        "in named_secrets.find_named_secrets(text)",
        (f"{_LEAKS}_a_finding_has_kind_and_line_and_not_the_secret",),
    ),
    Guard(
        "T7: chance under a secret's name is suspicious",
        "bot/secret_scan/scanner.py",
        "in (*token_patterns.find_tokens(text), *named_secrets.find_named_secrets(text))",
        "in token_patterns.find_tokens(text)",
        (f"{_LEAKS}_likely_secrets_are_reported",),
    ),
    Guard(
        "T7: passwords in addresses are suspicious",
        "bot/secret_scan/token_patterns.py",
        "yield from _find_url_passwords(text)",
        "yield from ()",
        (f"{_LEAKS}_likely_secrets_are_reported",),
    ),
    Guard(
        "T7: private keys are suspicious",
        "bot/secret_scan/token_patterns.py",
        "yield from _find_private_keys(text)",
        "yield from ()",
        (f"{_LEAKS}_likely_secrets_are_reported",),
    ),
)

WITHHELD = (
    Guard(
        "T7: what an agent tells on the way is screened",
        "bot/engine/run_turn.py",
        "screening.wrap(notice)",
        "notice",
        (_CHANNEL % "todo",),
    ),
    Guard(
        "T7: what an agent reports is screened",
        "bot/engine/run_turn.py",
        "return screening.report(await self._run(request, inbox, screening.wrap(notice)))",
        "return await self._run(request, inbox, screening.wrap(notice))",
        (_CHANNEL % "words",),
    ),
    *(
        Guard(f"T7: {what} pass the screening", "bot/engine/withhold_secrets.py", old, new, _FIELDS)
        for what, old, new in (
            ("an agent's words", "summary=self.text(report.summary)", "summary=report.summary"),
            ("an agent's questions", "question=self.text(report.question)", "question=report.question"),
            ("an agent's answers", "one.declined, self.text(one.text))", "one.declined, one.text)"),
            ("an agent's to-do lists", "replace(todo, text=self.text(todo.text))", "replace(todo)"),
            ("an agent's sessions", "session=self.text(report.session)", "session=report.session"),
            ("an agent's failures", "detail=self.text(report.detail)", "detail=report.detail"),
            ("names of files that were left out", "map(self.text, change.left_out)", "change.left_out"),
            ("things that were refused", "(*map(self.text, report.refusals),", "(*report.refusals,"),
        )
    ),
    Guard(
        "T7: people are told that something was withheld",
        "bot/engine/withhold_secrets.py",
        "if not self.withheld:",
        "if True:",
        (f"{_SECRETS}_t7_the_pull_request_says_how_much_was_withheld",),
    ),
    Guard(
        "T7: a last look at all that is said",
        "bot/engine/act.py",
        'refuse_secrets(f"{text}\\n{say.note}", project.find_secrets)',
        "text = str(text)",
        (f"{_SECRETS}_t7_a_secret_in_a_command_is_not_repeated_in_the_answer",),
    ),
    Guard(
        "T7: a last look at the commit's message",
        "bot/engine/act.py",
        "refuse_secrets(order.commit_message, project.find_secrets)",
        "pass",
        (f"{_SECRETS}_t7_a_secret_in_the_title_is_not_published_with_the_pull_request",),
    ),
    Guard(
        "T7: a last look at the pull request",
        "bot/engine/act.py",
        'refuse_secrets(f"{title}\\n{body}", project.find_secrets)',
        "pass",
        (f"{_SECRETS}_t7_a_secret_in_a_later_title_is_not_published_with_the_pull_request",),
    ),
    Guard(
        "T7: trouble gives nothing away",
        "bot/engine/withhold_secrets.py",
        "because it contains {', '.join(names)}.\" if names else text",
        "because it contains {', '.join(names)}.\" if False else text",
        (f"{_SECRETS}_t7_an_error_with_a_secret_is_reported_without_it",),
    ),
    Guard(
        "T7: the daemon looks for what it knows",
        "bot/app.py",
        "            find_secrets=self.secrets.find,\n",
        "",
        _WIRED,
    ),
    Guard(
        "T6: the daemon's journal is redacted",
        "bot/app.py",
        "own_store(settings, secrets.redact)",
        "own_store(settings, str)",
        _WIRED,
    ),
    Guard(
        "T6: the daemon's transcripts are redacted",
        "bot/app.py",
        "open_transcripts(settings, secrets.redact)",
        "open_transcripts(settings)",
        _WIRED,
    ),
    Guard(
        "T7: the daemon screens its agents",
        "bot/app.py",
        "homes_of(settings), secrets.find_any, report_git)",
        "homes_of(settings), report_git=report_git)",
        (f"{_SECRETS}_t7_the_daemon_screens_its_agents_and_their_files",),
    ),
    Guard(
        "T7: the daemon's workspaces know its secrets",
        "bot/workspace/build.py",
        "rules=rules, secrets=secrets)",
        "rules=rules)",
        (f"{_SECRETS}_t7_the_daemon_screens_its_agents_and_their_files",),
    ),
    Guard(
        "T6: transcripts are redacted",
        "bot/store/transcripts.py",
        "map(self._redact, (event.text, event.tool, event.id))",
        "(event.text, event.tool, event.id)",
        (f"{_SECRETS}_t6_transcripts_are_redacted_before_they_are_written[the GitHub token]",),
    ),
    Guard(
        "T6: the journal is redacted",
        "bot/store/runs.py",
        "at, self._redact(text))",
        "at, text)",
        (f"{_SECRETS}_t6_the_journal_is_redacted_before_it_is_written",),
    ),
    Guard(
        "T6: the log is redacted, tracebacks included",
        "bot/system/logs.py",
        "return self._redact(super().format(record))",
        "return super().format(record)",
        (f"{_SECRETS}_t6_the_log_and_its_tracebacks_are_redacted[the GitHub token]",),
    ),
    Guard(
        "T6: the App's key is known as a secret",
        "bot/settings/credentials.py",
        "        if github.private_key_file\n",
        "        if False\n",
        (f"{_SECRETS}_t6_every_configured_secret_is_known",),
    ),
    Guard(
        "T6: whatever is called a secret is known as one",
        "bot/settings/credentials.py",
        "if (name in KEY_VARIABLES or _SECRET_NAME.search(name))",
        "if name in KEY_VARIABLES",
        (f"{_SECRETS}_t6_every_configured_secret_is_known",),
    ),
    Guard(
        "T6: nobody sees keys where a gate's papers are printed",
        "bot/sandbox/proxy/grant.py",
        "headers: Mapping[str, str] = field(repr=False)",
        "headers: Mapping[str, str] = field()",
        ("tests/sandbox/test_model.py::test_keys_and_tokens_are_not_in_the_repr_of_proxy_values",),
    ),
    Guard(
        "T6: secrets are shown by name only",
        "bot/secret_scan/scanner.py",
        "return f\"Secrets({', '.join(self.names)})\"",
        "return str(self._known)",
        (f"{_LEAKS}_the_repr_contains_names_and_no_values",),
    ),
)

PUBLISHED = (
    Guard(
        "T7: a file with a secret of ours is held",
        "bot/publish_guard/guard.py",
        "if leaks := (*known_secrets_in(file, self.guard.secrets, self.budget), *looks):",
        "if leaks := looks:",
        (f"{_GUARD}_a_secret_in_a_file_is_held_and_never_repeated",),
    ),
    Guard(
        "T7: a file with what looks like a secret is held",
        "bot/publish_guard/guard.py",
        "if leaks := (*known_secrets_in(file, self.guard.secrets, self.budget), *looks):",
        "if leaks := known_secrets_in(file, self.guard.secrets, self.budget):",
        (f"{_GUARD}_a_likely_new_secret_is_held_with_its_line",),
    ),
    Guard(
        "T7: a name with a secret in it is held",
        "bot/publish_guard/guard.py",
        "for path, what in self.secret_names.items():",
        "for path, what in ():",
        (f"{_GUARD}_file_names_are_checked_too",),
    ),
    Guard(
        "T7: a name with a secret in it is not repeated",
        "bot/publish_guard/guard.py",
        "return _HIDDEN_NAME if path in self.secret_names else printable_path(path)",
        "return printable_path(path)",
        (f"{_GUARD}_file_names_are_checked_too",),
    ),
)
_TOO_MUCH = "tests/workspace/test_too_much.py::test"

GUARDS = (*FOUND, *WITHHELD, *PUBLISHED)
