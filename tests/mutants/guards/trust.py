"""Whose wish it is and with which words, and whose words reach an agent (T1, T2, T19, T24)."""

from tests.mutants.guards.guard import Guard

_CONSENT = "tests/stories/test_consent.py::test"
_TRUST = "tests/escape/test_trust.py::test"
_STRANGERS = "tests/clients/test_github_strangers.py::test"
_MARKERS = "tests/clients/test_github_markers.py::test"
_THREATS = "tests/stories/test_threats.py::test"
_HUB = "bot/clients/github"

PEOPLE = (
    Guard(
        "T1: a label by a stranger sets nothing to work",
        "bot/engine/authorization.py",
        "if issue.asked_by.trusted:",
        "if True:",
        (f"{_CONSENT}_a_label_by_somebody_who_may_not_steer_starts_nothing_and_is_asked_about_once",),
    ),
    Guard(
        "T1: who may not push may not steer",
        f"{_HUB}/people.py",
        'return data.get("permission") in _MAY_PUSH',
        "return True",
        (f"{_TRUST}_t1_a_label_by_whoever_may_not_push_sets_no_agent_to_work_and_is_asked_about_once[tom]",),
    ),
    Guard(
        "T1: what GitHub does not tell counts as no",
        f"{_HUB}/people.py",
        "except NeedsHuman:\n            return False",
        "except NeedsHuman:\n            return True",
        (f"{_TRUST}_t1_nothing_begins_while_github_does_not_tell[who may push-404]",),
    ),
    Guard(
        "T1: a bot is no person because of its name",
        f"{_HUB}/people.py",
        'if not login or login.endswith("[bot]"):',
        "if not login:",
        (f"{_STRANGERS}_a_bot_that_may_push_is_no_person_for_that",),
    ),
    Guard(
        "T1: a number among the trusted is an id and no name",
        f"{_HUB}/people.py",
        "login in self._trusted and not login.isdigit()",
        "login in self._trusted",
        (f"{_STRANGERS}_a_number_among_the_trusted_is_no_name",),
    ),
    Guard(
        "T1: a stranger's command is not obeyed",
        "bot/engine/commands.py",
        "if not comment.author.trusted:",
        "if False:",
        ("tests/stories/test_commands.py::test_a_stranger_gets_one_line_and_nothing_happens",),
    ),
    Guard(
        "T1, T12: who may only steer lets nothing out that is held",
        "bot/engine/publish_approval.py",
        "if not by.may_push:",
        "if False:",
        (
            "tests/stories/test_holding.py::test_who_may_steer_but_not_push_is_told_who_can_allow_it_and_nothing_changes",
        ),
    ),
    Guard(
        "T1, T24: what strangers say is no news to an agent",
        "bot/engine/comment_ledger.py",
        "if comment.author.trusted and not _is_command",
        "if not _is_command",
        ("tests/engine/test_ledger.py::test_what_a_stranger_says_is_no_news_and_in_no_briefing",),
    ),
    Guard(
        "T1, T24: what strangers said is in no briefing",
        "bot/engine/comment_ledger.py",
        "(comment for comment in seen.comments if comment.author.trusted)\n    return tuple(part for",
        "(comment for comment in seen.comments if comment)\n    return tuple(part for",
        ("tests/engine/test_ledger.py::test_what_a_stranger_says_is_no_news_and_in_no_briefing",),
    ),
    Guard(
        "T1: what was said by a stranger stays so",
        "bot/engine/comment_ledger.py",
        "lambda name: name not in strange)",
        "lambda name: True)",
        ("tests/engine/test_ledger.py::test_what_was_turned_away_once_is_in_no_briefing_whoever_may_steer_by_now",),
    ),
    Guard(
        "T24: nobody speaks in a review of somebody else's",
        f"{_HUB}/talk.py",
        'if authors.get(row["review"]) == _who(row) and',
        'if row["review"] in authors and',
        (f"{_STRANGERS}_a_strangers_reply_is_no_part_of_the_review_it_is_filed_under",),
    ),
)

WORDS = (
    Guard(
        "T2: an edit by a stranger is not used unasked",
        "bot/engine/authorization.py",
        "if (edit := issue.edit) and edit.id not in {run.accepted, run.ignored}:",
        "if False and (edit := issue.edit):",
        (f"{_CONSENT}_an_edit_while_the_agent_works_ends_the_turn_keeps_the_work_and_publishes_nothing",),
    ),
    Guard(
        "T2: an edit in the second of the label counts as after it",
        f"{_HUB}/consent.py",
        "edit if edit and edit.at >= asked.at else None",
        "edit if edit and edit.at > asked.at else None",
        (f"{_TRUST}_t2_only_words_from_before_the_label_are_used",),
    ),
    Guard(
        "T2: a history that lags behind vouches for nothing",
        f"{_HUB}/consent.py",
        "if pinned and row[name] != pinned[name] and",
        "if False and",
        (f"{_STRANGERS}_a_history_that_lags_behind_does_not_make_a_strangers_words_somebody_elses",),
    ),
    Guard(
        "T2: an approval counts for what was asked about",
        "bot/engine/authorization.py",
        "if objection and objection.about != run.asked_about:",
        "if False:",
        (f"{_CONSENT}_an_approval_counts_only_for_what_was_asked_about",),
    ),
    Guard(
        "T2: a stranger's request is approved in its words",
        "bot/engine/authorization.py",
        'f"{issue.title}\\0{issue.body}".encode(',
        '"".encode(',
        (f"{_CONSENT}_a_strangers_request_is_approved_as_it_read_and_not_as_it_reads_later",),
    ),
    Guard(
        "T2: a turn is ended when its words have changed",
        "bot/engine/watch_turn.py",
        "if consent.find_objection(run, seen, policy):",
        "if False:",
        (f"{_CONSENT}_an_edit_while_the_agent_works_ends_the_turn_keeps_the_work_and_publishes_nothing",),
    ),
    Guard(
        "T2: nothing is offered when its words have changed",
        "bot/engine/finish_turn.py",
        "if objection := consent.find_objection(run, seen, policy):",
        "if objection := None:",
        (f"{_CONSENT}_an_edit_just_before_the_end_of_a_turn_keeps_it_from_being_published",),
    ),
    Guard(
        "T16: strangers name nothing that is to be looked for",
        "bot/engine/authorization.py",
        'return "" if _is_strange(run, issue) else words_of(run, issue).body',
        "return issue.edit.body if issue.edit else issue.body",
        (f"{_THREATS}_t16_what_a_stranger_says_must_come_first_is_not_even_looked_for",),
    ),
    Guard(
        "T16: strangers name nothing in what they ask for themselves",
        "bot/engine/authorization.py",
        'return issue.body if issue.asked_by.trusted else ""',
        "return issue.body",
        (f"{_THREATS}_t16_what_a_stranger_says_must_come_first_is_not_even_looked_for",),
    ),
    Guard(
        "T16: an issue has so many others followed and no more",
        "bot/domain/issue_directives.py",
        "if one != key)[:_MOST_KEYS]",
        "if one != key)",
        ("tests/domain/test_clauses.py::test_what_has_to_come_first_has_an_end_since_each_is_asked_for_in_every_look",),
    ),
    Guard(
        "T19: a signature that is not ours is none",
        f"{_HUB}/markers.py",
        'return (slug, kept) if self._seal.is_on(last["mac"], *self._words(number, slug, kept)) else ("", "")',
        "return slug, kept",
        (f"{_MARKERS}_a_signature_is_good_for_its_place_only",),
    ),
    Guard(
        "T19: a signature is good under one issue",
        f"{_HUB}/markers.py",
        "(self._repository, str(number), slug, *([kept] if kept else []))",
        "(self._repository, slug, *([kept] if kept else []))",
        (f"{_MARKERS}_a_signature_is_good_for_its_place_only",),
    ),
    Guard(
        "T19: our signature in somebody else's comment is theirs",
        f"{_HUB}/talk.py",
        'own = self.own_id and row["author"]["id"] == self.own_id',
        "own = self.own_id",
        (f"{_STRANGERS}_t19_our_signature_in_a_persons_comment_leaves_it_theirs",),
    ),
    Guard(
        "T19: an operator speaks with our account only",
        f"{_HUB}/talk.py",
        'if not self.own_id or row["author"]["id"] != self.own_id:',
        "if not self.own_id:",
        (f"{_STRANGERS}_an_operators_signature_in_a_strangers_comment_is_the_strangers",),
    ),
)

GUARDS = (*PEOPLE, *WORDS)
