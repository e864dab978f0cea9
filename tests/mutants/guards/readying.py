"""What makes a worktree ready: whom it reaches, what it leaves, and what is never an agent's work."""

from tests.mutants.guards.guard import Guard

_READY = "tests/readiness/test_ready.py::test"
_POOL = "tests/readiness/test_pool.py::test"
_COPYING = "tests/readiness/test_copying.py::test"
_PROVISION = "bot/workspace/provision.py"

GUARDS = (
    Guard(
        "Pool: what was made ahead is not made again",
        "bot/workspace/worktree.py",
        "self.provide(replace(self.provision, is_half=False, is_ahead=True))",
        "pass",
        (f"{_POOL}_a_taken_one_is_byte_for_byte_like_a_fresh_one_in_its_place",),
    ),
    Guard(
        "Pool: one at another commit is taken by nobody",
        "bot/workspace/pool.py",
        "if one.commit == commit and self._is_sound(one)",
        "if self._is_sound(one)",
        (f"{_POOL}_one_at_an_older_base_is_taken_by_nobody",),
    ),
    Guard(
        "Pool: what it holds after the base has moved is the commit's tree",
        "bot/workspace/refreshing.py",
        "if look.tree != tree_of(worktree, commit):",
        "if False:",
        (f"{_POOL}_in_doubt_another_is_made",),
    ),
    Guard(
        "Pool: where more than files moved another is made",
        "bot/readiness/ready.py",
        "return provision.stamp == wanted and",
        "return True or",
        (f"{_POOL}_where_more_than_files_moved_another_is_made[a lock]",),
    ),
    Guard(
        "Pool: a setup that reads what is not known is not followed",
        "bot/readiness/ready.py",
        "all(step.locks for step in recipe.steps)",
        "True",
        (f"{_POOL}_where_setup_looks_at_nothing_that_is_known_another_is_made",),
    ),
    Guard(
        "Pool: a setup of a run goes first",
        "bot/readiness/precedence.py",
        "if self._ahead and not is_ahead:",
        "if False:",
        (f"{_POOL}_it_gives_way_to_the_setup_of_a_run",),
    ),
    Guard(
        "Pool: what is done in its git is lost on nobody",
        "bot/workspace/pool.py",
        "is_plain = is_as_built(self.places.of(branch), self._begun[branch])",
        "is_plain = True",
        (f"{_POOL}_what_commits_in_its_git_is_not_made_ahead",),
    ),
    Guard(
        "Pool: the operator's file goes over what setup made",
        "bot/readiness/ready.py",
        "over=provision.is_ahead",
        "over=False",
        (f"{_POOL}_a_file_that_setup_made_gives_way_to_the_operators",),
    ),
    Guard(
        "Pool: ports are free when they are the taker's",
        "bot/readiness/ready.py",
        "anew=provision.is_ahead",
        "anew=False",
        (f"{_POOL}_a_port_that_somebody_took_meanwhile_is_not_the_takers",),
    ),
    Guard(
        "Pool: a run's worktree is not swept with the pool's",
        "bot/workspace/pool.py",
        "is_ours = name not in self._taken()",
        "is_ours = True",
        (f"{_POOL}_one_that_was_taken_stays_its_takers_though_the_pool_still_knew_its_name",),
    ),
    Guard(
        "Pool: none without room to spare",
        "bot/pools.py",
        "and self.disk.has_spare()",
        "",
        (f"{_POOL}_without_room_to_spare_none_is_made_and_for_room_they_go",),
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
        "await end_family(command.marker.__eq__, grace=grace)",
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
