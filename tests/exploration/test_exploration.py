"""The shipped `decide`, `schedule`, intake and `perform` keep the laws in every state within reach of one disturbance.

`make bench ONLY=exploration` goes further.
"""

import pytest

from bot.domain.pull_request import PullRequestState
from tests.exploration import laws
from tests.exploration.explorer import Exploration
from tests.exploration.pairs import PairExploration
from tests.exploration.state import State


def told(exploration: Exploration | PairExploration) -> str:
    return "\n\n".join(map(str, exploration.violations.values()))


def test_one_issue_with_any_disturbance_keeps_every_law():
    exploration = Exploration(State(), disturbances=1)
    exploration.run()
    assert told(exploration) == ""
    assert exploration.states > 10_000


def test_two_issues_with_any_disturbance_share_one_slot_and_never_starve():
    exploration = PairExploration(disturbances=1, most_pairs=100_000)
    exploration.run()
    assert told(exploration) == ""
    assert exploration.states >= 100_000
    assert exploration.rests


def test_a_broken_law_is_reported_with_the_shortest_trace(monkeypatch: pytest.MonkeyPatch):
    def nobody_merges(state: State) -> bool:
        """Nobody ever merges."""
        return all(pull is None or pull.state is not PullRequestState.MERGED for pull in state.pulls)

    monkeypatch.setattr(laws, "OF_STATES", (nobody_merges,))
    exploration = Exploration(State(), disturbances=1)
    exploration.run()
    (found,) = exploration.violations.values()
    assert found.trace[0] == "the daemon looks"
    assert found.trace[-1] == "a person merges"
    assert found.trace.count("a person merges") == 1
    assert str(found).startswith("nobody_merges: Nobody ever merges.\n  1. the daemon looks\n")
