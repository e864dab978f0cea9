"""Guards of Git LFS and of submodules: what a pointer hides, and where git goes (T10, T12)."""

from tests.mutants.guards.guard import Guard

_LFS = "tests/workspace/test_lfs.py::test"
_SUBMODULES = "tests/workspace/test_submodules.py::test"
_MERGE = "tests/services/local/test_merge.py::test"
_LARGE = "tests/services/local/test_large_history.py::test"
_PROGRESS = "tests/git/test_progress.py::test"
_KINDS = "tests/services/local/test_git_as_it_is.py::test"

GUARDS = (
    Guard(
        "T12: a secret behind a pointer of Git LFS is found",
        "bot/publish_guard/lfs_content.py",
        "            found[sha] = place.read_bytes()",
        "            pass",
        (f"{_LFS}_a_secret_in_a_file_under_lfs_is_found",),
    ),
    Guard(
        "T12: text that an agent moves to Git LFS is held",
        "bot/publish_guard/lfs_content.py",
        "        if place and not rules.covers",
        "        if not place and not rules.covers",
        (f"{_LFS}_source_code_that_the_agent_itself_moves_to_lfs_is_held_back_and_a_new_picture_is_not",),
    ),
    Guard(
        "T12: a pointer without its object is held",
        "bot/publish_guard/lfs_content.py",
        "        if not objects.find(pointer):\n            yield one, _NO_OBJECT\n        elif",
        "        if",
        (f"{_LFS}_a_pointer_that_an_agent_wrote_itself_is_held_back",),
    ),
    Guard(
        "T12: a file under Git LFS whose object cannot be uploaded is held",
        "bot/publish_guard/lfs_content.py",
        "        elif not can_upload:",
        "        elif False:",
        (f"{_LFS}_without_a_way_to_upload_such_a_change_is_held_back_and_cannot_be_approved",),
    ),
    Guard(
        "T12: a damaged object of Git LFS is not used",
        "bot/git/lfs.py",
        "                if digest(copied) != pointer.oid:",
        "                if False:",
        (f"{_LFS}_a_damaged_object_is_not_used",),
    ),
    Guard(
        "T10: a submodule is fetched from the host of its repository only",
        "bot/git/submodules.py",
        "if found and found.host == above.host else",
        "if found else",
        ("tests/git/test_submodules.py::test_a_submodule_is_fetched_from_the_host_of_its_repository_only",),
    ),
    Guard(
        "T10: the name of a submodule does not lead out of the folder of submodules",
        "bot/git/submodules.py",
        '    if not name or {"", ".", ".."} & {*parts}:',
        "    if not name:",
        ("tests/git/test_submodules.py::test_a_name_that_leads_out_of_the_folder_names_no_git_directory",),
    ),
    Guard(
        "T14: a link in the place of a submodule is not followed",
        "bot/workspace/capture.py",
        "        return os.open(name, _FOLDER, dir_fd=folder)",
        "        return os.open(name, os.O_RDONLY, dir_fd=folder)",
        (f"{_SUBMODULES}_a_link_in_the_place_of_a_submodule_is_not_followed",),
    ),
    Guard(
        "what is changed in a submodule keeps the worktree",
        "bot/workspace/submodules.py",
        "            is_whole = False",
        "            pass",
        (f"{_SUBMODULES}_what_is_changed_in_a_submodule_is_named_and_set_aside",),
    ),
    Guard(
        "T10: a merge does not touch a folder with uncommitted changes",
        "bot/services/local/checkout.py",
        "        if changed and not _has_content_of(one, commit):",
        "        if not _has_content_of(one, commit) and False:",
        (f"{_MERGE}_a_checkout_with_uncommitted_changes_is_refused_and_left_unchanged",),
    ),
    Guard(
        "T10: a merge overwrites no ignored file of the person",
        "bot/services/local/checkout.py",
        "    if lost := _files_in_the_way(checkout, before, after):",
        "    if lost := []:",
        (
            f"{_MERGE}_an_ignored_file_is_not_overwritten",
            f"{_MERGE}_an_ignored_file_or_link_in_the_place_of_a_new_folder_is_kept",
        ),
    ),
    Guard(
        "T10: files are brought back if the branch cannot be moved",
        "bot/services/local/checkout.py",
        '        _git_in(checkout, "read-tree", "-m", "-u", after, before)\n',
        "",
        (f"{_MERGE}_a_branch_that_cannot_be_moved_leaves_everything_unchanged",),
    ),
    Guard(
        "T11: packs of the person, with what no branch contains, are not given to agents",
        "bot/services/local/repository.py",
        "        pack_history(user_git_dir, fresh, theirs.values())",
        '        __import__("bot.git.history").git.history.link_history(user_git_dir, fresh)',
        (f"{_LARGE}_a_secret_that_git_packed_with_the_users_branches_is_in_no_repository_that_agents_read",),
    ),
    Guard(
        "a mirror that replaces a damaged one shares no file",
        "bot/workspace/mirror.py",
        "not self.refs(ORIGIN) and not damaged_path(self.path).exists()",
        "not self.refs(ORIGIN)",
        (f"{_LARGE}_a_mirror_that_replaces_a_damaged_one_shares_no_file",),
    ),
    Guard(
        "T18: a remote's words are not shown as progress",
        "bot/git/progress.py",
        "_LINE.fullmatch(line)",
        "_LINE.match(line)",
        (f"{_PROGRESS}_any_other_line_says_nothing",),
    ),
    Guard(
        "git that stands still does not keep a turn alive",
        "bot/domain/turn.py",
        "_NO_PROGRESS = {EventKind.NOTICE, EventKind.USAGE, EventKind.WAITING}",
        "_NO_PROGRESS = {EventKind.NOTICE, EventKind.USAGE}",
        ("tests/workspace/test_step_events.py::test_a_step_is_progress_and_waiting_is_none",),
    ),
)
