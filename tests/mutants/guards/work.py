"""What an agent leaves in its worktree, its home and its git, and what of it is run or read (T6, T10, T11, T14)."""

from tests.mutants.guards.guard import Guard

_CAPTURE = "tests/workspace/test_capture.py::test"
_HOSTILE = "tests/workspace/test_hostile.py::test"
_PEOPLE = "tests/escape/test_by_hand.py::test"
_TRAPS = (f"{_PEOPLE}_t14_what_is_no_plain_file_does_not_cross_over",)


READ = (
    Guard(
        "T10: the pointer to git is made ours again",
        "bot/workspace/shadow_git_dir.py",
        "if _reads(pointer, text):",
        "if os.path.lexists(pointer):",
        (f"{_HOSTILE}_nothing_an_agent_plants_is_ever_run",),
    ),
    Guard(
        "T10: a git directory is built anew, never repaired",
        "bot/workspace/shadow_git_dir.py",
        "    trash.throw(place.shadow)\n    new.rename(place.shadow)",
        "    if place.shadow.exists():\n        return\n    new.rename(place.shadow)",
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
        'pointer, text = place.folder / ".git", f"gitdir: {place.shadow}\\n"',
        'pointer, text = place.folder / ".git", f"gitdir: {place.admin}\\n"',
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
        "T14: a file without an end is left out unread",
        "bot/workspace/capture.py",
        "if status.st_size > min(self.reach.file, self.reach.everything - self.new_bytes):",
        "if False:",
        (f"{_CAPTURE}_a_file_of_a_terabyte_is_left_out_unread",),
    ),
    Guard(
        "T14: nothing is deleted behind a link",
        "bot/system/trash.py",
        "if not item.is_dir(follow_symlinks=False):",
        "if not item.is_dir():",
        ("tests/workspace/test_removal.py::test_what_is_deleted_may_be_deep_closed_and_full_of_links",),
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
        "            os.unlink(name, dir_fd=inner)\n        with open(os.open(name, _MAKE,",
        "            os.stat(name, dir_fd=inner)\n        with open(os.open(name, os.O_WRONLY | os.O_CREAT,",
        (f"{_PEOPLE}_t14_on_the_way_back_too_only_a_plain_file_crosses_and_nothing_is_written_through_a_link",),
    ),
)

GIVEN = (
    Guard(
        "T14: what belongs to others is not given to an agent",
        "bot/sandbox/ownership.py",
        "entry.stat(follow_symlinks=False)) for",
        "entry.stat()) for",
        ("tests/sandbox/test_cells.py::test_t14_folders_are_given_away_and_nothing_behind_a_link",),
        as_root=True,
    ),
)

GUARDS = (*READ, *GIVEN)
