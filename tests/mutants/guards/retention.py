"""Guards of retention: files that clean-up and making room never touch."""

from tests.mutants.guards.guard import Guard

_OFFSITE = "tests/workspace/test_salvage_remote.py::test"
_PARKING = "tests/workspace/test_evict.py::test"
_HOUSE = "tests/maintenance/test_sweep.py::test"
_REMOVAL = "tests/workspace/test_remove.py::test"
_ROOM = (f"{_HOUSE}_room_is_made_where_nobody_works_and_nothing_waits_for_a_person",)
_CLAIMED = (f"{_HOUSE}_while_another_daemon_has_the_repository_nothing_is_written_there",)
_CLAIM_LOST = (f"{_HOUSE}_who_loses_the_repository_in_that_moment_writes_nothing_there",)
_MONTH = (f"{_HOUSE}_salvaged_work_goes_after_a_month_there_and_here",)
_LOST = (f"{_HOUSE}_what_nobody_remembers_waits_until_the_trackers_were_looked_at",)

_BACKUP = "tests/deploy/test_backup.py::test"

GUARDS = (
    Guard(
        "T8: a backup enters no folder but the one that was listed",
        "bot/maintenance/backup.py",
        "if (status.st_dev, status.st_ino) != folder_path.identity:",
        "if folder_path is None:",
        (f"{_BACKUP}_a_folder_that_is_another_one_meanwhile_is_not_entered",),
    ),
    Guard(
        "T8: a backup follows no link",
        "bot/maintenance/backup.py",
        "status = os.stat(name, dir_fd=folder, follow_symlinks=False)",
        "status = os.stat(name, dir_fd=folder)",
        (f"{_BACKUP}_no_link_in_a_worktree_is_followed",),
    ),
    Guard(
        "Keeping: a backup is another daemon's, not ours twice",
        "bot/maintenance/backup.py",
        '"cells", "daemon.id", "demo"',
        '"cells", "demo"',
        (f"{_BACKUP}_what_can_be_made_again_or_is_of_this_place_alone_is_left_out",),
    ),
    Guard(
        "Keeping: a backup has what points before what is pointed to",
        "bot/maintenance/backup.py",
        "key=_OBJECTS.__ne__",
        "key=_OBJECTS.__eq__",
        (f"{_BACKUP}_what_git_points_to_is_read_after_what_points_there",),
    ),
    Guard(
        "Keeping: salvaged work is judged before it is shared",
        "bot/workspace/salvage_store.py",
        "if objections := self._objections_to(ref, _SECONDS):",
        "if objections := ():",
        (f"{_OFFSITE}_what_the_guard_objects_to_stays_on_this_machine",),
    ),
    Guard(
        "Keeping: other work at the remote is not overwritten",
        "bot/workspace/salvage_remote.py",
        'f"--force-with-lease={ref}:{old}"',
        '"--force"',
        (f"{_OFFSITE}_other_work_under_that_name_stays_and_ours_gets_the_next",),
    ),
    Guard(
        "Keeping: what is asked for in this moment is not let go",
        "bot/workspace/salvage_remote.py",
        "companion_ref(one.ref, SALVAGE_DATES): noted,",
        "",
        (f"{_OFFSITE}_what_is_asked_for_in_this_moment_is_not_let_go",),
    ),
    Guard(
        "Keeping: salvaged work is kept for its time",
        "bot/domain/salvage.py",
        "return 0.0 < self.at < now - KEPT_SECONDS",
        "return 0.0 < self.at < now",
        (f"{_OFFSITE}_its_time_begins_when_it_is_first_seen_and_does_not_begin_again",),
    ),
    Guard(
        "Keeping: it goes there before it goes here",
        "bot/maintenance/sync_salvage.py",
        "if one.shared and not remote:",
        "if False:",
        _MONTH,
    ),
    Guard(
        "Keeping: nothing is shared while another daemon has the repository",
        "bot/maintenance/sync_salvage.py",
        "if due and remote and not await may_write(project):",
        "if False:",
        _CLAIMED,
    ),
    Guard(
        "Keeping: nothing is shared once the claim is lost",
        "bot/maintenance/sync_salvage.py",
        "    if project.lease:\n        project.lease.check()\n    try:",
        "    try:",
        _CLAIM_LOST,
    ),
    Guard(
        "Keeping: salvage is tended where no run needs the claim",
        "bot/engine/loop.py",
        "if not has_runs and await self._leases.acquire(project) is LeaseState.REACQUIRED:",
        "if False:",
        ("tests/stories/test_leases.py::test_one_daemon_maintains_the_workspaces_also_without_runs",),
    ),
    Guard(
        "Keeping: of what nobody remembers nothing goes before the trackers were looked at",
        "bot/maintenance/sweep.py",
        "only = None if is_known else index.over(project.name)",
        "only = None",
        _LOST,
    ),
    Guard(
        "Keeping: what a person has taken is left alone",
        "bot/maintenance/sweep.py",
        " and now.wait_reason is not WaitReason.TAKEN_OVER",
        "",
        _ROOM,
    ),
    Guard(
        "Keeping: what waits for a person's word is not parked",
        "bot/maintenance/sweep.py",
        "may_go = run.wait_reason is not WaitReason.BLOCKED",
        "may_go = True",
        _ROOM,
    ),
    Guard(
        "Keeping: where somebody works no room is made",
        "bot/maintenance/sweep.py",
        " and now.phase is not Phase.WORKING",
        "",
        _ROOM,
    ),
    Guard(
        "Keeping: what was touched a moment ago is left alone",
        "bot/workspace/workspaces.py",
        "return touched is None or",
        "return True or",
        (f"{_PARKING}_what_was_touched_a_moment_ago_is_left_alone",),
    ),
    Guard(
        "Keeping: what is not committed is on a ref before its worktree goes",
        "bot/workspace/evict.py",
        "    commit = commit_uncommitted(worktree, tip)\n",
        '    commit = ""\n',
        (f"{_PARKING}_an_evicted_worktree_comes_back_as_it_was",),
    ),
    Guard(
        "Keeping: a merge that waits for its conflicts is not parked",
        "bot/workspace/evict.py",
        " or worktree.read_pending(tip):",
        ":",
        (f"{_PARKING}_a_merge_that_waits_for_its_conflicts_is_not_evicted",),
    ),
    Guard(
        "Keeping: links among the shadows are nobody's",
        "bot/workspace/remove.py",
        "if not item.is_symlink()]",
        "]",
        (f"{_REMOVAL}_what_a_sweep_says_beforehand_is_what_it_does",),
    ),
    Guard(
        "Keeping: homes behind a link are left alone",
        "bot/maintenance/sweep.py",
        "if (homes / project).is_symlink() or not (homes / project).is_dir():",
        "if not (homes / project).is_dir():",
        (f"{_HOUSE}_homes_behind_a_link_are_left_alone",),
    ),
    Guard(
        "Keeping: upkeep keeps what an agent's git refers to",
        "bot/workspace/mirror.py",
        'until = "never" if borrowed else "60.days.ago"',
        'until = "60.days.ago"',
        (f"{_REMOVAL}_upkeep_keeps_what_an_agents_git_still_refers_to",),
    ),
)
