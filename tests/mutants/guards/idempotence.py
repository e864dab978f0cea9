"""Guards against writing twice or undoing by accident (F1, F3, F4, F11, F15, F17-F19)."""

from tests.mutants.guards.guard import Guard

_TALK = "tests/services/github/test_comments.py::test"
_PULLS = "tests/services/github/test_pull_requests.py::test"
_OUTBOX = "bot/services/http/comment_outbox.py"
_PUSH = "bot/workspace/push.py"
_MIRROR = "bot/workspace/mirror.py"
_PEOPLE = (
    "tests/workspace/test_people.py::test_f15_whatever_people_do_and_whenever_their_commits_and_ours_are_published"
)
_LEFT = "tests/workspace/test_leftovers.py::test_f11"
_MENDED = "tests/workspace/test_mirror_repair.py::test_f19"
_REPLAYED = (
    "tests/workspace/test_deterministic.py::test_replayed_in_another_place_it_is_the_same_commit_and_the_same_merge",
)
_NOT_KNOWN = (f"{_TALK}_what_does_not_show_yet_is_not_said_again_before_it_had_time_to",)

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
        "found = await self.adopt(sent, await self.find(sent, fresh=True))",
        "found = None",
        (f"{_TALK}_an_answer_that_was_lost_is_looked_for_and_not_said_again",),
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
        (f"{_TALK}_a_lost_cache_repeats_nothing",),
    ),
    Guard(
        "F17: of what was said twice the oldest stays",
        _OUTBOX,
        "for extra in found[1:]:",
        "for extra in []:",
        (f"{_TALK}_of_what_two_of_us_said_at_once_the_oldest_stays",),
    ),
    Guard(
        "F3: a pull request that is there is ours",
        "bot/services/github/pull_request_writer.py",
        'if "already exists" in reason:',
        "if False:",
        (f"{_PULLS}_a_draft_whose_answer_was_lost_is_adopted",),
    ),
    Guard(
        "F1: a branch whose pull request is over gets no other",
        "bot/services/github/pull_request_writer.py",
        'is_ours(known) and not known["open"]:',
        "is_ours(known) and False:",
        (
            "tests/contracts/test_forges.py::test_a_branch_gets_one_pull_request_also_when_that_was_ended_since_we_looked",
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
        "if remote_tip and not mirror.is_ancestor(remote_tip, ours):",
        "if False:",
        (f"{_PEOPLE}[add-while the agent works]",),
    ),
    Guard(
        "F15: work that is not committed is no reason to undo what others pushed",
        "bot/workspace/branch.py",
        "    if has_uncommitted(worktree, ours):\n        return {}\n",
        "",
        ("tests/workspace/test_ensure.py::test_commits_that_people_added_wait_while_work_lies_in_the_worktree",),
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
        "bot/git/commit.py",
        'AUTHOR_NAME = "Treehand"',
        'AUTHOR_NAME = __import__("socket").gethostname()',
        _REPLAYED,
    ),
    Guard(
        "F11: what a dead process left is cleared at the start",
        _MIRROR,
        "if not self._ready:  # once per process",
        "if False:  # once per process",
        (f"{_LEFT}_everything_a_dead_process_may_leave_is_out_of_the_way",),
    ),
    Guard(
        "F11: and only then",
        _MIRROR,
        "if not self._ready:  # once per process",
        "if True:  # once per process",
        (f"{_LEFT}_it_is_cleared_once_in_a_life_for_git_works_there_from_then_on",),
    ),
    Guard(
        "F19: a mirror is looked at before it is used",
        _MIRROR,
        "damaged = self._is_our_object_damaged(suspicion) or is_damaged(self.path, thoroughly=suspicion is not None)",
        "damaged = False",
        (f"{_MENDED}_what_is_whole_in_a_damaged_mirror_comes_over",),
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
        (f"{_MENDED}_what_is_whole_in_a_damaged_mirror_comes_over",),
    ),
    Guard(
        "F19: trouble of the remote's is not the mirror's",
        "bot/workspace/mirror_repair.py",
        "    return False\n\n\ndef damaged_path",
        "    return thoroughly\n\n\ndef damaged_path",
        (f"{_MENDED}_trouble_of_the_remotes_sets_no_mirror_aside",),
    ),
    Guard(
        "F5: what an earlier life read counts against the points of this minute",
        "bot/services/github/rate_limits.py",
        "self._spent = deque(self._spent_before_start(clock()))",
        "self._spent = deque()",
        (
            "tests/services/github/test_rate_limits.py::test_no_more_than_900_points_a_minute_however_often_it_is_restarted",
        ),
    ),
    Guard(
        "F2: what was restored is not restored again",
        _PUSH,
        'not in {"", commit}:',
        'not in {""}:',
        (
            "tests/program/test_github.py::test_salvaged_work_is_listed_and_brought_back_from_the_repository_and_only_once",
        ),
    ),
    Guard(
        "F19: what went with the mirror is made again",
        _PUSH,
        'raise NeedsTurn(f"The mirror was lost',
        'raise NeedsHuman(f"The mirror was lost',
        ("tests/workspace/test_push.py::test_a_commit_that_went_with_the_mirror_is_for_the_agent_to_make_again",),
    ),
)
