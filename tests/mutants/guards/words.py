"""Words that hide, that would be obeyed, that become names, and that we repeat (T3, T4, T5, T13, T18, T23)."""

from tests.mutants.guards.guard import Guard

_READING = "tests/domain/test_reading.py::test_t3"
_WORDS = "tests/escape/test_words.py::test"
_REPOSITORY = "tests/workspace/test_instructions.py::test"
_PEOPLE = "tests/escape/test_by_hand.py::test"
_THREAT = "tests/stories/test_threats.py"
_CLAUDE = "bot/agents/claude"
_HIDDEN = (f"{_READING}_what_is_hidden_is_left_out_and_counted",)
_LETTERS = (f"{_READING}_hidden_letters_are_left_out",)
_STRANGERS_WORDS = ("tests/agents/test_claude.py::test_what_strangers_write_is_words_and_nothing_else",)

READ = (
    Guard(
        "T3: letters that format, tags among them, are taken out",
        "bot/text/visible.py",
        'frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})',
        'frozenset({"Cc", "Cn", "Co", "Cs"})',
        _LETTERS,
    ),
    Guard(
        "T3: tags stay in the flags of countries only",
        "bot/text/visible.py",
        "lambda found: found[1] or _HERE, text)",
        "lambda found: found[0], text)",
        _LETTERS,
    ),
    Guard(
        "T3: variation selectors are taken out",
        "bot/text/visible.py",
        ", (0xE0100, 0xE01EF))",
        ")",
        _LETTERS,
    ),
    Guard(
        "T3: what a terminal obeys is taken out whole",
        "bot/text/visible.py",
        "text = _TERMINAL.sub(_HERE, text)",
        "text = str(text)",
        _LETTERS,
    ),
    Guard(
        "T3: comments in Markdown are taken out",
        "bot/text/hidden_markup.py",
        'return self._past(found, "-->") if found[0] == "<!--" else (_GONE, found.end())',
        "return None, found.end()",
        _HIDDEN,
    ),
    Guard(
        "T3: hidden elements are taken out",
        "bot/text/markdown_patterns.py",
        "return bool(_HIDDEN.search(",
        "return False and bool(_HIDDEN.search(",
        _HIDDEN,
    ),
    Guard(
        "T3: the text of an image is taken out",
        "bot/text/hidden_markup.py",
        "{alt if marks.ONE_WORD.fullmatch(alt) else ''}",
        "{alt}",
        _HIDDEN,
    ),
    Guard(
        "T3: the hint of a link is taken out",
        "bot/text/hidden_markup.py",
        'if found["hint"] or address != found["target"] else None',
        'if address != found["target"] else None',
        _HIDDEN,
    ),
    Guard(
        "T3: a note that nothing refers to is taken out",
        "bot/text/hidden_markup.py",
        "if self._labels.is_used(f\"^{found['key']}\"):",
        "if True:",
        _HIDDEN,
    ),
    Guard(
        "T3: what follows the language of code is taken out",
        "bot/text/hidden_markup.py",
        "yield _fence(part.text)",
        "yield _Piece(part.text)",
        _HIDDEN,
    ),
    Guard(
        "T3: a letter that is only spelled out is taken out as well",
        "bot/text/hidden_markup.py",
        'case "entity" if all(',
        'case "entity" if False and all(',
        _LETTERS,
    ),
    Guard(
        "T3: what only looks like code is none",
        "bot/text/markdown_blocks.py",
        "if self._in_markup or (indent and self._in_container):",
        "if False:",
        (f"{_READING}_what_only_looks_like_code_carries_nothing_past_people",),
    ),
    Guard(
        "T3: the issue is read before any agent is told",
        "bot/engine/observe.py",
        "request, hidden = read_issue(issue) if issue else (None, 0)",
        "request, hidden = issue, 0",
        (f"{_THREAT}::test_t3_what_is_hidden_in_an_issue_and_its_thread_reaches_no_agent_and_people_are_told",),
    ),
    Guard(
        "T3: comments are read before any agent is told",
        "bot/engine/observe.py",
        "read = [read_comment(comment) for comment in",
        "read = [(comment, 0) for comment in",
        (f"{_THREAT}::test_t3_what_is_hidden_in_comments_reviews_and_logs_reaches_no_agent",),
    ),
    Guard(
        "T3: what checks say is read before any agent is told",
        "bot/engine/observe.py",
        "read_pull_request(pull) if pull else None",
        "pull",
        (f"{_THREAT}::test_t3_what_is_hidden_in_comments_reviews_and_logs_reaches_no_agent",),
    ),
    Guard(
        "T3: people are told how much was left out",
        "bot/engine/messages/issue.py",
        "if not hidden:",
        "if True:",
        (f"{_THREAT}::test_t3_what_is_hidden_in_an_issue_and_its_thread_reaches_no_agent_and_people_are_told",),
    ),
)

OBEYED = (
    Guard(
        "T4: words of people are taken as words",
        f"{_CLAUDE}/agent.py",
        "verbatim_prompts=True",
        "verbatim_prompts=False",
        _STRANGERS_WORDS,
    ),
    Guard(
        "T5: settings and hooks of a repository are not loaded",
        f"{_CLAUDE}/agent.py",
        "setting_sources=[]",
        'setting_sources=["user", "project", "local"]',
        _STRANGERS_WORDS,
    ),
    Guard(
        "T5: instructions are those of the base branch",
        "bot/workspace/workspaces.py",
        "instructions_at(self._mirror.path, base)",
        "instructions_at(self._mirror.path, refs[worktree.ref])",
        (f"{_REPOSITORY}_what_the_branch_or_the_worktree_says_is_not_told",),
    ),
    Guard(
        "T5: a link among instructions stays in the commit",
        "bot/workspace/agent_instructions.py",
        'if name.startswith(("/", "..")) or "\\0" in name:',
        'if name == "":',
        (f"{_REPOSITORY}_a_link_that_leads_elsewhere_tells_nothing",),
    ),
    Guard(
        "T5: what is hidden in instructions is left out",
        "bot/workspace/agent_instructions.py",
        'text = read(content[:_MOST_BYTES].decode(errors="replace")).text.strip()',
        'text = content[:_MOST_BYTES].decode(errors="replace").strip()',
        (f"{_REPOSITORY}_what_is_hidden_in_them_is_left_out",),
    ),
    Guard(
        "T5: instructions have an end",
        "bot/workspace/agent_instructions.py",
        "read(content[:_MOST_BYTES]",
        "read(content",
        (f"{_REPOSITORY}_long_ones_are_cut_and_say_so",),
    ),
    Guard(
        "T5: by hand, the worktree sets nothing in motion",
        f"{_CLAUDE}/by_hand.py",
        'only = ("--setting-sources", "user", "--strict-mcp-config")',
        "only = ()",
        (f"{_PEOPLE}_t5_nothing_planted_by_an_agent_runs_when_a_person_goes_on_with_the_conversation",),
    ),
    Guard(
        "T5: by hand, the agent's home is not used",
        f"{_CLAUDE}/by_hand.py",
        'f"CLAUDE_CONFIG_DIR={clean_home_for(home)}"',
        'f"CLAUDE_CONFIG_DIR={home}"',
        (f"{_PEOPLE}_t5_nothing_planted_by_an_agent_runs_when_a_person_goes_on_with_the_conversation",),
    ),
    Guard(
        "T5: the clean home is made anew",
        f"{_CLAUDE}/by_hand.py",
        "    _clear(clean)\n    clean.mkdir(mode=0o700, parents=True)",
        "    clean.mkdir(mode=0o700, parents=True, exist_ok=True)",
        (f"{_PEOPLE}_the_clean_home_holds_the_conversation_and_nothing_else",),
    ),
)

NAMES = (
    Guard(
        "T13: a branch is made of plain letters and numbers",
        "bot/domain/names.py",
        'slug = re.sub(r"[^a-z0-9]+", "-", run.key.lower()).strip("-")',
        "slug = run.key",
        (f"{_WORDS}_t13_git_takes_every_such_branch_for_a_name",),
    ),
    Guard(
        "T13: no two runs share a branch",
        "bot/domain/names.py",
        'else f"{PREFIX}{slug}-{run.ordinal}"',
        'else f"{PREFIX}{slug}"',
        (f"{_WORDS}_t13_different_runs_of_a_project_never_share_a_branch",),
    ),
    Guard(
        "T13: what is no model's name reaches no command line",
        f"{_CLAUDE}/agent.py",
        "if work.model and not MODEL_NAME.fullmatch(work.model):",
        "if False:",
        ("tests/agents/test_claude_program.py::test_what_is_not_the_name_of_a_model_never_reaches_a_command_line",),
    ),
    Guard(
        "T13: what is no conversation's name is no command",
        f"{_CLAUDE}/by_hand.py",
        'if not _SESSION.fullmatch(session):\n        return ""',
        'if not session:\n        return ""',
        (f"{_PEOPLE}_what_is_not_the_name_of_a_conversation_is_no_command_and_no_file",),
    ),
    Guard(
        "T13: what is no conversation's name is no file",
        f"{_CLAUDE}/by_hand.py",
        "if not _SESSION.fullmatch(session):\n        return\n",
        "if not session:\n        return\n",
        (f"{_PEOPLE}_t13_what_is_not_the_name_of_a_conversation_names_no_file_elsewhere",),
    ),
)


GUARDS = (*READ, *OBEYED, *NAMES)
