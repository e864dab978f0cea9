"""Guards of run notes: notes on issues, and runs restored from them (F17, F18)."""

from tests.mutants.guards.guard import Guard

_FORGETTING = "tests/stories/test_lost_database.py::test"
_SHARING = "tests/stories/test_leases.py::test"
_MARKERS = "tests/services/github/test_comment_markers.py::test"
_ARRIVING, _SHARE = "bot/engine/intake.py", "bot/engine/leases.py"

GUARDS = (
    Guard(
        "F18: an issue we know nothing of is asked what it remembers",
        _ARRIVING,
        "store.find_run(issue.key) is None and (known := await self._read_run_notes(project, issue.key))",
        "(known := [])",
        (f"{_FORGETTING}_a_pull_request_in_review_continues_without_the_database_and_old_comments_stay_used",),
    ),
    Guard(
        "F18: a note is about its own issue",
        "bot/engine/run_note.py",
        "if run.key == key else None",
        "",
        (f"{_FORGETTING}_a_note_of_another_issue_or_with_invalid_data_is_ignored",),
    ),
    Guard(
        "F18: where lists may lag, nothing is begun",
        _ARRIVING,
        "return now < self._unexplained.setdefault(issue.key, now + SECONDS_TO_APPEAR)",
        "return False",
        (f"{_FORGETTING}_an_open_pull_request_continues_when_its_notes_are_gone",),
    ),
    Guard(
        "F18: an open pull request of ours is gone on with",
        _ARRIVING,
        "run = self._adopt_pull_request(project, issue, view)",
        "run = None",
        (f"{_FORGETTING}_an_open_pull_request_continues_when_its_notes_are_gone",),
    ),
    Guard(
        "F18: what was closed meanwhile is tidied up",
        _ARRIVING,
        "            await self._find_abandoned(project)\n",
        "",
        (f"{_FORGETTING}_a_run_merged_while_the_database_was_lost_is_cleaned_up",),
    ),
    Guard(
        "F18: a note that is further on than the database wins",
        _ARRIVING,
        "return _progress(noted) > _progress(mine)",
        "return False",
        (f"{_FORGETTING}_a_database_restored_from_an_old_copy_catches_up_from_the_notes",),
    ),
    Guard(
        "F17: what another one has is not acted on",
        _SHARE,
        "if project.lease is None:",
        "if True:",
        (f"{_SHARING}_only_the_daemon_with_the_lease_acts",),
    ),
    Guard(
        "F17: whoever takes over believes the other's notes",
        "bot/engine/loop.py",
        "        self._intake.mark_stale(project)\n",
        "",
        (f"{_SHARING}_the_daemon_that_takes_over_continues_where_the_other_was",),
    ),
    Guard(
        "F17: who loses it ends its agents",
        _SHARE,
        "for number in (run.turns.number, run.turns.number + 1):",
        "for number in (run.turns.number + 1,):",
        (f"{_SHARING}_a_daemon_that_loses_the_lease_ends_its_agents_and_records_their_cost",),
    ),
    Guard(
        "F17: an agent that was started as it was lost is ended as well",
        _SHARE,
        "for number in (run.turns.number, run.turns.number + 1):",
        "for number in (run.turns.number,):",
        (f"{_SHARING}_an_agent_started_while_the_lease_was_being_lost_is_ended",),
    ),
    Guard(
        "F17: what was decided before it was lost is not carried out after it is back",
        "bot/engine/loop.py",
        "        await self._cancel_steps(project)\n",
        "",
        (f"{_SHARING}_steps_decided_before_another_daemon_had_the_lease_are_cancelled",),
    ),
    Guard(
        "F17: of what another one has had all along nothing is tidied up here",
        "bot/engine/loop.py",
        "return {*self.failed_projects, *self._intake.stale}",
        "return {*self.failed_projects}",
        (f"{_SHARING}_a_daemon_without_the_lease_treats_the_project_as_unseen",),
    ),
    Guard(
        "F17: a bill is paid though others go on",
        _SHARE,
        "                    self._pay(run, report)\n",
        "                    pass\n",
        (f"{_SHARING}_a_daemon_that_loses_the_lease_ends_its_agents_and_records_their_cost",),
    ),
    Guard(
        "T19: a note is signed",
        "bot/services/github/comment_markers.py",
        "slug, *([packed] if packed else []))",
        "slug)",
        (f"{_MARKERS}_a_note_is_invisible_and_cannot_be_forged",),
    ),
    Guard(
        "T19: what we quote brings no note along",
        "bot/services/github/comment_markers.py",
        'text = text.replace(_MARKER_START, "<!-- Treehand")',
        "text = str(text)",
        (f"{_MARKERS}_a_quoted_note_is_ignored",),
    ),
    Guard(
        "T19: what a copy of our comment notes does not count",
        "bot/services/github/comment_writer.py",
        'ours.setdefault(self._markers.find_slug(row["body"], number), row)',
        'ours[row["id"]] = row',
        ("tests/services/github/test_comments.py::test_a_note_in_a_copy_of_our_comment_is_ignored",),
    ),
)
