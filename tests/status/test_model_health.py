"""How the model answers, as people read it: by what came from one look to the next."""

import pytest

from bot.status.model_health import SILENT_SECONDS, ModelAnswers, add_answers, model_findings

NOW = 1_000_000.0


def after(*looks: dict[int, int], seconds: float = 15.0) -> ModelAnswers:
    """Each look is what came since the one before."""
    answers, counted = ModelAnswers(), dict[int, int]()
    for number, came in enumerate(looks):
        counted = {status: counted.get(status, 0) + came.get(status, 0) for status in {*counted, *came}}
        answers = add_answers(answers, counted, NOW + number * seconds)
    return answers


def test_as_long_as_nobody_was_answered_nothing_is_said():
    assert model_findings(after({})) == {}


def test_a_model_that_answers_is_well():
    assert model_findings(after({200: 3}, {})) == {"proxy": (True, "the model answers agents")}


@pytest.mark.parametrize(
    ("status", "words"), [(529, "HTTP 529"), (0, "no answer"), (401, "HTTP 401"), (429, "HTTP 429")]
)
def test_one_that_only_fails_is_not_and_the_last_failure_is_named(status, words):
    ok, detail = model_findings(after({200: 3}, {status: 1}, {}))["proxy"]
    assert not ok
    assert detail == f"the model does not answer agents; the last failure: {words} shortly before 13:47 UTC"


def test_one_good_answer_is_enough_and_the_failure_is_remembered():
    ok, detail = model_findings(after({529: 5}, {529: 1, 200: 1}, {200: 1}))["proxy"]
    assert ok
    assert detail == "the model answers agents; the last failure: HTTP 529 shortly before 13:47 UTC"


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_nonsense_that_an_agent_asks_for_is_no_failure(status):
    assert model_findings(after({200: 1}, {status: 50})) == {"proxy": (True, "the model answers agents")}
    assert after({529: 1}, {status: 50}).fails, "and no good answer"


def test_after_a_long_silence_nobody_says_that_it_is_unwell():
    assert after({529: 1}, {}).fails
    assert not after({529: 1}, {}, seconds=SILENT_SECONDS).fails
