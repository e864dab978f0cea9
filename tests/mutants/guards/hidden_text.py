"""Guards against hidden text, commands in text, and text that becomes a name (T3, T4, T5, T13, T18, T23)."""

from tests.mutants.guards.guard import Guard

_READING = "tests/text/test_read_untrusted.py::test_t3"
_WORDS = "tests/escape/test_words.py::test"
_REPOSITORY = "tests/workspace/test_agent_instructions.py::test"
_PEOPLE = "tests/escape/test_by_hand.py::test"
_THREAT = "tests/stories/test_threats.py"
_HIDDEN = (f"{_READING}_hidden_text_is_left_out_and_counted",)
_LETTERS = (f"{_READING}_invisible_characters_are_left_out",)
_STRANGERS_WORDS = ("tests/agents/test_claude.py::test_hooks_and_commands_in_untrusted_text_and_files_do_not_run",)

READ = (
    Guard(
        "T3: letters that format, tags among them, are taken out",
        "bot/text/invisible_characters.py",
        'frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})',
        'frozenset({"Cc", "Cn", "Co", "Cs"})',
        _LETTERS,
    ),
    Guard(
        "T3: tags stay in the flags of countries only",
        "bot/text/invisible_characters.py",
        "lambda found: found[1] or _REMOVED, text)",
        "lambda found: found[0], text)",
        _LETTERS,
    ),
    Guard(
        "T3: variation selectors are taken out",
        "bot/text/invisible_characters.py",
        ", (0xE0100, 0xE01EF))",
        ")",
        _LETTERS,
    ),
    Guard(
        "T3: what a terminal obeys is taken out whole",
        "bot/text/invisible_characters.py",
        "text = _replace_escapes(text)",
        "text = str(text)",
        _LETTERS,
    ),
    Guard(
        "T3: comments in Markdown are taken out",
        "bot/text/inline_markup.py",
        "return self._replace(at, end + 3)",
        "return end + 3",
        _HIDDEN,
    ),
    Guard(
        "T3: hidden elements are taken out",
        "bot/text/html_tags.py",
        'if attribute.name == "hidden":',
        "if False:",
        _HIDDEN,
    ),
    Guard(
        "T3: the text of an image is taken out",
        "bot/text/inline_markup.py",
        "if not is_kept or not is_one_word(words):",
        "if not is_kept:",
        _HIDDEN,
    ),
    Guard(
        "T3: the hint of a link is taken out",
        "bot/text/inline_markup.py",
        "if found.has_title or safe != address:",
        "if safe != address:",
        _HIDDEN,
    ),
    Guard(
        "T3: a note that nothing refers to is taken out",
        "bot/text/hidden_markup.py",
        "if key in shown or key not in used or not is_one_word(key):",
        "if False:",
        _HIDDEN,
    ),
    Guard(
        "T3: what follows the language of code is taken out",
        "bot/text/hidden_markup.py",
        "if leaf.text[kept:].strip():",
        "if False:",
        _HIDDEN,
    ),
    Guard(
        "T3: a letter that is only spelled out is taken out as well",
        "bot/text/raw_html.py",
        "if found and all(map(is_invisible, unescape(found[0]))):",
        "if False:",
        _LETTERS,
    ),
    Guard(
        "T3: what only looks like code is none",
        "bot/text/markdown_blocks.py",
        "self._is_doubtful = True",
        "self._is_doubtful = False",
        (f"{_READING}_hidden_text_in_fake_code_is_left_out",),
    ),
    Guard(
        "T3: cells beyond a table's last column are taken out",
        "bot/text/hidden_markup.py",
        "        case LeafKind.EXCESS:\n            yield Piece(leaf.start, leaf.start + len(leaf.text))\n",
        "        case LeafKind.EXCESS:\n            pass\n",
        _HIDDEN,
    ),
    Guard(
        "T3: the name of a link's definition is taken out",
        "bot/text/inline_markup.py",
        'is_kept = is_one_word(label or "")',
        "is_kept = True",
        _HIDDEN,
    ),
    Guard(
        "T3: an element is hidden until every browser ends it",
        "bot/text/hidden_markup.py",
        "if self._inside[-1] != tag.name:",
        "self._inside = self._inside[:1]\n        if self._inside[-1] != tag.name:",
        _HIDDEN,
    ),
    Guard(
        "T3: after an address without an end, nothing counts as code",
        "bot/text/inline_markup.py",
        "if unclear and self._last_hiding >= at + unclear.start():",
        "if False:",
        (f"{_READING}_hidden_text_in_fake_code_is_left_out",),
    ),
    Guard(
        "T3: a text has an end, of letters",
        "bot/text/read_untrusted.py",
        "    if len(text) > LONGEST_TEXT:\n        text = text[: LONGEST_TEXT - len(CUT)]\n",
        "",
        (f"{_READING}_a_text_that_is_too_long_is_cut_and_marked",),
    ),
    Guard(
        "T3: the issue is read before any agent is told",
        "bot/engine/observe.py",
        "{key: read_issue(issue) for key, issue",
        "{key: (issue, 0) for key, issue",
        (f"{_THREAT}::test_t3_hidden_text_in_an_issue_and_its_comments_reaches_no_agent_and_is_reported",),
    ),
    Guard(
        "T16: what strangers write is not read",
        "bot/engine/observe.py",
        "read_comment(one) if one.author.trusted or one.edited_by else (unread_comment(one), 0)",
        "read_comment(one)",
        ("tests/escape/test_loop_stall.py::test_t16_text_of_an_untrusted_person_is_not_parsed",),
    ),
    Guard(
        "T16: a marker is found without trying each of many spaces",
        "bot/services/github/comment_markers.py",
        'r"(?:<!-- treehand-note',
        'r"\\s*(?:<!-- treehand-note',
        ("tests/escape/test_loop_stall.py::test_t16_text_made_to_be_slow_to_parse_does_not_stall_the_loop",),
    ),
    Guard(
        "T16: a label of backslashes is read in one way only",
        "bot/text/link_definitions.py",
        '_INSIDE_LABEL = re.compile(r"(?:[^\\[\\]\\\\]|\\\\.){0,1000}"',
        '_INSIDE_LABEL = re.compile(r"(?:[^\\[\\]\\\\]|\\\\.?){0,1000}"',
        ("tests/patterns/test_patterns.py::test_no_regular_expression_takes_exponential_time",),
    ),
    Guard(
        "T16: an expression tries a text once, not once for each space",
        "bot/text/link_definitions.py",
        '_POINTED = re.compile(r"<(?:[^<>\\n\\\\]',
        '_POINTED = re.compile(r"\\s*\\s*<(?:[^<>\\n\\\\]',
        ("tests/patterns/test_patterns.py::test_only_expressions_that_read_short_text_take_quadratic_time",),
    ),
    Guard(
        "T3: what checks say is read before any agent is told",
        "bot/engine/observe.py",
        "{branch: read_pull_request(pull) for branch, pull",
        "{branch: pull for branch, pull",
        (f"{_THREAT}::test_t3_hidden_text_in_comments_reviews_and_check_logs_reaches_no_agent",),
    ),
    Guard(
        "T3: people are told how much was left out",
        "bot/engine/messages/progress_comment.py",
        "if not hidden:",
        "if True:",
        (f"{_THREAT}::test_t3_hidden_text_in_an_issue_and_its_comments_reaches_no_agent_and_is_reported",),
    ),
)

OBEYED = (
    Guard(
        "T4: words of people are taken as words",
        "bot/agents/claude/agent.py",
        "verbatim_prompts=True",
        "verbatim_prompts=False",
        _STRANGERS_WORDS,
    ),
    Guard(
        "T5: settings and hooks of a repository are not loaded",
        "bot/agents/claude/agent.py",
        "setting_sources=[]",
        'setting_sources=["user", "project", "local"]',
        _STRANGERS_WORDS,
    ),
    Guard(
        "T5: instructions are those of the base branch",
        "bot/workspace/workspaces.py",
        "read_agent_instructions(self._mirror.path, base)",
        "read_agent_instructions(self._mirror.path, refs[worktree.ref])",
        (f"{_REPOSITORY}_instructions_on_the_branch_or_in_the_worktree_are_ignored",),
    ),
    Guard(
        "T5: a link among instructions stays in the commit",
        "bot/workspace/agent_instructions.py",
        'if name.startswith(("/", "..")) or "\\0" in name:',
        'if name == "":',
        (f"{_REPOSITORY}_a_link_to_another_place_gives_no_instructions",),
    ),
    Guard(
        "T5: what is hidden in instructions is left out",
        "bot/workspace/agent_instructions.py",
        'text = read(content[:_MAX_BYTES].decode(errors="replace")).text.strip()',
        'text = content[:_MAX_BYTES].decode(errors="replace").strip()',
        (f"{_REPOSITORY}_hidden_text_in_instructions_is_left_out",),
    ),
    Guard(
        "T5: instructions have an end",
        "bot/workspace/agent_instructions.py",
        "read(content[:_MAX_BYTES]",
        "read(content",
        (f"{_REPOSITORY}_long_instructions_are_cut_and_marked",),
    ),
    Guard(
        "T5: by hand, the worktree sets nothing in motion",
        "bot/agents/claude/session_export.py",
        'only = ("--setting-sources", "user", "--strict-mcp-config")',
        "only = ()",
        (f"{_PEOPLE}_t5_files_planted_by_an_agent_do_not_run_when_a_person_resumes_the_session",),
    ),
    Guard(
        "T5: by hand, the agent's home is not used",
        "bot/agents/claude/session_export.py",
        'f"CLAUDE_CONFIG_DIR={clean_home_for(home)}"',
        'f"CLAUDE_CONFIG_DIR={home}"',
        (f"{_PEOPLE}_t5_files_planted_by_an_agent_do_not_run_when_a_person_resumes_the_session",),
    ),
    Guard(
        "T5: the clean home is made anew",
        "bot/agents/claude/session_export.py",
        "    _clear(clean)\n    clean.mkdir(mode=0o700, parents=True)",
        "    clean.mkdir(mode=0o700, parents=True, exist_ok=True)",
        (f"{_PEOPLE}_the_clean_home_contains_only_the_session_file",),
    ),
)

NAMES = (
    Guard(
        "T13: a branch is made of plain letters and numbers",
        "bot/domain/branch_name.py",
        'slug = re.sub(r"[^a-z0-9]+", "-", run.key.lower()).strip("-")',
        "slug = run.key",
        (f"{_WORDS}_t13_git_accepts_every_such_branch_name",),
    ),
    Guard(
        "T13: no two runs share a branch",
        "bot/domain/branch_name.py",
        'else f"{PREFIX}{slug}-{run.ordinal}"',
        'else f"{PREFIX}{slug}"',
        (f"{_WORDS}_t13_different_runs_of_a_project_never_share_a_branch",),
    ),
    Guard(
        "T13: what is no model's name reaches no command line",
        "bot/agents/claude/agent.py",
        "if task.model and not MODEL_NAME.fullmatch(task.model):",
        "if False:",
        ("tests/agents/test_claude_program.py::test_an_invalid_model_name_never_reaches_a_command_line",),
    ),
    Guard(
        "T13: what is no conversation's name is no command",
        "bot/agents/claude/session_export.py",
        'if not _SESSION.fullmatch(session):\n        return ""',
        'if not session:\n        return ""',
        (f"{_PEOPLE}_an_invalid_session_name_gives_no_command_and_no_file",),
    ),
    Guard(
        "T13: what is no conversation's name is no file",
        "bot/agents/claude/session_export.py",
        "if not _SESSION.fullmatch(session):\n        return\n",
        "if not session:\n        return\n",
        (f"{_PEOPLE}_t13_an_invalid_session_name_cannot_name_a_file_elsewhere",),
    ),
)


GUARDS = (*READ, *OBEYED, *NAMES)
