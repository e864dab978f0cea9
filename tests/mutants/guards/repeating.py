"""Words of others, where we repeat them (T18, T23)."""

from tests.mutants.guards.guard import Guard

_QUOTING = "tests/engine/test_quoting.py::test_t18"
_WORDS = "tests/escape/test_words.py::test"

GUARDS = (
    Guard(
        "T18: repeated words mention, close and number nothing",
        "bot/engine/quoting.py",
        "return _as_code(found[0], before, after)",
        "return found[0]",
        (f"{_QUOTING}_a_quotation_reads_the_same_and_does_nothing",),
    ),
    Guard(
        "T18: repeated words order nothing",
        "bot/engine/quoting.py",
        '.replace(found["slash"], _as_code(found["slash"], "", after))',
        "",
        (f"{_QUOTING}_a_quotation_reads_the_same_and_does_nothing",),
    ),
    Guard(
        "T18: repeated words are no markup",
        "bot/engine/quoting.py",
        "return _SPELLED[found[0][-1]]",
        "return found[0]",
        (f"{_QUOTING}_a_quotation_reads_the_same_and_does_nothing",),
    ),
    Guard(
        "T18: nobody leaves a quotation",
        "bot/engine/quoting.py",
        'f"> {line}".rstrip() for line in harmless(cut).splitlines()',
        'f"> {line}".rstrip() for line in [harmless(cut)]',
        (f"{_QUOTING}_a_quotation_reads_the_same_and_does_nothing",),
    ),
    Guard(
        "T18: a fence of ours is longer than any inside",
        "bot/engine/quoting.py",
        "max(3, longest + 1)",
        "3",
        (f"{_QUOTING}_a_quotation_reads_the_same_and_does_nothing",),
    ),
    Guard(
        "T18: terminals obey nothing that is repeated",
        "bot/engine/quoting.py",
        '_blocks(visible(text).split("\\n"))',
        '_blocks(text.split("\\n"))',
        (f"{_QUOTING}_a_quotation_reads_the_same_and_does_nothing",),
    ),
    Guard(
        "T18: titles switch no checks off",
        "bot/engine/quoting.py",
        'flat = _NO_CHECKS.sub(lambda found: f"({found[1] or found[2]})", on_one_line(text))',
        "flat = on_one_line(text)",
        (f"{_QUOTING}_titles_and_subjects_stay_plain",),
    ),
    Guard(
        "T18: quoted words end no part of ours",
        "bot/domain/body.py",
        'text.replace("<!-- treehand:", "<!-- treehand ")',
        "str(text)",
        ("tests/domain/test_body.py::test_an_agents_words_cannot_end_our_part_early",),
    ),
    Guard(
        "T18: quoted words close no issue",
        "bot/domain/body.py",
        'for line in body.splitlines() if not line.lstrip().startswith(">"))',
        "for line in body.splitlines())",
        ("tests/domain/test_body.py::test_which_issues_a_merge_closes",),
    ),
    Guard(
        "T18: what happened is one line of the log",
        "bot/logs.py",
        'c if c.isprintable() else f"\\\\x{ord(c):02x}" for c in',
        "c for c in",
        (f"{_WORDS}_t18_what_is_logged_is_one_line_for_each_thing_that_happened",),
    ),
    Guard(
        "T18: a terminal obeys nothing we print",
        "bot/terminal/saying.py",
        "print(visible(text), flush=flush)",
        "print(text, flush=flush)",
        ("tests/program/test_words.py::test_t18_whatever_is_said_is_plain",),
    ),
    Guard(
        "T23: an agent's words without a change offer nothing",
        "bot/engine/outcome.py",
        "if change is None or change.head == change.base:",
        "if False:",
        ("tests/engine/test_decide.py::test_forged_success_without_a_change_offers_nothing",),
    ),
    Guard(
        "T23: an agent's words stand as its own",
        "bot/engine/messages.py",
        "**What the agent says**\\n\\n{quote(turn.words)}",
        "{turn.words}",
        ("tests/stories/test_threats.py::test_t18_what_an_agent_says_and_does_acts_nowhere",),
    ),
    Guard(
        "F2: a turn that began unnoted, and is not wanted any more, is ended",
        "bot/engine/decide.py",
        "if seen.begun and not any(",
        "if False and not any(",
        ("tests/stories/test_ends.py::test_an_agent_that_was_started_while_nothing_could_be_said_ends_with_its_run",),
    ),
    Guard(
        "F21: an agent that began unnoted holds its slot",
        "bot/engine/loop.py",
        "self._busy.get(run.id) or as_begun(run, reports)",
        "self._busy.get(run.id) or run",
        ("tests/stories/test_ends.py::test_an_agent_that_was_started_while_nothing_could_be_said_holds_its_slot",),
    ),
    Guard(
        "F18: a later run ends the earlier ones",
        "bot/store/runs.py",
        "            self._execute(over, (run.key, run.ordinal))\n",
        "",
        ("tests/stories/test_forgetting.py::test_of_two_notes_that_say_that_they_go_on_the_later_one_does",),
    ),
    Guard(
        "Keeping: what is kept under something later is not kept again",
        "bot/workspace/salvage.py",
        "    if holding:\n",
        "    if False:\n",
        ("tests/workspace/test_dying.py::test_the_end_of_a_run_that_leaves_something",),
    ),
    Guard(
        "F15: a merge while we look is no issue that was closed",
        "bot/engine/observe.py",
        "        tracker = await project.tracker.look(keys, fresh=fresh)\n",
        "        early = await project.forge.look([branch_for(run) for run in ours], fresh=fresh)\n"
        "        return View(await project.tracker.look(keys, fresh=fresh), early)\n",
        ("tests/stories/test_ends.py::test_a_merge_while_we_look_is_a_merge_and_not_a_closed_issue",),
    ),
)
