"""What makes a worktree ready: whom it reaches, what it leaves, and what is never an agent's work."""

from tests.mutants.guards.guard import Guard

_READY = "tests/readiness/test_ready.py::test"
_COPYING = "tests/readiness/test_copying.py::test"
_PROVISION = "bot/workspace/provision.py"

GUARDS = (
    Guard(
        "T12: no link in what an agent left to be seen is followed",
        "bot/workspace/evidence.py",
        "os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC",
        "os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC",
        ("tests/workspace/test_evidence.py::test_nor_one_that_stands_in_for_the_folder",),
    ),
    Guard(
        "T12: so much of what is to be seen is kept and no more",
        "bot/exhibits.py",
        "elif room < 0:",
        "elif False:",
        ("tests/workspace/test_turns.py::test_no_run_fills_the_disk_with_it",),
    ),
    Guard(
        "T7: a secret in what is to be seen is left out",
        "bot/exhibits.py",
        "elif names := self.secrets.find_in(content):",
        "elif names := ():",
        ("tests/program/test_evidence.py::test_it_is_kept_and_named_and_in_no_commit",),
    ),
    Guard(
        "T12: what is to be seen is only opened as it is listed",
        "bot/store/evidence.py",
        'quote(piece.name, safe="")',
        "piece.name",
        ("tests/store/test_evidence.py::test_the_newest_of_each_name_is_there_in_order",),
    ),
    Guard(
        "T8: servers are found on loopback alone",
        "bot/sandbox/porch.py",
        '_LOOPBACK = "127.0.0.1"',
        '_LOOPBACK = "0.0.0.0"',
        ("tests/sandbox/test_porch.py::test_nobody_comes_in_from_another_machine",),
    ),
    Guard(
        "T12: what a server writes is no work of an agent's",
        "bot/viewing.py",
        "if self.run.phase is Phase.REVIEW:",
        "if False:",
        ("tests/program/test_showing.py::test_what_it_writes_is_not_the_agents_work",),
    ),
    Guard(
        "T16: a server ends with its run",
        "bot/readiness/showing.py",
        "while not is_over():",
        "while True:",
        ("tests/readiness/test_showing.py::test_it_is_ended_when_what_it_shows_is_over",),
    ),
    Guard(
        "T16: what removes a worktree ends the servers in it",
        "bot/readiness/ready.py",
        "await end_family(marker_for(self._means.house, branch).__eq__)",
        "pass",
        ("tests/readiness/test_showing.py::test_teardown_ends_it_first",),
    ),
    Guard(
        "T8: hosts that only an agent's change wants are not offered to be allowed",
        "bot/readiness/obstacles.py",
        "    if attempt.is_base:\n        hosts",
        "    if True:\n        hosts",
        ("tests/readiness/test_hosts.py::test_what_an_agent_made_setup_want_is_named_and_not_offered_to_be_allowed",),
    ),
    Guard(
        "T8: setup reaches the hosts of setup, and those alone",
        "bot/sandbox/bubblewrap.py",
        'Passport("", self._rules.setup_hosts)',
        'Passport("", self._rules.hosts)',
        (f"{_READY}_the_hosts_of_setup_are_reached_and_those_of_agents_are_not",),
    ),
    Guard(
        "T20: downloads are shared only by what is merged",
        "bot/readiness/ready.py",
        "is_base = before.is_clean and job.workspace.head == job.workspace.base",
        "is_base = True",
        (f"{_READY}_downloads_are_shared_by_what_is_merged_and_never_by_what_an_agent_has_changed",),
    ),
    Guard(
        "T20: agents only read what was downloaded",
        "bot/sandbox/plan.py",
        '("read", str(inside.cache), str(inside.cache))',
        '("write", str(inside.cache), str(inside.cache))',
        ("tests/sandbox/test_cells.py::test_t20_a_cell_only_reads_what_was_downloaded_for_it",),
    ),
    Guard(
        "T16: what setup left running is ended",
        "bot/readiness/running.py",
        "await end_family(command.marker.__eq__, grace=0.0 if code is not None else 2.0)",
        "pass",
        (f"{_READY}_what_it_left_running_is_ended_however_it_detached[none]",),
    ),
    Guard(
        "T12: what setup leaves is no work of an agent's",
        _PROVISION,
        "if state_of(entries.get(path)) == left:",
        "if False:",
        (f"{_READY}_what_it_makes_and_git_does_not_ignore_is_no_work_of_the_agents",),
    ),
    Guard(
        "T12: what an agent left before setup ran again stays its work",
        _PROVISION,
        "if before.get(path, GONE) == state_of(committed.entries.get(path))",
        "if True",
        (f"{_READY}_what_an_agent_had_left_uncommitted_stays_its_work_when_setup_runs_again",),
    ),
    Guard(
        "T12: half a setup is no worktree",
        "bot/workspace/worktree.py",
        "return is_there and not self.provision.is_half",
        "return is_there",
        (f"{_READY}_one_that_died_with_us_half_way_is_made_anew",),
    ),
    Guard(
        "T7: files of the operator's are in no commit",
        _PROVISION,
        "if not self._is_copied(path, index)",
        "if True",
        (f"{_COPYING}_whatever_an_agent_does_a_copy_is_in_no_commit_and_what_it_did_is_said",),
    ),
    Guard(
        "T7: secrets in them are known",
        "bot/readiness/ready.py",
        "self._means.secrets.keep(called, value)",
        "pass",
        (f"{_COPYING}_a_copied_value_that_an_agent_writes_elsewhere_is_held_back",),
    ),
    Guard(
        "T7: they are known before anything else after a restart",
        "bot/preparing.py",
        "    readiness.learn()\n",
        "",
        ("tests/test_settings.py::test_what_must_never_leave_a_copied_file_is_known_from_the_start",),
    ),
    Guard(
        "T14: a copy goes through no link",
        "bot/workspace/within.py",
        "_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC",
        "_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC",
        (f"{_COPYING}_no_link_in_a_worktree_leads_a_copy_out_of_it",),
    ),
    Guard(
        "T14: a link of the operator's is not copied",
        "bot/readiness/copying.py",
        "if stat.S_ISLNK(status.st_mode):",
        "if False:",
        (f"{_COPYING}_what_cannot_be_copied_is_refused_by_name[link-is a link, and I follow none]",),
    ),
    Guard(
        "T7: what setup printed is redacted",
        "bot/readiness/ready.py",
        "output = self._means.secrets.redact(outcome.output)",
        "output = outcome.output",
        (f"{_READY}_the_operators_secrets_are_not_in_what_it_printed",),
    ),
)
