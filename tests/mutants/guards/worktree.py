"""Guards of the worktree: files that an agent leaves and the host reads or runs (T6, T10, T11, T14)."""

from tests.mutants.guards.guard import Guard

_CHILD = "tests/git/test_in_child.py::test"
_TOO_MUCH = "tests/workspace/test_too_much.py::test"
_CAPTURE = "tests/workspace/test_capture.py::test"
_HOSTILE = "tests/publish_guard/test_hostile.py::test"
_PEOPLE = "tests/escape/test_by_hand.py::test"
_WALK = "tests/system/test_tree_walk.py::test"
_BY_HAND = "tests/escape/test_git_by_hand.py::test_t10"
_TRAPS = (f"{_PEOPLE}_t14_what_is_no_plain_file_does_not_cross_over",)


READ = (
    Guard(
        "T10: the pointer to git is made ours again",
        "bot/workspace/shadow_git_dir.py",
        "if _has_text(pointer, text):",
        "if os.path.lexists(pointer):",
        (f"{_HOSTILE}_nothing_an_agent_plants_is_ever_run",),
    ),
    Guard(
        "T10: a git directory is built anew, never repaired",
        "bot/workspace/shadow_git_dir.py",
        "    for old in (paths.shadow, paths.agent_git):\n        trash.throw(old)\n",
        "    if paths.shadow.exists():\n        return\n",
        (f"{_HOSTILE}_the_next_turns_git_directory_has_nothing_of_the_last_ones",),
    ),
    Guard(
        "T10: git is run on the repository that is named",
        "bot/git/command.py",
        '["git", f"--git-dir={git_dir}", *args],',
        '["git", *args],',
        (f"{_CAPTURE}_nothing_changed_makes_no_commit",),
    ),
    Guard(
        "T10: git runs none of a repository's hooks",
        "bot/git/command.py",
        '    ("core.hooksPath", "/dev/null"),\n',
        "",
        (f"{_HOSTILE}_t10_git_runs_nothing_even_of_a_repository_that_was_poisoned",),
    ),
    Guard(
        "T10: git asks no program what has changed",
        "bot/git/command.py",
        '    ("core.fsmonitor", "false"),\n',
        "",
        (f"{_HOSTILE}_t10_git_runs_nothing_even_of_a_repository_that_was_poisoned",),
    ),
    Guard(
        "T10: git speaks to no program as if it were a remote",
        "bot/git/command.py",
        '    ("protocol.ext.allow", "never"),\n',
        "",
        (f"{_HOSTILE}_t10_git_runs_nothing_even_of_a_repository_that_was_poisoned",),
    ),
    Guard(
        "T10: git obeys no settings of whoever runs us",
        "bot/git/command.py",
        '    "GIT_CONFIG_GLOBAL": "/dev/null",\n',
        "",
        (f"{_HOSTILE}_t6_git_obeys_nobodys_own_settings_and_inherits_no_secrets",),
    ),
    Guard(
        "T6: git inherits none of our secrets",
        "bot/git/command.py",
        "return {name: os.environ[name] for name in keep if name in os.environ}",
        "return dict(os.environ)",
        (f"{_HOSTILE}_t6_git_obeys_nobodys_own_settings_and_inherits_no_secrets",),
    ),
    Guard(
        "T10: what is called like git's own is not committed",
        "bot/workspace/capture.py",
        'return text in {".git", "git~1"}',
        'return text == ".git"',
        (f"{_CAPTURE}_no_name_some_system_takes_for_gits_own_is_committed",),
    ),
    Guard(
        "T10: a repository in the worktree is left out",
        "bot/workspace/capture.py",
        "and any(is_git_name(name) for name, _ in found):",
        "and False:",
        (f"{_CAPTURE}_a_repository_in_the_worktree_is_left_out_and_told",),
    ),
    Guard(
        "T11: what an agent's git does stays in its own folder",
        "bot/workspace/shadow_git_dir.py",
        'pointer, text = paths.folder / ".git", f"gitdir: {paths.shadow}\\n"',
        'pointer, text = paths.folder / ".git", f"gitdir: {paths.admin}\\n"',
        ("tests/workspace/test_ensure.py::test_nothing_the_agents_git_does_reaches_the_mirror",),
    ),
    Guard(
        "T14: a worktree that is a link is not read",
        "bot/workspace/capture.py",
        "_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW |",
        "_FOLDER = os.O_RDONLY | os.O_DIRECTORY |",
        (f"{_CAPTURE}_t14_a_worktree_that_is_a_link_is_not_read",),
    ),
    Guard(
        "T14: a link in place of a file is not followed",
        "bot/workspace/capture.py",
        "_FILE = os.O_RDONLY | os.O_NOFOLLOW |",
        "_FILE = os.O_RDONLY |",
        (f"{_CAPTURE}_t14_what_is_no_file_is_refused_at_once",),
    ),
    Guard(
        "T14: a pipe in place of a file keeps nobody waiting",
        "bot/workspace/capture.py",
        "os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC",
        "os.O_NOFOLLOW | os.O_CLOEXEC",
        (f"{_CAPTURE}_t14_what_is_no_file_is_refused_at_once",),
    ),
    Guard(
        "T14: what is no file is not read as one",
        "bot/workspace/capture.py",
        "if not stat.S_ISREG(status.st_mode):",
        "if False:",
        (f"{_CAPTURE}_t14_what_is_no_file_is_refused_at_once",),
    ),
    Guard(
        "T14: a folder that was swapped is not read",
        "bot/workspace/capture.py",
        "if (status.st_dev, status.st_ino) != folder.identity:",
        "if False:",
        (f"{_CAPTURE}_t14_a_folder_that_is_swapped_for_another_while_it_is_read_is_not_read",),
    ),
    Guard(
        "T16: so many new files are read and no more",
        "bot/workspace/capture.py",
        "if self.new_files > self.limits.max_new_files:",
        "if False:",
        (f"{_TOO_MUCH}_what_is_too_much_is_an_objection_that_nobody_can_approve",),
    ),
    Guard(
        "T16: new folders count as new files do",
        "bot/workspace/capture.py",
        "        if not ignored and path not in self.tracked_folders:\n            self._count_new(path)\n",
        "",
        (f"{_TOO_MUCH}_what_is_too_much_is_an_objection_that_nobody_can_approve",),
    ),
    Guard(
        "T16: so much of a worktree is looked at and no more",
        "bot/workspace/capture.py",
        "if len(found) > most:",
        "if False:",
        (f"{_TOO_MUCH}_ignored_files_are_counted_as_well",),
    ),
    Guard(
        "T16: ignore rules of all files together have a limit",
        "bot/workspace/capture.py",
        "self.rules += len(rules.rules)",
        "pass",
        (f"{_TOO_MUCH}_what_is_too_much_is_an_objection_that_nobody_can_approve",),
    ),
    Guard(
        "T16: a line of ignore rules has a limit",
        "bot/git/gitignore.py",
        "if any(len(line) > MAX_LINE_BYTES for line in lines):",
        "if False:",
        ("tests/git/test_gitignore.py::test_rules_over_the_limits_are_refused",),
    ),
    Guard(
        "T12: ignore rules that are too many are not taken for none",
        "bot/workspace/capture.py",
        "if exc.errno == errno.EFBIG:",
        "if False:",
        (f"{_TOO_MUCH}_what_is_too_much_is_an_objection_that_nobody_can_approve",),
    ),
    Guard(
        "T16: a cancelled call ends its child",
        "bot/git/in_thread.py",
        "        call.cancel()\n",
        "",
        (f"{_CHILD}_a_cancelled_call_ends_its_child_at_once",),
    ),
    Guard(
        "T16: a cancelled call starts no further child",
        "bot/git/in_thread.py",
        "            if self.is_cancelled:\n                end()\n",
        "",
        (f"{_CHILD}_a_call_that_was_cancelled_starts_no_further_child",),
    ),
    Guard(
        "T16: git ends with the child that has started it",
        "bot/git/child_main.py",
        "    stay_in_process_group()\n",
        "",
        (f"{_CHILD}_git_commands_of_a_child_end_with_it",),
    ),
    Guard(
        "T16: a child ends with its parent",
        "bot/git/child_main.py",
        "die_with_parent(int(parent))",
        "pass",
        (f"{_CHILD}_a_child_ends_with_its_parent",),
    ),
    Guard(
        "T16: a child has so much processor time",
        "bot/git/child_main.py",
        "resource.setrlimit(resource.RLIMIT_CPU,",
        "tuple(",
        (f"{_CHILD}_what_a_child_does_not_survive_is_told_in_plain_words",),
    ),
    Guard(
        "T16: a child has so much memory",
        "bot/git/child_main.py",
        "_MEMORY_BYTES = 3_000_000_000",
        "_MEMORY_BYTES = 300_000_000_000",
        (f"{_CHILD}_what_a_child_does_not_survive_is_told_in_plain_words",),
    ),
    Guard(
        "T6: a child has none of the daemon's variables",
        "bot/git/in_child.py",
        "{**inherited_environment(),",
        "{**os.environ,",
        (f"{_CHILD}_records_go_in_and_come_out_whatever_bytes_a_name_has",),
    ),
    Guard(
        "T16: work that is too much for a commit is set aside",
        "bot/workspace/salvage.py",
        "return str(worktree.set_aside(folder))",
        "return ''",
        (f"{_TOO_MUCH}_work_that_is_too_much_for_a_commit_is_set_aside_as_it_is",),
    ),
    Guard(
        "T7: what is set aside has no copied files",
        "bot/workspace/worktree.py",
        'for name in (".git", *self.setup_record.copied):',
        'for name in (".git",):',
        (f"{_TOO_MUCH}_work_that_is_too_much_for_a_commit_is_set_aside_as_it_is",),
    ),
    Guard(
        "T16: nobody waits for the trash",
        "bot/system/trash.py",
        "if time.monotonic() > self.until:",
        "if False:",
        (f"{_TOO_MUCH}_trash_is_deleted_a_little_at_a_time",),
    ),
    Guard(
        "T7: a backup has no copied files",
        "bot/maintenance/backup.py",
        "if _join(folder_path.path, name) not in withheld)",
        ")",
        ("tests/deploy/test_backup.py::test_the_operators_copied_files_are_left_out",),
    ),
    Guard(
        "T16: a backup has no file that no commit may hold",
        "bot/maintenance/backup.py",
        "and status.st_size > MAX_FILE_BYTES:",
        "and False:",
        ("tests/deploy/test_backup.py::test_a_file_that_no_commit_may_hold_is_left_out",),
    ),
    Guard(
        "T14: a file without an end is left out unread",
        "bot/workspace/capture.py",
        "if status.st_size > min(self.limits.max_file_bytes, self.limits.max_new_bytes - self.new_bytes):",
        "if False:",
        (f"{_CAPTURE}_a_file_of_a_terabyte_is_left_out_unread",),
    ),
    Guard(
        "T14: nothing is deleted behind a link",
        "bot/system/trash.py",
        "if not item.is_dir(follow_symlinks=False):",
        "if not item.is_dir():",
        ("tests/workspace/test_remove.py::test_what_is_deleted_may_be_deep_closed_and_full_of_links",),
    ),
    Guard(
        "T14: by hand, no link crosses over",
        "bot/agents/claude/session_export.py",
        "_READ = os.O_RDONLY | os.O_NOFOLLOW |",
        "_READ = os.O_RDONLY |",
        _TRAPS,
    ),
    Guard(
        "T14: by hand, no folder is a link",
        "bot/agents/claude/session_export.py",
        "_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW",
        "_FOLDER = os.O_RDONLY | os.O_DIRECTORY",
        _TRAPS,
    ),
    Guard(
        "T14: by hand, nothing with a second name crosses over",
        "bot/agents/claude/session_export.py",
        " and status.st_nlink == 1",
        "",
        _TRAPS,
    ),
    Guard(
        "T14: by hand, nothing is written through a link",
        "bot/agents/claude/session_export.py",
        "            os.unlink(name, dir_fd=inner)\n        with open(os.open(name, _CREATE,",
        "            os.stat(name, dir_fd=inner)\n        with open(os.open(name, os.O_WRONLY | os.O_CREAT,",
        (f"{_PEOPLE}_t14_on_the_way_back_too_only_a_plain_file_crosses_and_nothing_is_written_through_a_link",),
    ),
)

GIVEN = (
    Guard(
        "T14: what belongs to others is not given to an agent",
        "bot/sandbox/ownership.py",
        "    if status.st_uid == uid or status.st_dev != device or not is_only_name:",
        "    if status.st_uid == uid or status.st_dev != device:",
        ("tests/sandbox/test_interface.py::test_t14_folders_are_given_away_and_nothing_behind_a_link",),
        as_root=True,
    ),
    Guard(
        "T14: a folder is walked by what is open, and no link is followed on the way",
        "bot/system/tree_walk.py",
        "_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC",
        "_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC",
        (f"{_WALK}_t14_a_folder_that_becomes_a_link_is_not_entered",),
    ),
    Guard(
        "T14: a walk goes up only to the folder it came from",
        "bot/system/tree_walk.py",
        "                if _identity(opened) != levels[-1].identity:",
        "                if not opened:",
        (f"{_WALK}_t14_a_folder_that_is_moved_outside_meanwhile_ends_the_walk",),
    ),
)

TAKEN = (
    Guard(
        "T10: no sandbox writes the git directory of people",
        "bot/sandbox/bubblewrap.py",
        'return folders.git or Path(shutil.copytree(folders.mounts.shadow, here / "git", symlinks=True))',
        "return folders.git or folders.mounts.shadow",
        (f"{_BY_HAND}_nothing_that_a_sandbox_left_in_git_runs_for_a_person[server]",),
    ),
    Guard(
        "T10: the program of an agent obeys no git of its commands",
        "bot/sandbox/mount_plan.py",
        'yield ("write", str(inside.mounts.agent_git), AGENT_GIT)',
        'yield ("write", str(inside.git), AGENT_GIT)',
        ("tests/sandbox/test_interface.py::test_t11_a_sandbox_may_write_its_worktree_a_git_of_its_own_and_its_home",),
    ),
    Guard(
        "T10: a person's git does not look into submodules",
        "bot/workspace/shadow_git_dir.py",
        "            _skip_submodules(fresh)\n",
        "",
        (f"{_BY_HAND}_a_repository_in_the_place_of_a_submodule_runs_nothing",),
    ),
    Guard(
        "T10: repositories of an agent are set aside when a person takes the worktree",
        "bot/workspace/workspaces.py",
        "            set_nested_git_aside(worktree.paths.folder, self._paths.aside)",
        "            pass",
        (f"{_BY_HAND}_a_repository_inside_runs_nothing_once_the_worktree_is_taken_over",),
    ),
    Guard(
        "T10: a git directory that agents of an earlier version wrote is not kept",
        "bot/workspace/remove.py",
        "not in live or _is_of_agents(path, found)]",
        "not in live]",
        (
            "tests/workspace/test_remove.py::test_a_sweep_clears_git_directories_that_agents_of_an_earlier_version_wrote",
        ),
    ),
)

GUARDS = (*READ, *GIVEN, *TAKEN)
