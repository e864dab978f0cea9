"""Guards of `treehand init` and `treehand check`: secrets that are kept, consent, and what agents are shown."""

from tests.mutants.guards.guard import Guard

_CREDENTIALS = "tests/cli/test_init_credentials.py::test"
_FINISH = "tests/cli/test_init_finish.py::test"

GUARDS = (
    Guard(
        "Init: a kept secret is for its owner alone",
        "bot/cli/kept_secrets.py",
        "os.O_EXCL, 0o600)",
        "os.O_EXCL, 0o644)",
        (f"{_CREDENTIALS}_a_kept_secret_is_for_its_owner_alone_and_is_never_overwritten",),
    ),
    Guard(
        "Init: a kept secret is never overwritten",
        "bot/cli/kept_secrets.py",
        "os.O_CREAT | os.O_EXCL",
        "os.O_CREAT | os.O_TRUNC",
        (f"{_CREDENTIALS}_a_kept_secret_is_for_its_owner_alone_and_is_never_overwritten",),
    ),
    Guard(
        "Init: no token of gh is copied without an answer",
        "bot/cli/init_credentials.py",
        "if token and ask.left:",
        "if token:",
        (f"{_CREDENTIALS}_without_anybody_to_ask_no_token_is_copied",),
    ),
    Guard(
        "Init: agents are shown no folder with other things of a person",
        "bot/cli/init_finish.py",
        "return None if whole in shared else whole",
        "return whole",
        (f"{_FINISH}_only_a_folder_with_one_tool_is_shown_to_agents",),
    ),
    Guard(
        "Check: setup is not learned without consent",
        "bot/cli/check.py",
        "if not (options.yes or may_ask()):",
        "if False:",
        ("tests/cli/test_check.py::test_learning_without_a_terminal_needs_consent",),
    ),
)
