"""Guards of retention: files that clean-up and making room never touch."""

from tests.mutants.guards.guard import Guard

_OFFSITE = "tests/workspace/test_salvage_remote.py::test"
_PARKING = "tests/workspace/test_evict.py::test"
_HOUSE = "tests/maintenance/test_sweep.py::test"
_REMOVAL = "tests/workspace/test_remove.py::test"
_ROOM = (f"{_HOUSE}_disk_space_is_freed_only_from_idle_runs_that_wait_for_no_person",)
_CLAIMED = (f"{_HOUSE}_without_the_lease_no_salvage_is_written_to_the_repository",)
_CLAIM_LOST = (f"{_HOUSE}_a_lease_lost_during_the_sync_prevents_the_write",)
_MONTH = (f"{_HOUSE}_salvaged_work_is_removed_after_a_month_locally_and_at_the_remote",)
_LOST = (f"{_HOUSE}_unknown_workspaces_are_kept_until_the_trackers_were_read",)

_BACKUP = "tests/deploy/test_backup.py::test"

GUARDS = (
    Guard(
        "T8: a backup gives no program the rights of its owner",
        "bot/maintenance/backup.py",
        "_PERMISSIONS = 0o777",
        "_PERMISSIONS = 0o7777",
        (f"{_BACKUP}_t8_hostile_names_links_and_modes_are_restored_without_effect",),
    ),
    Guard(
        "Clean-up: what Treehand did not create stays in aside",
        "bot/maintenance/sweep.py",
        "if AGENT_WORK.fullmatch(folder.name) and ",
        "if ",
        (f"{_HOUSE}_work_that_no_commit_can_hold_is_removed_after_a_month_and_other_folders_stay",),
    ),
    Guard(
        "T8: a backup enters no folder but the one that was listed",
        "bot/maintenance/backup.py",
        "if (status.st_dev, status.st_ino) != folder_path.identity:",
        "if folder_path is None:",
        (f"{_BACKUP}_a_folder_replaced_by_a_link_is_not_entered",),
    ),
    Guard(
        "T8: a backup follows no link",
        "bot/maintenance/backup.py",
        "status = os.stat(name, dir_fd=folder, follow_symlinks=False)",
        "status = os.stat(name, dir_fd=folder)",
        (f"{_BACKUP}_links_in_a_worktree_are_not_followed",),
    ),
    Guard(
        "Keeping: a backup is another daemon's, not ours twice",
        "bot/maintenance/backup.py",
        '"cells", "daemon.id", "demo"',
        '"cells", "demo"',
        (f"{_BACKUP}_files_that_can_be_made_again_or_belong_to_this_machine_are_left_out",),
    ),
    Guard(
        "Keeping: a backup has what points before what is pointed to",
        "bot/maintenance/backup.py",
        "key=_OBJECTS.__ne__",
        "key=_OBJECTS.__eq__",
        (f"{_BACKUP}_git_refs_are_read_before_git_objects",),
    ),
    Guard(
        "Keeping: salvaged work is judged before it is shared",
        "bot/workspace/salvage_store.py",
        "if objections := self._objections_to(ref, _SECONDS):",
        "if objections := ():",
        (f"{_OFFSITE}_salvage_that_the_publish_guard_blocks_stays_on_this_machine",),
    ),
    Guard(
        "Keeping: other work at the remote is not overwritten",
        "bot/workspace/salvage_remote.py",
        'f"--force-with-lease={ref}:{old}"',
        '"--force"',
        (f"{_OFFSITE}_salvage_gets_the_next_number_if_the_name_is_taken_at_the_remote",),
    ),
    Guard(
        "Keeping: what is asked for in this moment is not let go",
        "bot/workspace/salvage_remote.py",
        "companion_ref(one.ref, SALVAGE_DATES): noted,",
        "",
        (f"{_OFFSITE}_salvage_that_is_being_restored_is_not_deleted",),
    ),
    Guard(
        "Keeping: salvaged work is kept for its time",
        "bot/domain/salvage.py",
        "return 0.0 < self.at < now - RETENTION_SECONDS",
        "return 0.0 < self.at < now",
        (f"{_OFFSITE}_the_retention_of_salvage_starts_once",),
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
        "if not has_runs and await self._leases.acquire(project, quiet=True) is LeaseState.REACQUIRED:",
        "if False:",
        ("tests/stories/test_leases.py::test_one_daemon_maintains_the_workspaces_even_without_runs",),
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
        (f"{_PARKING}_a_recently_used_worktree_is_left_alone",),
    ),
    Guard(
        "Keeping: what is not committed is on a ref before its worktree goes",
        "bot/workspace/evict.py",
        "    commit = commit_uncommitted(worktree, tip)\n",
        '    commit = ""\n',
        (f"{_PARKING}_an_evicted_worktree_is_restored_unchanged",),
    ),
    Guard(
        "Keeping: a merge that waits for its conflicts is not parked",
        "bot/workspace/evict.py",
        " or worktree.read_pending(tip):",
        ":",
        (f"{_PARKING}_a_worktree_with_an_unresolved_merge_is_not_evicted",),
    ),
    Guard(
        "Keeping: links among the shadows are nobody's",
        "bot/workspace/remove.py",
        "if not item.is_symlink()]",
        "]",
        (f"{_REMOVAL}_list_removable_names_exactly_what_the_sweep_removes",),
    ),
    Guard(
        "Keeping: homes behind a link are left alone",
        "bot/maintenance/sweep.py",
        "if (homes / project).is_symlink() or not (homes / project).is_dir():",
        "if not (homes / project).is_dir():",
        (f"{_HOUSE}_homes_behind_a_link_are_not_removed",),
    ),
    Guard(
        "Keeping: upkeep keeps what an agent's git refers to",
        "bot/workspace/mirror.py",
        'until = "never" if borrowed else "60.days.ago"',
        'until = "60.days.ago"',
        (f"{_REMOVAL}_packing_keeps_objects_that_an_agents_git_still_refers_to",),
    ),
)
