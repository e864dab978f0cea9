"""Guards of the agent's program: the installed one, unchanged (T21)."""

from tests.mutants.guards.guard import Guard

_PROGRAM = "tests/agents/test_program.py::test"
_OLD = "tests/agents/test_claude_program.py::test_an_old_program_is_refused_with_the_required_version"

GUARDS = (
    Guard(
        "T21: an altered program is refused",
        "bot/agents/claude/program.py",
        'if urlsafe_b64encode(digest).decode().rstrip("=") != recorded.rstrip("="):',
        "if False:",
        (f"{_PROGRAM}_t21_an_altered_program_is_refused_and_never_run",),
    ),
    Guard(
        "T21: a program is known by more than its time",
        "bot/agents/claude/program.py",
        "status.st_mtime_ns, status.st_ctime_ns)",
        "status.st_mtime_ns)",
        (f"{_PROGRAM}_t21_an_altered_program_is_refused_and_never_run",),
    ),
    Guard(
        "T21: what was installed has a record",
        "bot/agents/claude/program.py",
        "if matches and Path(str(file.locate())).resolve() == cli.resolve():",
        "if False:",
        (f"{_PROGRAM}_the_bundled_program_has_a_record",),
    ),
    Guard(
        "T21: a program that has no record is said to have none",
        "bot/agents/claude/program.py",
        'return found if recorded else f"{found} (',
        'return found if True else f"{found} (',
        (f"{_PROGRAM}_a_program_without_an_installation_record_is_reported",),
    ),
    Guard(
        "T21: an older program is refused",
        "bot/agents/claude/program.py",
        "if tuple(map(int, found.groups())) < MIN_VERSION:",
        "if False:",
        (_OLD,),
    ),
    Guard(
        "T21: the program does not change itself",
        "bot/agents/claude/environment.py",
        '    "DISABLE_AUTOUPDATER": "1",\n',
        "",
        (f"{_PROGRAM}_t21_updates_by_the_program_itself_are_disabled",),
    ),
)
