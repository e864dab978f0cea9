"""Guards of rewritten branches: what people removed stays removed, and the work of the turn is kept."""

from tests.mutants.guards.guard import Guard

_STORY = "tests/workspace/test_rewritten_branch.py::test"
_DROPPED = (f"{_STORY}_a_commit_dropped_during_a_turn_stays_dropped",)
_ASKED = (f"{_STORY}_work_that_does_not_fit_on_the_rewritten_branch_is_kept_and_asked_about",)
_ACCOUNT = "tests/services/github/test_pull_requests.py::test_commits_of_an_app_are_linked_to_its_account"

GUARDS = (
    Guard(
        "a dropped commit is not published by an ordinary push",
        "bot/workspace/push.py",
        "if remote_tip and (not mirror.is_ancestor(remote_tip, ours) or is_rewritten(mirror, branch, known)):",
        "if remote_tip and not mirror.is_ancestor(remote_tip, ours):",
        (f"{_STORY}_a_commit_dropped_between_capture_and_push_stays_dropped",),
    ),
    Guard(
        "a dropped commit is not merged back",
        "bot/workspace/merge.py",
        "if name == branch and is_rewritten(mirror, branch, refs):",
        "if False:",
        _DROPPED,
    ),
    Guard(
        "a person's own commit counts as published once it is taken over",
        "bot/workspace/branch.py",
        'made = {worktree.ref: theirs, f"{BASES}{branch}": base, f"{PUSHED}{branch}": theirs}',
        'made = {worktree.ref: theirs, f"{BASES}{branch}": base}',
        (f"{_STORY}_a_persons_own_commit_that_they_drop_during_a_turn_stays_dropped",),
    ),
    Guard(
        "a person's commit counts as published once it is merged",
        "bot/workspace/merge.py",
        'made[f"{PUSHED}{branch}"] = plan.theirs',
        "pass",
        (f"{_STORY}_a_commit_dropped_after_it_was_merged_in_stays_dropped",),
    ),
    Guard(
        "work that does not fit on a rewritten branch is kept",
        "bot/workspace/push.py",
        "kept = keep_commit(worktree.mirror, worktree.paths.salvage_prefix, result.pending.ours)",
        'kept = f"{worktree.paths.salvage_prefix}1"',
        _ASKED,
    ),
    Guard(
        "work that was made to fit has no removed commit as a parent",
        "bot/workspace/pending_merge.py",
        "return self.onto or (self.ours, self.theirs)",
        "return (self.ours, self.theirs)",
        (f"{_STORY}_after_a_reply_the_agent_makes_the_work_fit",),
    ),
    Guard(
        "salvaged work with a removed commit is not shared",
        "bot/workspace/salvage_store.py",
        "if contains_dropped(self._mirror, ref):",
        "if False:",
        (f"{_STORY}_salvaged_work_with_a_dropped_commit_is_not_shared",),
    ),
    Guard(
        "a branch that people deleted is not published again unasked",
        "bot/workspace/push.py",
        "if published and not remote_tip:",
        "if False:",
        (f"{_STORY}_a_branch_deleted_during_a_turn_is_published_again_only_after_a_reply",),
    ),
    Guard(
        "an answer names the commit that is published",
        "bot/workspace/workspaces.py",
        "            fit_rewritten(worktree, remote)\n",
        "            pass\n",
        (f"{_STORY}_a_change_is_named_by_the_commit_that_fits_on_the_rewritten_branch",),
    ),
    Guard(
        "commits of an App are linked to its account",
        "bot/services/github/forge.py",
        "return CommitAuthor(account.login,",
        'return CommitAuthor("Treehand",',
        (f"{_ACCOUNT}_and_not_to_the_number_of_the_app",),
    ),
)
