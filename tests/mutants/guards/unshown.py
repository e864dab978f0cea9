"""Guards of what only shows a run: its refusal stops nothing, and it is shown later (F1, F14)."""

from tests.mutants.guards.guard import Guard

_LINEAR = "tests/services/linear/test_project_issues.py::test"
_STORIES = "tests/stories/test_refused_shows.py::test"

GUARDS = (
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
        (f"{_STORIES}_one_refusal_of_the_progress_comment_is_neither_a_question_nor_told",),
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
        (f"{_STORIES}_an_end_that_could_not_be_shown_does_not_touch_the_next_request",),
    ),
    Guard(
        "F14: an issue in another team of Linear gets labels of that team",
        "bot/services/linear/project_issues.py",
        'self.labels.ids_of(added, row["in_team"])',
        "self.labels.ids_of(added, self.team.info.status.id)",
        (f"{_LINEAR}_an_issue_that_was_moved_to_another_team_shows_its_phase_by_labels_of_that_team",),
    ),
)
