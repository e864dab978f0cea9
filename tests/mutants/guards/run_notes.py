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
        (f"{_FORGETTING}_a_pull_request_in_review_is_gone_on_with_and_what_was_heard_is_not_heard_again",),
    ),
    Guard(
        "F18: a note is about its own issue",
        "bot/engine/run_note.py",
        "if run.key == key else None",
        "",
        (f"{_FORGETTING}_a_note_of_another_issue_or_of_nonsense_is_no_memory",),
    ),
    Guard(
        "F18: where lists may lag, nothing is begun",
        _ARRIVING,
        "return now < self._unexplained.setdefault(issue.key, now + SECONDS_TO_APPEAR)",
        "return False",
        (f"{_FORGETTING}_where_the_notes_are_gone_an_open_pull_request_is_gone_on_with",),
    ),
    Guard(
        "F18: an open pull request of ours is gone on with",
        _ARRIVING,
        "run = self._adopt_pull_request(project, issue, view)",
        "run = None",
        (f"{_FORGETTING}_where_the_notes_are_gone_an_open_pull_request_is_gone_on_with",),
    ),
    Guard(
        "F18: what was closed meanwhile is tidied up",
        _ARRIVING,
        "            await self._find_abandoned(project)\n",
        "",
        (f"{_FORGETTING}_what_was_merged_when_the_memory_was_lost_is_tidied_up_all_the_same",),
    ),
    Guard(
        "F18: a note that is further on than the database wins",
        _ARRIVING,
        "return _progress(noted) > _progress(mine)",
        "return False",
        (f"{_FORGETTING}_a_database_from_an_old_copy_learns_from_the_issue_how_far_it_was",),
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
        (f"{_SHARING}_an_agent_that_was_started_in_the_moment_of_losing_it_is_ended_as_well",),
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
        (f"{_SHARING}_of_what_another_one_has_had_all_along_not_every_run_is_known_here",),
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
        (f"{_MARKERS}_a_note_goes_unseen_and_only_we_can_have_written_it",),
    ),
    Guard(
        "T19: what we quote brings no note along",
        "bot/services/github/comment_markers.py",
        'text = text.replace(_MARKER_START, "<!-- Treehand")',
        "text = str(text)",
        (f"{_MARKERS}_a_quoted_note_is_not_ours",),
    ),
    Guard(
        "T19: what a copy of our comment notes does not count",
        "bot/services/github/comment_writer.py",
        'ours.setdefault(self._markers.find_slug(row["body"], number), row)',
        'ours[row["id"]] = row',
        ("tests/services/github/test_comments.py::test_what_is_noted_in_a_copy_of_our_comment_does_not_count",),
    ),
)
