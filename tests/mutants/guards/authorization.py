"""Guards of authorization: who may ask and steer, and whose text reaches an agent (T1, T2, T19, T24)."""

from tests.mutants.guards.guard import Guard

_CONSENT = "tests/stories/test_authorization.py::test"
_TRUST = "tests/escape/test_trust.py::test"
_STRANGERS = "tests/services/github/test_permissions.py::test"
_MARKERS = "tests/services/github/test_comment_markers.py::test"
_THREATS = "tests/stories/test_threats.py::test"

PEOPLE = (
    Guard(
        "T1: a label by a stranger sets nothing to work",
        "bot/engine/authorization.py",
        "if issue.requester.trusted:",
        "if True:",
        (f"{_CONSENT}_a_label_by_an_untrusted_person_starts_nothing_and_asks_for_approval_once",),
    ),
    Guard(
        "T1: who may not push may not steer",
        "bot/services/github/permissions.py",
        'return data.get("permission") in _MAY_PUSH',
        "return True",
        (f"{_TRUST}_t1_a_label_by_a_person_without_push_permission_starts_no_agent_and_asks_once[tom]",),
    ),
    Guard(
        "T1: a bot is no person because of its name",
        "bot/services/github/permissions.py",
        'if not login or login.endswith("[bot]"):',
        "if not login:",
        (f"{_STRANGERS}_a_bot_with_push_permission_does_not_count_as_a_person",),
    ),
    Guard(
        "T1: a number among the trusted is an id and no name",
        "bot/services/github/permissions.py",
        "login in self._trusted and not login.isdigit()",
        "login in self._trusted",
        (f"{_STRANGERS}_a_number_in_the_trusted_list_is_no_name",),
    ),
    Guard(
        "T1: a stranger's command is not obeyed",
        "bot/engine/commands.py",
        "if not comment.author.trusted:",
        "if False:",
        ("tests/stories/test_commands.py::test_a_command_of_an_untrusted_person_gets_one_line_and_has_no_effect",),
    ),
    Guard(
        "T1, T12: who may only steer lets nothing out that is held",
        "bot/engine/publish_approval.py",
        "if not by.may_push:",
        "if False:",
        (
            "tests/stories/test_publish_approval.py::test_a_person_without_push_permission_cannot_approve_and_learns_who_can",
        ),
    ),
    Guard(
        "T1, T24: what strangers say is no news to an agent",
        "bot/engine/comment_ledger.py",
        "if comment.author.trusted and not _is_command",
        "if not _is_command",
        ("tests/engine/test_comment_ledger.py::test_a_comment_of_an_untrusted_person_is_not_new_and_in_no_briefing",),
    ),
    Guard(
        "T1, T24: what strangers said is in no briefing",
        "bot/engine/comment_ledger.py",
        "(comment for comment in seen.comments if comment.author.trusted)\n    return tuple(part for",
        "(comment for comment in seen.comments if comment)\n    return tuple(part for",
        ("tests/engine/test_comment_ledger.py::test_a_comment_of_an_untrusted_person_is_not_new_and_in_no_briefing",),
    ),
    Guard(
        "T1: what was said by a stranger stays so",
        "bot/engine/comment_ledger.py",
        "lambda name: name not in strange)",
        "lambda name: True)",
        (
            "tests/engine/test_comment_ledger.py::test_a_refused_comment_is_in_no_briefing_even_if_its_author_becomes_trusted",
        ),
    ),
    Guard(
        "T24: nobody speaks in a review of somebody else's",
        "bot/services/github/comments.py",
        'if authors.get(row["review"]) == _id_of(row["author"]) and',
        'if row["review"] in authors and',
        (f"{_STRANGERS}_an_untrusted_reply_is_not_part_of_the_review_it_belongs_to",),
    ),
)

WORDS = (
    Guard(
        "T2: an edit by a stranger is not used unasked",
        "bot/engine/authorization.py",
        "if (edit := issue.edit) and edit.id not in {run.consent.accepted_edit, run.consent.ignored_edit}:",
        "if False and (edit := issue.edit):",
        (f"{_CONSENT}_an_untrusted_edit_ends_the_turn_keeps_the_work_and_publishes_nothing",),
    ),
    Guard(
        "T2: an edit in the second of the label counts as after it",
        "bot/services/github/issue_authorization.py",
        "edit if edit and edit.at >= labelling.at else None",
        "edit if edit and edit.at > labelling.at else None",
        (f"{_TRUST}_t2_only_text_from_before_the_label_is_used",),
    ),
    Guard(
        "T2: a history that lags behind vouches for nothing",
        "bot/services/github/issue_authorization.py",
        "if pinned and differs and (change is None",
        "if pinned and False and (change is None",
        (f"{_STRANGERS}_a_delayed_history_does_not_make_an_untrusted_edit_trusted",),
    ),
    Guard(
        "T2: work does not begin on words that GitHub knows no more",
        "bot/services/github/issue_authorization.py",
        "        if history.lags:\n            raise NotTold",
        "        if False:\n            raise NotTold",
        ("tests/escape/test_rights.py::test_t2_the_words_that_work_begins_with_are_those_that_were_judged",),
    ),
    Guard(
        "T2: an approval counts for what was asked about",
        "bot/engine/authorization.py",
        "if objection and objection.about != run.consent.asked_for:",
        "if False:",
        (f"{_CONSENT}_an_approval_does_not_cover_an_edit_made_after_the_question",),
    ),
    Guard(
        "T2: a stranger's request is approved in its words",
        "bot/engine/authorization.py",
        "{_digest(issue.title, issue.body)}",
        "{_digest()}",
        (f"{_CONSENT}_an_approval_covers_only_the_request_text_at_the_time_of_the_question",),
    ),
    Guard(
        "T2: a turn is ended when its words have changed",
        "bot/engine/watch_turn.py",
        "if authorization.find_objection(run, seen, policy):",
        "if False:",
        (f"{_CONSENT}_an_untrusted_edit_ends_the_turn_keeps_the_work_and_publishes_nothing",),
    ),
    Guard(
        "T2: nothing is offered when its words have changed",
        "bot/engine/finish_turn.py",
        "if objection := authorization.find_objection(run, seen, policy):",
        "if objection := None:",
        (f"{_CONSENT}_an_untrusted_edit_just_before_the_end_of_a_turn_blocks_publishing",),
    ),
    Guard(
        "T16: strangers name nothing that is to be looked for",
        "bot/engine/authorization.py",
        'return "" if _is_unauthorized(run, issue) else effective_issue(run, issue).body',
        "return issue.edit.body if issue.edit else issue.body",
        (f"{_THREATS}_t16_dependencies_in_an_untrusted_text_are_not_looked_up",),
    ),
    Guard(
        "T16: strangers name nothing in what they ask for themselves",
        "bot/engine/authorization.py",
        'return issue.body if issue.requester.trusted else ""',
        "return issue.body",
        (f"{_THREATS}_t16_dependencies_in_an_untrusted_text_are_not_looked_up",),
    ),
    Guard(
        "T16: an issue has so many others followed and no more",
        "bot/domain/issue_directives.py",
        "if one != key)[:_MOST_KEYS]",
        "if one != key)",
        ("tests/domain/test_issue_directives.py::test_the_number_of_dependencies_is_limited",),
    ),
    Guard(
        "T19: a signature that is not ours is none",
        "bot/services/github/comment_markers.py",
        'return (slug, packed) if any(self._signature.verify(last["mac"], *words) for words in signed) else ("", "")',
        "return slug, packed",
        (f"{_MARKERS}_a_signature_is_valid_only_for_its_place",),
    ),
    Guard(
        "T19: a signature is good under one issue",
        "bot/services/github/comment_markers.py",
        "(repository, str(number), slug, *([packed] if packed else []))",
        "(repository, slug, *([packed] if packed else []))",
        (f"{_MARKERS}_a_signature_is_valid_only_for_its_place",),
    ),
    Guard(
        "T19: our signature in somebody else's comment is theirs",
        "bot/services/github/comments.py",
        'own = self.own_id and row["author"]["id"] == self.own_id',
        "own = self.own_id",
        (f"{_STRANGERS}_t19_our_signature_in_a_persons_comment_does_not_make_it_ours",),
    ),
    Guard(
        "T19: an operator speaks with our account only",
        "bot/services/github/comments.py",
        'if not self.own_id or row["author"]["id"] != self.own_id:',
        "if not self.own_id:",
        (f"{_STRANGERS}_an_operators_signature_in_an_untrusted_comment_is_ignored",),
    ),
)

_LINEAR = "tests/services/linear/test_issue_authorization.py::test"
_RIGHTS = "tests/escape/test_rights.py::test"

RIGHTS = (
    Guard(
        "T1: a right is asked for when it is used",
        "bot/engine/loop.py",
        "seen, decision = await confirm(run, seen, self.ports.projects[run.project], judge)",
        "decision = judge(seen)",
        (f"{_CONSENT}_a_budget_command_of_a_person_who_lost_permission_is_ignored",),
    ),
    Guard(
        "T1: a start asks for the requester's right",
        "bot/engine/recheck_permissions.py",
        "if (begins and not _has_worked(run, seen)) or (publishes and seen.pull_request is None):",
        "if publishes and seen.pull_request is None:",
        (f"{_CONSENT}_a_label_by_a_person_who_lost_permission_before_the_start_starts_nothing",),
    ),
    Guard(
        "T1: a first publication asks for the requester's right",
        "bot/engine/recheck_permissions.py",
        "if (begins and not _has_worked(run, seen)) or (publishes and seen.pull_request is None):",
        "if begins and not _has_worked(run, seen):",
        (f"{_CONSENT}_work_of_a_requester_who_lost_permission_is_published_after_another_approval",),
    ),
    Guard(
        "T12: an approval counts while its author may push",
        "bot/engine/publish_approval.py",
        "return [one for one in run.hold.allowed if one.comment and one.comment not in counting]",
        "return []",
        (f"{_RIGHTS}_t12_approved_work_is_not_published_if_the_approver_lost_permission[removed]",),
    ),
    Guard(
        "T24: whoever edited a comment last is judged",
        "bot/services/github/comments.py",
        "            if not theirs.trusted:\n",
        "            if False:\n",
        (f"{_RIGHTS}_t24_an_untrusted_edit_cannot_turn_a_comment_into_a_command[/ai stop]",),
    ),
    Guard(
        "T24: an edited comment is asked about",
        "bot/engine/comment_ledger.py",
        "if not comment.author.trusted and not comment.edited_by and not _gets_an_answer",
        "if not comment.author.trusted and not _gets_an_answer",
        (f"{_CONSENT}_a_comment_edited_by_an_untrusted_person_waits_for_approval",),
    ),
    Guard(
        "T2: nobody vouches for a new issue of Linear that was changed",
        "bot/services/linear/issue_authorization.py",
        'return bool(row["updated"] <= known_until) or seconds_after_creation >= HISTORY_SECONDS',
        "return True",
        (f"{_LINEAR}_an_edited_new_issue_is_untrusted_until_its_history_is_available",),
    ),
    Guard(
        "T1: who was a member is asked about anew in Linear",
        "bot/services/linear/issue_authorization.py",
        'return may_steer(people.get(who["id"], who))',
        "return may_steer(who)",
        (f"{_LINEAR}_a_former_member_is_untrusted_when_permissions_are_rechecked",),
    ),
)

GUARDS = (*PEOPLE, *WORDS, *RIGHTS)
