"""Guards against writing twice or undoing by accident (F1, F3, F4, F11, F15, F17-F19)."""

from tests.mutants.guards.guard import Guard

_TALK = "tests/services/github/test_comments.py::test"
_PULLS = "tests/services/github/test_pull_requests.py::test"
_OUTBOX = "bot/services/http/comment_outbox.py"
_PUSH = "bot/workspace/push.py"
_MIRROR = "bot/workspace/mirror.py"
_PEOPLE = "tests/workspace/test_people.py::test_f15_every_commit_is_published_for_any_action_of_people_at_any_moment"
_LEFT = "tests/workspace/test_leftovers.py::test_f11"
_MENDED = "tests/workspace/test_mirror_repair.py::test_f19"
_REPLAYED = ("tests/workspace/test_deterministic.py::test_the_same_work_elsewhere_gives_the_same_commit_and_merge",)
_NOT_KNOWN = (f"{_TALK}_a_comment_that_may_still_appear_is_not_posted_again_yet",)

GUARDS = (
    Guard(
        "F4: what may have been said has time to show before it is said again",
        _OUTBOX,
        "if found is None and 0 <= self._clock() - sent.tried_at < _SECONDS_TO_APPEAR:",
        "if False:",
        _NOT_KNOWN,
    ),
    Guard(
        "F4: that time counts from the last try",
        _OUTBOX,
        "tried_at=self._clock())",
        "tried_at=0.0)",
        _NOT_KNOWN,
    ),
    Guard(
        "F3: what may have been said is looked for by its marker",
        _OUTBOX,
        "found = self.adopt(sent, await self.find(sent, fresh=True))",
        "found = None",
        (f"{_TALK}_a_comment_whose_response_was_lost_is_not_posted_again",),
    ),
    Guard(
        "F1: what is about to be said is saved first",
        _OUTBOX,
        "        self._store.keep_own_comment(intent)\n        try:",
        "        try:",
        _NOT_KNOWN,
    ),
    Guard(
        "F18: what a lost memory said is found by its marker",
        _OUTBOX,
        "self.adopt(wanted, await self.find(wanted, fresh=False))",
        "self.adopt(wanted, [])",
        (f"{_TALK}_a_lost_cache_repeats_no_comment",),
    ),
    Guard(
        "F17: of what was said twice the oldest stays",
        _OUTBOX,
        "for copy in await self.find(comment, fresh=False) if own and own.id else ():",
        "for copy in ():",
        (f"{_TALK}_of_duplicate_comments_only_the_oldest_stays",),
    ),
    Guard(
        "F3: a pull request that is there is ours",
        "bot/services/github/pull_request_writer.py",
        'if "already exists" in reason:',
        "if False:",
        (f"{_PULLS}_a_draft_whose_response_was_lost_is_adopted",),
    ),
    Guard(
        "F1: a branch whose pull request is over gets no other",
        "bot/services/github/pull_request_writer.py",
        'is_ours(known) and not known["open"]:',
        "is_ours(known) and False:",
        (
            "tests/contracts/test_forges.py::test_a_branch_gets_one_pull_request_even_if_it_was_closed_since_the_last_poll",
        ),
    ),
    Guard(
        "F15: a branch that moved in this moment is not pushed over",
        _PUSH,
        'f"--force-with-lease={ref}:{remote_tip}", remote.url',
        '"--force", remote.url',
        (f"{_PEOPLE}[add-within the push]",),
    ),
    Guard(
        "F15: what the branch is expected to be is said with each push",
        _PUSH,
        "--force-with-lease={ref}:{remote_tip}",
        "--force-with-lease={ref}",
        (f"{_PEOPLE}[add-before the turn]",),
    ),
    Guard(
        "F15: what others pushed is taken in before a push",
        _PUSH,
        "if remote_tip and (not mirror.is_ancestor(remote_tip, ours) or is_rewritten(mirror, branch, known)):",
        "if False:",
        (f"{_PEOPLE}[add-while the agent works]",),
    ),
    Guard(
        "F15: work that is not committed is no reason to undo what others pushed",
        "bot/workspace/branch.py",
        "    if has_uncommitted(worktree, ours):\n        return {}\n",
        "",
        ("tests/workspace/test_ensure.py::test_commits_of_people_wait_while_the_worktree_has_uncommitted_work",),
    ),
    Guard(
        "F1: a commit has the time of its turn, and not of its making",
        "bot/git/commit.py",
        "{int(at)} +0000",
        "{__import__('time').time_ns() % 10**9} +0000",
        _REPLAYED,
    ),
    Guard(
        "F1: a commit has one author, wherever it is made",
        "bot/domain/remote.py",
        'name: str = "Treehand"',
        'name: str = __import__("socket").gethostname()',
        _REPLAYED,
    ),
    Guard(
        "F11: what a dead process left is cleared at the start",
        _MIRROR,
        "if not self._ready:  # once per process",
        "if False:  # once per process",
        (f"{_LEFT}_stale_files_of_a_killed_process_are_removed",),
    ),
    Guard(
        "F11: and only then",
        _MIRROR,
        "if not self._ready:  # once per process",
        "if True:  # once per process",
        (f"{_LEFT}_stale_files_are_removed_only_once_per_process",),
    ),
    Guard(
        "F19: a mirror is looked at before it is used",
        _MIRROR,
        "damaged = self._is_our_object_damaged(suspicion) or is_damaged(self.path, thoroughly=suspicion is not None)",
        "damaged = False",
        (f"{_MENDED}_intact_objects_of_a_damaged_mirror_are_copied",),
    ),
    Guard(
        "F1: a branch whose base was not written any more gets it later",
        "bot/workspace/workspaces.py",
        "refs |= ensure_base(worktree, onto, refs)",
        "pass",
        ("tests/workspace/test_ensure.py::test_f1_a_branch_that_was_begun_without_its_base_gets_it_later",),
    ),
    Guard(
        "F19: a mirror whose making was interrupted stops no start",
        "bot/workspace/pool.py",
        "if not self.mirror.exists() or not self.mirror.is_intact():",
        "if not self.mirror.exists():",
        ("tests/setup/test_pool.py::test_f19_a_start_replaces_a_mirror_whose_making_was_interrupted",),
    ),
    Guard(
        "F10: a pool that cannot be cleared stops no start",
        "bot/maintenance/fill_pools.py",
        '        log.warning("pool clearing postponed',
        '        raise\n        log.warning("pool clearing postponed',
        ("tests/setup/test_pool.py::test_a_start_goes_on_if_the_pool_cannot_be_cleared_now",),
    ),
    Guard(
        "F10: a lock file that cannot be written is no bug",
        "bot/system/locks.py",
        "closed\n        except OSError as",
        "closed\n        except ZeroDivisionError as",
        ("tests/workspace/test_leftovers.py::test_f10_a_start_on_a_full_disk_says_what_to_do",),
    ),
    Guard(
        "F19: and again once git has stumbled over it",
        "bot/workspace/workspaces.py",
        "self._mirror.suspect_damage(problem)",
        "pass",
        (f"{_MENDED}_a_mirror_damaged_while_an_agent_works_ends_no_run[all_objects_are_gone]",),
    ),
    Guard(
        "F19: what is whole in a damaged mirror is brought over",
        _MIRROR,
        "recover(self.path)",
        "waiting(self.path).rename(self.path.with_name('gone'))",
        (f"{_MENDED}_intact_objects_of_a_damaged_mirror_are_copied",),
    ),
    Guard(
        "F19: trouble of the remote's is not the mirror's",
        "bot/workspace/mirror_repair.py",
        "    return False\n\n\ndef damaged_path",
        "    return thoroughly\n\n\ndef damaged_path",
        (f"{_MENDED}_a_damaged_remote_does_not_count_as_a_damaged_mirror",),
    ),
    Guard(
        "F5: what an earlier life read counts against the points of this minute",
        "bot/services/github/rate_limits.py",
        "self._spent = deque(self._spent_before_start(clock()))",
        "self._spent = deque()",
        ("tests/services/github/test_rate_limits.py::test_at_most_900_points_are_used_in_a_minute_despite_restarts",),
    ),
    Guard(
        "F2: what was restored is not restored again",
        _PUSH,
        'not in {"", commit}:',
        'not in {""}:',
        ("tests/program/test_github.py::test_salvaged_work_is_listed_and_restored_from_the_repository_once",),
    ),
    Guard(
        "F19: what went with the mirror is made again",
        _PUSH,
        'raise NeedsTurn(f"The mirror was lost',
        'raise NeedsHuman(f"The mirror was lost',
        ("tests/workspace/test_push.py::test_a_commit_lost_with_the_mirror_needs_another_turn",),
    ),
)
