"""Guards of publishing: which changes are held, and who may allow them (T12)."""

from tests.mutants.guards.guard import Guard

_GUARD = "tests/publish_guard/test_guard.py::test"
_PATHS = "tests/publish_guard/test_protected_paths.py::test"
_PUBLISHING = "tests/escape/test_publishing.py::test_t12"
_PEOPLE = "tests/escape/test_by_hand.py::test"
_SPELLED = (f"{_PATHS}_whatever_is_obeyed_is_held_in_every_spelling",)
_FAULTS = (f"{_PATHS}_names_that_some_system_cannot_hold_are_told",)
_LEADS = (f"{_PATHS}_a_link_that_leads_out_or_in_circles_is_known_for_it",)
_LINKS = (f"{_GUARD}_links_that_lead_astray_are_held",)

GUARDS = (
    Guard(
        "T12: a lock file with a package that runs an install script is held",
        "bot/publish_guard/auto_run_files.py",
        '    "package-lock.json": changed_locks,\n',
        "",
        (f"{_GUARD}_programs_that_run_when_something_is_installed_are_held",),
    ),
    Guard(
        "T12: protected paths are held",
        "bot/publish_guard/guard.py",
        "if why := why_protected(decode_path(one.path), self.guard.rules):",
        'if why := "":',
        (f"{_GUARD}_work_done_by_hand_is_judged_alike",),
    ),
    Guard(
        "T12: what is ruled by classes of paths is protected",
        "bot/publish_guard/protected_paths.py",
        'next((why for why, matcher in named if matcher.fullmatch(path)), "")',
        '""',
        _SPELLED,
    ),
    Guard(
        "T12: what a project protects is protected",
        "bot/publish_guard/protected_paths.py",
        '("protected by the settings", protected)',
        '("protected by the settings", ())',
        (f"{_PATHS}_a_projects_own_patterns_hold_what_they_say",),
    ),
    Guard(
        "T12: a path counts as any file system may spell it",
        "bot/publish_guard/protected_paths.py",
        "    path = canonical(path)\n    found = _find_reason(",
        "    found = _find_reason(",
        _SPELLED,
    ),
    Guard(
        "T12: letters nobody sees spell nothing",
        "bot/publish_guard/path_rules.py",
        "for letter in folded if not is_invisible(letter) or _is_byte(letter))",
        "for letter in folded)",
        _SPELLED,
    ),
    Guard(
        "T12: a submodule is held",
        "bot/publish_guard/guard.py",
        "if one.now and one.now.mode == SUBMODULE:",
        "if False:",
        (f"{_PUBLISHING}_a_commit_of_another_repository",),
    ),
    Guard(
        "T12: too many files are held",
        "bot/publish_guard/guard.py",
        "if files > rules.max_changed_files:",
        "if False:",
        (f"{_GUARD}_too_many_files_and_too_much_content_are_one_objection_each",),
    ),
    Guard(
        "T12: too much content is held",
        "bot/publish_guard/guard.py",
        "if much > rules.max_changed_mb * _MEGABYTE:",
        "if False:",
        (f"{_GUARD}_too_many_files_and_too_much_content_are_one_objection_each",),
    ),
    Guard(
        "T12: a large new binary file is held",
        "bot/publish_guard/guard.py",
        "if one.is_new and file.is_binary and len(file.content) > MAX_NEW_BINARY_BYTES:",
        "if False:",
        (f"{_GUARD}_a_large_new_binary_file_is_held",),
    ),
    Guard(
        "T12: names that some system cannot hold are held",
        "bot/publish_guard/guard.py",
        "for path, why in find_bad_names(new, self.entries):",
        "for path, why in ():",
        (f"{_GUARD}_names_are_judged_too",),
    ),
    Guard(
        "T12: names that two systems read differently are held",
        "bot/publish_guard/path_collisions.py",
        "if others and folder not in standing:",
        "if False:",
        (f"{_GUARD}_names_are_judged_too",),
    ),
    Guard(
        "T12: names with hidden letters are held",
        "bot/publish_guard/path_rules.py",
        '(any(map(_is_hidden, name)), "contains a hidden',
        '(False, "contains a hidden',
        _FAULTS,
    ),
    Guard(
        "T12: names of devices are held",
        "bot/publish_guard/path_rules.py",
        '(_RESERVED.fullmatch(name.partition(".")[0].rstrip()), "names',
        '(False, "stands',
        _FAULTS,
    ),
    Guard(
        "T12: a link to an absolute path is held",
        "bot/publish_guard/symlinks.py",
        "if _ABSOLUTE.match(targets[own]):",
        "if False:",
        _LEADS,
    ),
    Guard(
        "T12: a link that leads out is held",
        "bot/publish_guard/symlinks.py",
        'return "leads out of the repository"\n',
        'return ""\n',
        _LEADS,
    ),
    Guard(
        "T12: a link that leads out through another is held",
        "bot/publish_guard/symlinks.py",
        'return "" if target is None else self._follow(target)',
        'return ""',
        _LEADS,
    ),
    Guard(
        "T12: a link to a protected path is held",
        "bot/publish_guard/symlinks.py",
        "if (why := why_protected(target.path, rules)) else",
        "if (why := None) else",
        _LINKS,
    ),
    Guard(
        "T12: a link in the place of protected paths is held",
        "bot/publish_guard/symlinks.py",
        'protected paths" if holds_protected(path, rules) else ""',
        'protected paths" if False else ""',
        _LINKS,
    ),
    Guard(
        "T12: a link in the place of a folder is held",
        "bot/publish_guard/symlinks.py",
        "if canonical(path) in gone:",
        "if False:",
        (f"{_GUARD}_a_link_in_place_of_a_folder_is_held",),
    ),
    Guard(
        "T12: scripts of an installation are held",
        "bot/publish_guard/added_lines.py",
        "return find_programs(file.content, file.before)",
        "return ()",
        (f"{_GUARD}_programs_in_ordinary_files_are_held_and_ordinary_edits_are_not",),
    ),
    Guard(
        "T12: programs in git's attributes are held",
        "bot/publish_guard/added_lines.py",
        "return git_drivers(line for _, line in file.lines())",
        "return ()",
        (f"{_GUARD}_programs_in_ordinary_files_are_held_and_ordinary_edits_are_not",),
    ),
    Guard(
        "T12: a package's file that cannot be read is held",
        "bot/publish_guard/auto_run_files.py",
        "return (_UNREADABLE,)\n    known = list(_parse_readable(before, _scripts))",
        "return ()\n    known = list(_parse_readable(before, _scripts))",
        (f"{_PATHS}_scripts_of_an_installation_are_held_when_they_are_new",),
    ),
    Guard(
        "T12: what is objected to is committed nowhere",
        "bot/workspace/workspaces.py",
        "left_out, objections = scan.found.left_out, scan.found.objections",
        "left_out, objections = scan.found.left_out, ()",
        (f"{_GUARD}_what_is_objected_to_is_committed_nowhere_and_stays_where_it_is",),
    ),
    Guard(
        "T12: a person's word is for one content",
        "bot/publish_guard/guard.py",
        'detail, f"{holds} {one.path.hex()}")',
        'detail, f"{one.path.hex()}")',
        (f"{_GUARD}_another_content_than_the_allowed_one_is_asked_about_anew",),
    ),
    Guard(
        "T12: too much to list is allowed together, and only so",
        "bot/publish_guard/guard.py",
        "return [*found[:MAX_LISTED], Objection(",
        "return [*found[:MAX_LISTED]] if rest else [Objection(",
        (f"{_GUARD}_a_flood_of_objections_is_cut_and_the_rest_is_overruled_together",),
    ),
    Guard(
        "T12: work that is held gets into no merge",
        "bot/workspace/push.py",
        "if result.objections:",
        "if False:",
        (f"{_GUARD}_nothing_is_pushed_over_others_while_work_is_held",),
    ),
    Guard(
        "T12: work by hand is held as well",
        "bot/engine/run_turn.py",
        "if hand_work.blocked:",
        "if False:",
        ("tests/workspace/test_turns.py::test_t12_what_a_person_made_by_hand_and_is_held_gets_no_agent",),
    ),
    Guard(
        "T12: people are asked before anything that is held goes out",
        "bot/engine/finish_turn.py",
        "if publish_approval.is_blocked(seen):",
        "if False:",
        (
            "tests/stories/test_publish_approval.py::test_nothing_is_published_and_the_question_names_file_rule_and_place",
        ),
    ),
    Guard(
        "T12: what an issue asks to leave alone is asked about",
        "bot/workspace/workspaces.py",
        "allowed, self._guard.with_forbidden(forbids))",
        "allowed, self._guard)",
        (f"{_GUARD}_what_the_issue_asks_to_leave_alone_is_held_until_somebody_allows_it",),
    ),
    Guard(
        "An issue waits for what its text names, also where that has no label",
        "bot/engine/observe.py",
        "if named := await asyncio.to_thread(_named_in, tracker, ours):",
        "if named := []:",
        ("tests/stories/test_stories.py::test_what_its_text_says_must_come_first_comes_first_label_or_not",),
    ),
    Guard(
        "Two issues that own the same files do not work at the same time",
        "bot/engine/schedule.py",
        "or _overlapping(run, seen, working, owned, policies[run.project])",
        'or ""',
        ("tests/engine/test_schedule.py::test_two_that_own_the_same_files_do_not_work_at_the_same_time",),
    ),
    Guard(
        "What a busy run owns counts as everything",
        "bot/engine/schedule.py",
        'owned.get(other.id, ("",))',
        "owned.get(other.id, ())",
        ("tests/engine/test_schedule.py::test_what_a_busy_run_owns_is_not_known_and_taken_for_everything",),
    ),
)
