"""Guards of Linear: whose comments count, nothing posted twice, no issue moved against a person, no limit exceeded."""

from tests.mutants.guards.guard import Guard

_TESTS = "tests/services/linear"
_CONSENT, _TALK = f"{_TESTS}/test_issue_authorization.py::test", f"{_TESTS}/test_comments.py::test"
_MOVES, _UNKNOWN = f"{_TESTS}/test_workflow_states.py::test", f"{_TESTS}/test_unknown_outcomes.py::test"
_LIMITS, _MARKERS = f"{_TESTS}/test_rate_limits.py::test", f"{_TESTS}/test_comment_markers.py::test"
_LOOKING, _COST = f"{_TESTS}/test_project_issues.py::test", f"{_TESTS}/test_request_cost.py::test"
_HOOKS = "tests/web/test_webhooks_linear.py::test"
_BOARD = "tests/stories/test_issue_states.py::test"

GUARDS = (
    Guard(
        "T1: guests and applications are not heard in Linear",
        "bot/services/linear/permissions.py",
        'is_member = not author["guest"] and not author["app"]',
        "is_member = True",
        (f"{_CONSENT}_a_label_by_a_guest_an_application_or_a_former_member_is_untrusted",),
    ),
    Guard(
        "T1: who has left is not heard in Linear",
        "bot/services/linear/permissions.py",
        'if not author["id"] or not author["active"]:',
        'if not author["id"]:',
        (f"{_CONSENT}_a_label_by_a_guest_an_application_or_a_former_member_is_untrusted",),
    ),
    Guard(
        "T1: an application is no person with an address",
        "bot/services/linear/permissions.py",
        '(not author["app"] and author["email"] in self._trusted)',
        '(author["email"] in self._trusted)',
        (f"{_CONSENT}_an_application_is_trusted_by_its_id_only",),
    ),
    Guard(
        "T1: in Linear who put the label on last asked",
        "bot/services/linear/issue_authorization.py",
        'return applied[-1]["at"], applied[-1]["began"], applied[-1]["who"]',
        'return applied[0]["at"], applied[0]["began"], applied[0]["who"]',
        (f"{_CONSENT}_the_last_person_who_applied_the_label_is_the_requester",),
    ),
    Guard(
        "T2: what a stranger changes in Linear is held back",
        "bot/services/linear/issue_authorization.py",
        "    if not (renamed or edited):\n",
        "    if True:\n",
        (f"{_CONSENT}_an_untrusted_edit_after_the_request_is_not_used",),
    ),
    Guard(
        "T2: a change that nothing explains was nobody's",
        "bot/services/linear/issue_authorization.py",
        '        return WordingChange("", (NO_PERSON,))\n',
        "        return latest\n",
        (f"{_CONSENT}_an_unexplained_change_is_not_used_and_not_requested_endlessly",),
    ),
    Guard(
        "T1: nobody is somebody else for being called alike",
        "bot/services/linear/connect.py",
        "login = logins.get(person.lower()) or logins.get(email) or await forge.login_of(email)",
        'login = logins.get(person.lower()) or logins.get(email) or email.partition("@")[0]',
        ("tests/settings/test_linear.py::test_people_are_matched_by_settings_or_verified_address_and_never_by_name",),
    ),
    Guard(
        "T19: a seal is good for one issue",
        "bot/services/linear/comment_markers.py",
        'return slug if self._signature.verify(last["mac"], issue, slug) else ""',
        "return slug",
        (f"{_MARKERS}_a_marker_is_valid_only_for_its_issue_slug_and_secret",),
    ),
    Guard(
        "T19: our marker in somebody else's comment is theirs",
        "bot/services/linear/comments.py",
        'own = self._us and row["author"]["id"] == self._us',
        "own = True",
        (f"{_TALK}_our_marker_in_a_comment_of_another_person_is_ignored",),
    ),
    Guard(
        "T19: what we quote does not speak for us in Linear",
        "bot/services/linear/comment_markers.py",
        'text = text.replace(_MARKER_START, "#treehand;")',
        "text = str(text)",
        (f"{_MARKERS}_a_quoted_marker_is_ignored",),
    ),
    Guard(
        "F3: in Linear what may have been said is looked for after it had time to appear",
        "bot/services/http/comment_outbox.py",
        "if found is None and 0 <= self._clock() - sent.tried_at < _SECONDS_TO_APPEAR:",
        "if False:",
        (f"{_UNKNOWN}_a_comment_with_an_unknown_outcome_is_repeated_only_after_it_had_time_to_appear",),
    ),
    Guard(
        "F17: who lost the claim writes nothing in Linear",
        "bot/services/linear/transport.py",
        "        before()\n",
        "",
        (f"{_LIMITS}_a_bot_without_its_lease_writes_nothing",),
    ),
    Guard(
        "F4: lists of Linear that lag lose nothing",
        "bot/services/linear/team_sync.py",
        "_OVERLAP = 120.0",
        "_OVERLAP = 0.0",
        (f"{_LOOKING}_delayed_lists_lose_no_change", f"{_LOOKING}_a_change_that_appears_after_a_later_one_is_seen"),
    ),
    Guard(
        "Linear: what a person has moved is theirs",
        "bot/services/linear/workflow_states.py",
        'if any(step["who"]["id"] and not self._is_us(step) for step in since):\n            return True\n',
        "if False:\n            return True\n",
        (f"{_MOVES}_an_issue_moved_by_a_person_first_is_not_moved",),
    ),
    Guard(
        "Linear: who moves it between our look and our write wins",
        "bot/services/linear/project_issues.py",
        'return state == (row["state"], row["in_team"], row["away"])',
        "return bool(state)",
        (f"{_MOVES}_a_move_by_a_person_between_our_read_and_write_wins",),
    ),
    Guard(
        "Linear: decide asks for no move that may not be made",
        "bot/engine/issue_status.py",
        " or wanted not in standing.movable:",
        ":",
        (f"{_BOARD}_an_issue_that_a_person_has_moved_is_not_moved_again",),
    ),
    Guard(
        "F5: Linear is not asked before the time it told",
        "bot/services/linear/rate_limits.py",
        "self._holds.hold(_HOLD, max(self._server_time.local_now() + wait, self._holds.until(_HOLD)))",
        "pass",
        (f"{_LIMITS}_no_request_is_sent_before_the_stated_time",),
    ),
    Guard(
        "F5: a tenth of Linear's budgets is left to others",
        "bot/services/linear/rate_limits.py",
        "_RESERVE = 0.1",
        "_RESERVE = 0.0",
        (f"{_COST}_a_tenth_of_each_rate_limit_is_left_to_others",),
    ),
    Guard(
        "HTTP access: a webhook of Linear's is of now",
        "bot/services/linear/webhook.py",
        "if not is_recent(body, now):",
        "if False:",
        (f"{_HOOKS}_an_old_or_future_webhook_is_refused",),
    ),
    Guard(
        "HTTP access: a webhook of Linear's is known by its signature",
        "bot/services/linear/webhook.py",
        'return hmac.compare_digest(made.encode(), signature.strip().lower().encode(errors="replace"))',
        "return bool(made)",
        (f"{_HOOKS}_a_webhook_with_a_wrong_signature_is_refused",),
    ),
    Guard(
        "An issue waits for those that block it",
        "bot/engine/schedule.py",
        "find_objection(run, seen, policy) is None and not _blocked(run, seen)",
        "find_objection(run, seen, policy) is None",
        (f"{_BOARD}_an_issue_waits_for_its_blocking_issues_and_shows_them",),
    ),
)
