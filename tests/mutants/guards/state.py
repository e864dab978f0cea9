"""Guards of the state directory: whose it is, and which settings lead to it."""

from tests.mutants.guards.guard import Guard

_RECORD, _FIND = "bot/workspace/repository_record.py", "bot/settings/find_file.py"
_RECORDS = "tests/workspace/test_repository_record.py::test"
_FOUND = "tests/settings/test_find_file.py::test"

GUARDS = (
    Guard(
        "state: a state of another repository is refused",
        _RECORD,
        "    if not _is_same(known, found):\n",
        "    if False:\n",
        (f"{_RECORDS}_another_repository_of_the_same_name_is_refused_and_both_are_named",),
    ),
    Guard(
        "state: a second clone is another repository",
        _RECORD,
        "    if known.place != found.place and _is_still_there(known.git_dir, found.git_dir):\n        return False\n",
        "",
        (f"{_RECORDS}_a_second_clone_is_another_repository_although_it_shares_the_history",),
    ),
    Guard(
        "state: a moved repository is known by its first commit",
        _RECORD,
        "        return has_commit(found.git_dir, known.first_commit)\n",
        "        return True\n",
        (f"{_RECORDS}_another_repository_is_not_taken_for_one_that_was_moved",),
    ),
    Guard(
        "state: a state of an earlier version is not given to an unrelated repository",
        _RECORD,
        "        _refuse_unrelated(state_dir, name, found)\n",
        "",
        (f"{_RECORDS}_a_state_of_an_earlier_version_is_taken_over_by_the_repository_that_shares_its_history",),
    ),
    Guard(
        "T5: settings in a worktree are an agent's",
        _FIND,
        "if not is_written_by_agents(above) and",
        "if",
        (f"{_FOUND}_a_file_that_an_agent_may_have_written_is_not_used[worktrees/shop/shop-1]",),
    ),
    Guard(
        "T17: settings of another user in a folder above are not used",
        _FIND,
        "(above == folder or _is_ours(file))",
        "True",
        (f"{_FOUND}_a_file_of_another_user_in_a_folder_above_is_not_used",),
    ),
)
