"""What keeps a write from being done twice when nobody knows whether it was done (F1, F3, F4, F17, F18)."""

from tests.mutants.guards.guard import Guard

_TALK = "tests/clients/test_github_talk.py::test"
_PULLS = "tests/clients/test_github_pulls.py::test"
_SAYING = "bot/clients/github/saying.py"
_NOT_KNOWN = (f"{_TALK}_what_does_not_show_yet_is_not_said_again_before_it_had_time_to",)

GUARDS = (
    Guard(
        "F4: what may have been said has time to show before it is said again",
        _SAYING,
        "if found is None and 0 <= waited < _SECONDS_TO_SETTLE:",
        "if False:",
        _NOT_KNOWN,
    ),
    Guard(
        "F4: that time counts from the last try",
        _SAYING,
        "tried_at=self._access.service.now())",
        "tried_at=0.0)",
        _NOT_KNOWN,
    ),
    Guard(
        "F3: what may have been said is looked for by its marker",
        _SAYING,
        "found = await self._adopted(self._talk.find_ours(rows, said.slug), said)",
        "found = None",
        (f"{_TALK}_an_answer_that_was_lost_is_looked_for_and_not_said_again",),
    ),
    Guard(
        "F1: what is about to be said is saved first",
        _SAYING,
        "        self._notebook.keep_said(intent)\n        try:",
        "        try:",
        _NOT_KNOWN,
    ),
    Guard(
        "F18: what a lost memory said is found by its marker",
        _SAYING,
        "self._adopted(self._talk.find_ours(listening.known(wanted.number), wanted.slug), wanted)",
        "self._adopted([], wanted)",
        (f"{_TALK}_a_lost_memory_repeats_nothing",),
    ),
    Guard(
        "F17: of what was said twice the oldest stays",
        _SAYING,
        "for extra in ours[1:]:",
        "for extra in []:",
        (f"{_TALK}_of_what_two_of_us_said_at_once_the_oldest_stays",),
    ),
    Guard(
        "F3: a pull request that is there is ours",
        "bot/clients/github/offering.py",
        'if "already exists" in said:',
        "if False:",
        (f"{_PULLS}_a_draft_whose_answer_was_lost_is_adopted",),
    ),
    Guard(
        "F1: a branch whose pull request is over gets no other",
        "bot/clients/github/offering.py",
        'is_ours(known) and not known["open"]:',
        "is_ours(known) and False:",
        ("tests/contracts/test_forges.py::test_a_branch_gets_one_pull_request_also_when_that_was_ended_since_we_looked",),
    ),
)
