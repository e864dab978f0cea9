"""Guards of what services refuse or change by themselves: labels, names, checks, pull requests (F1, F14, F15, F16)."""

from tests.mutants.guards.guard import Guard

_LINEAR = "tests/services/linear/test_project_issues.py::test"
_STORIES = "tests/stories/test_refused_shows.py::test"

_NAMES = "tests/services/github/test_issues.py::test"

_ENDS = "tests/stories/test_run_ends.py::test"

_CHECKS = "tests/services/github/test_pull_requests.py::test"

_LIMITS = "tests/services/linear/test_rate_limits.py::test"
_TABLE = "tests/refusals/test_github.py::test_each_answer_of_github_has_its_defined_outcome_and_no_double_effect"
_LINEAR_TABLE = "tests/refusals/test_linear.py::test_each_answer_of_linear_has_its_defined_outcome_and_no_double_effect"
_PUSHES = "tests/refusals/test_push.py::test_each_answer_to_a_push_has_its_defined_outcome"
_TALK = "tests/services/github/test_comments.py::test"

_POLLS = "tests/services/linear/test_request_cost.py::test"
_TURNS = "tests/workspace/test_turns.py::test"

_WORKTREES = "tests/workspace/test_ensure.py::test"
_NOBODY = "tests/cli/test_check.py::test_nobody_says_that_an_agent_is_at_work_where_no_daemon_runs"

GUARDS = (
    Guard(
        "F11: worktrees are made one after another",
        "bot/workspace/worktree.py",
        "        with self.mirror.adding_worktree:\n",
        "        if True:\n",
        (f"{_WORKTREES}_worktrees_are_made_one_after_another",),
    ),
    Guard(
        "F11: a command beside a worktree that is half made is tried again",
        "bot/workspace/mirror.py",
        "if attempt == _MAX_TRIES or not any(sign in exc.stderr for sign in _WORKTREE_BEING_MADE):",
        "if True:",
        (f"{_WORKTREES}_a_command_beside_a_worktree_that_is_half_made_is_tried_again",),
    ),
    Guard(
        "F9: a key that was refused to one run holds up nobody once the model has answered another",
        "bot/engine/schedule.py",
        "        and not has_answered_since(run, looked, outcomes)\n",
        "",
        ("tests/engine/test_schedule.py::test_nobody_waits_for_a_refused_run_once_the_model_has_answered_another",),
    ),
    Guard(
        "F20: a model that cannot be reached does not count against a run",
        "bot/engine/finish_turn.py",
        "(seen.slot.outage or seen.turn.is_model_unreachable)",
        "seen.slot.outage",
        ("tests/engine/test_decide.py::test_a_model_that_cannot_be_reached_does_not_count_against_the_run",),
    ),
    Guard(
        "F12: why names a daemon that is not there",
        "bot/cli/why.py",
        " and (suspended or not pid):",
        " and False:",
        (_NOBODY,),
    ),
    Guard(
        "F12: status says that nobody is at work without a daemon",
        "bot/status/snapshot.py",
        "        return NO_DAEMON\n",
        '        return ""\n',
        (_NOBODY,),
    ),
    Guard(
        "F16: an issue of a renamed team is found by our note, without the cache",
        "bot/services/linear/project_issues.py",
        "        return found or await self._find_by_note(key)\n",
        "        return found\n",
        (f"{_LINEAR}_a_run_keeps_its_issue_when_its_team_was_renamed_and_the_cache_is_lost",),
    ),
    Guard(
        "F16: another issue with the same number is not taken for it",
        "bot/services/linear/project_issues.py",
        'if found is None or not any(f\'"key":"{key}"\' in note for note in await self.attachments.read_notes(found)):',
        "if found is None:",
        (f"{_LINEAR}_an_issue_with_the_same_number_is_not_taken_for_one_of_a_renamed_team",),
    ),
    Guard(
        "F7: a change of what was seen is seen",
        "bot/services/linear/seen_changes.py",
        '    return {**later, "or": [{"id": {"nin": sorted(seen)}}, *changed]}\n',
        '    return {**later, "id": {"nin": sorted(seen)}}\n',
        (f"{_POLLS}_after_a_change_the_next_polls_are_as_small_as_idle_ones",),
    ),
    Guard(
        "F15: a base branch that was renamed is followed",
        "bot/engine/run_turn.py",
        "        if not (now := await project.forge.find_renamed(missing.branch)):\n",
        "        if not (now := ''):\n",
        (f"{_TURNS}_a_base_branch_that_was_renamed_is_followed_and_told_once[a new run]",),
    ),
    Guard(
        "F15: a missing branch is not taken for a renamed one",
        "bot/services/github/renamed_branches.py",
        '        return self._info.status.base if was_default else ""\n',
        "        return self._info.status.base\n",
        (f"{_CHECKS}_a_missing_branch_is_not_taken_for_a_renamed_one",),
    ),
    Guard(
        "F15: a missing base is asked about once",
        "bot/engine/ask_human.py",
        'turn = "" if about and cause is WaitReason.FAILED else ',
        "turn = ",
        (f"{_ENDS}_a_missing_base_is_asked_about_once_whatever_people_reply",),
    ),
    Guard(
        "F16: a push that never passes is told on the issue",
        "bot/engine/loop.py",
        "                await self._tell_stuck(run)\n",
        "",
        (f"{_ENDS}_a_push_that_never_passes_is_told_once_and_taken_back_when_it_passes",),
    ),
    Guard(
        "F16: a push that passes at last is told on the issue",
        "bot/engine/decide.py",
        "stuck.take_back(render_status(_judge(run, seen, policy), seen, policy))",
        "render_status(_judge(run, seen, policy), seen, policy)",
        (f"{_ENDS}_a_push_that_never_passes_is_told_once_and_taken_back_when_it_passes",),
    ),
    Guard(
        "F5: a rate limit is not told as a failure",
        "bot/engine/backoff.py",
        "isinstance(problem, RateLimited | NeedsHuman | Elsewhere)",
        "False",
        (f"{_ENDS}_a_rate_limit_is_not_told_as_a_failure",),
    ),
    Guard(
        "F16: a team of Linear that was renamed is found by its id",
        "bot/services/linear/team_info.py",
        "        if node is None and self.status.id:",
        "        if False:",
        (f"{_LINEAR}_a_team_that_was_renamed_is_found_by_its_id",),
    ),
    Guard(
        "F16: a run keeps its issue when the settings name the new key of its team",
        "bot/services/linear/project_issues.py",
        "        for row in self._strayed(keys):",
        "        for row in ():",
        (f"{_LINEAR}_with_the_new_key_of_a_team_in_the_settings_a_run_keeps_its_issue",),
    ),
    Guard(
        "F17: a wrong answer to a label takes no label off an issue",
        "bot/services/github/parse.py",
        "    if not isinstance(payload, list | tuple):",
        "    if payload is None:",
        (f"{_TABLE}[label-200 of another shape]",),
    ),
    Guard(
        "F17: a comment that GitHub only seems not to find is not posted twice",
        "bot/services/github/comment_writer.py",
        "            if await self._is_there(comment):\n                raise\n            return False",
        "            if False:\n                raise\n            return False",
        (f"{_TABLE}[edit-404]",),
    ),
    Guard(
        "F17: a comment that Linear only seems not to find is not posted twice",
        "bot/services/linear/comment_writer.py",
        "            if isinstance(refusal, NotFound) and await self._is_there(comment):",
        "            if False:",
        (f"{_LINEAR_TABLE}[edit-entity not found]",),
    ),
    Guard(
        "F17: a reaction counts only with its answer",
        "bot/services/github/reaction_writer.py",
        '        _ = answer.data["id"]  # an answer without it is none',
        "        _ = answer",
        (f"{_TABLE}[react-200 null]",),
    ),
    Guard(
        "F17: a branch that GitHub does not see yet is no question",
        "bot/services/github/pull_request_writer.py",
        "        if any(sign in reason for sign in _HEAD_UNSEEN):",
        "        if False:",
        (f"{_TABLE}[open-422 head unseen]",),
    ),
    Guard(
        "F17: a branch that may not be removed does not count as removed",
        "bot/services/github/pull_request_writer.py",
        'if "does not exist" not in str(refusal):',
        "if False:",
        (f"{_TABLE}[remove-422 branch is locked]",),
    ),
    Guard(
        "F17: a merged branch that may not be removed does not keep the run from its end",
        "bot/engine/act.py",
        "            return await _shown(action, project.forge.remove_branch(branch))",
        "            await project.forge.remove_branch(branch)",
        (f"{_STORIES}_a_merged_branch_that_may_not_be_removed_ends_the_run_and_is_removed_later",),
    ),
    Guard(
        "F17: a merged branch is removed once that is allowed",
        "bot/engine/issue_status.py",
        "    return (RemoveBranch(),) if is_left else ()",
        "    return ()",
        (f"{_STORIES}_a_merged_branch_that_may_not_be_removed_ends_the_run_and_is_removed_later",),
    ),
    Guard(
        "F17: a failure of GitHub during a push is no question",
        "bot/workspace/push.py",
        "        if _is_incident(exc.stderr):",
        "        if False:",
        (f"{_PUSHES}[internal error]",),
    ),
    Guard(
        "F17: people read why GitHub refuses a push",
        "bot/workspace/push.py",
        'if not line.startswith(("error: failed to push", "To "))',
        'if "error:" not in line',
        (f"{_PUSHES}[GH006]",),
    ),
    Guard(
        "F5: a used-up budget of Linear is not waited for until it is full",
        "bot/services/linear/rate_limits.py",
        "            wait = self._until_refilled(shape)",
        "            wait = 3600.0",
        (f"{_LIMITS}_a_used_up_budget_is_waited_for_until_there_is_room_and_not_until_it_is_full",),
    ),
    Guard(
        "F5: the limit of one operation of Linear is kept",
        "bot/services/linear/rate_limits.py",
        'if refused and _number(headers, "x-ratelimit-endpoint-requests-remaining") == 0:',
        "if False:",
        (f"{_LIMITS}_the_limit_of_one_operation_is_waited_for_as_its_header_says",),
    ),
    Guard(
        "F15: a renamed default branch is followed",
        "bot/services/github/pull_request_writer.py",
        'if "base" in reason and (renamed := await self.renamed_branches.find(base)):',
        'if "base" in reason and (renamed := ""):',
        (f"{_CHECKS}_a_default_branch_that_was_renamed_meanwhile_is_followed",),
    ),
    Guard(
        "F15: a reaction is where people see it",
        "bot/services/github/reaction_writer.py",
        'if review is None or review["body"]:',
        "if True:",
        (f"{_TALK}_a_reaction_to_a_review_without_words_is_on_its_remark_where_people_see_it",),
    ),
    Guard(
        "F16: checks that cannot be seen are not green",
        "bot/services/github/checks.py",
        'is_known = not unseen or judged["state"] != CheckState.GREEN',
        "is_known = True",
        (f"{_CHECKS}_a_red_check_that_the_token_does_not_show_is_never_green",),
    ),
    Guard(
        "F16: jobs of GitHub Actions take the place of check runs that cannot be seen",
        "bot/services/github/checks.py",
        "            checks += jobs\n",
        "",
        (f"{_CHECKS}_a_red_check_that_the_token_does_not_show_is_never_green",),
    ),
    Guard(
        "F15: an issue that asks again gets no second pull request beside an open one",
        "bot/engine/intake.py",
        "run = self._reopen(project, issue, view) or self._next_run",
        "run = self._next_run",
        (f"{_ENDS}_an_issue_that_asks_again_goes_on_with_its_open_pull_request",),
    ),
    Guard(
        "F16: a renamed repository keeps its first name",
        "bot/services/github/repository_names.py",
        "self.first = self.first, next((first for _, first in found), self.configured)",
        "self.first = self.first, self.configured",
        (f"{_NAMES}_new_issues_of_a_renamed_repository_go_by_its_first_name",),
    ),
    Guard(
        "F16: a run that began under an earlier name is found without the cache",
        "bot/services/github/repository_info.py",
        "if number == self.status.id:",
        "if False:",
        (f"{_NAMES}_with_the_new_name_in_the_settings_a_run_keeps_its_key_and_its_comment",),
    ),
    Guard(
        "F16: one redirect is enough to learn the new name",
        "bot/services/github/repository_api.py",
        "self.is_stale = self.is_stale or bool(answer.moved)",
        "pass",
        (f"{_NAMES}_one_redirect_is_enough_to_learn_the_new_name",),
    ),
    Guard(
        "F14: a refused label or comment is no question",
        "bot/engine/act.py",
        "        return NotShown(action, str(refusal))",
        "        raise",
        (f"{_STORIES}_a_run_goes_on_to_the_end_while_everything_that_shows_it_is_refused",),
    ),
    Guard(
        "F14: what was refused is not written in every tick",
        "bot/engine/unshown.py",
        "waiting = {one.effect for one in run.unshown if seen.now < one.retry_at}",
        "waiting = set[str]()",
        (f"{_STORIES}_a_refused_show_is_tried_ever_less_often",),
    ),
    Guard(
        "F14: a refused comment is posted later",
        "bot/engine/unshown.py",
        "due = (_comment(one) for one in kept if one.slug",
        "due = (_comment(one) for one in kept if not one.slug",
        (f"{_STORIES}_what_was_refused_is_shown_once_it_is_accepted",),
    ),
    Guard(
        "F14: the progress comment counts as written only if it was",
        "bot/engine/unshown.py",
        "status = before if any(one.effect == PROGRESS for one in new) else run.status",
        "status = run.status",
        (f"{_STORIES}_what_was_refused_is_shown_once_it_is_accepted",),
    ),
    Guard(
        "F14: the end of a run is shown later",
        "bot/engine/loop.py",
        "for run in store.ended_unshown() if over else ():",
        "for run in ():",
        (f"{_STORIES}_the_end_is_shown_later_if_it_was_refused_and_the_run_is_over_at_once",),
    ),
    Guard(
        "F14: an end that is shown late leaves the next request alone",
        "bot/engine/issue_status.py",
        'or seen.issue.request not in {"", run.request}:',
        "or False:",
        (f"{_STORIES}_an_end_is_not_shown_on_an_issue_that_asks_for_work_again",),
    ),
    Guard(
        "F14: an issue in another team of Linear gets labels of that team",
        "bot/services/linear/project_issues.py",
        'self.labels.ids_of(added, row["in_team"])',
        "self.labels.ids_of(added, self.team.info.status.id)",
        (f"{_LINEAR}_an_issue_that_was_moved_to_another_team_shows_its_phase_by_labels_of_that_team",),
    ),
)
