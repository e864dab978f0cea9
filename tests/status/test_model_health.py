"""Health of the model as shown to people, from the responses between two checks."""

import pytest

from bot.status.model_health import SILENT_SECONDS, ModelAnswers, add_answers, model_findings

NOW = 1_000_000.0


def after(*looks: dict[int, int], seconds: float = 15.0) -> ModelAnswers:
    """Makes a value from the responses between consecutive checks."""
    answers, counted = ModelAnswers(), dict[int, int]()
    for number, came in enumerate(looks):
        counted = {status: counted.get(status, 0) + came.get(status, 0) for status in {*counted, *came}}
        answers = add_answers(answers, counted, NOW + number * seconds)
    return answers


def test_without_a_response_there_is_no_finding():
    assert model_findings(after({})) == {}


def test_a_model_that_responds_is_healthy():
    assert model_findings(after({200: 3}, {})) == {"proxy": (True, "the model answers agents")}


@pytest.mark.parametrize(
    ("status", "words"), [(529, "HTTP 529"), (0, "no answer"), (401, "HTTP 401"), (429, "HTTP 429")]
)
def test_a_model_that_only_fails_is_unhealthy_with_its_last_failure(status, words):
    ok, detail = model_findings(after({200: 3}, {status: 1}, {}))["proxy"]
    assert not ok
    assert detail == f"the model does not answer agents; the last failure: {words} shortly before 13:47 UTC"


def test_one_success_makes_the_model_healthy_and_the_failure_stays_in_the_detail():
    ok, detail = model_findings(after({529: 5}, {529: 1, 200: 1}, {200: 1}))["proxy"]
    assert ok
    assert detail == "the model answers agents; the last failure: HTTP 529 shortly before 13:47 UTC"


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_invalid_requests_of_an_agent_are_no_failure_of_the_model(status):
    assert model_findings(after({200: 1}, {status: 50})) == {"proxy": (True, "the model answers agents")}
    assert after({529: 1}, {status: 50}).fails, "and no good answer"


def test_an_old_failure_no_longer_counts():
    assert after({529: 1}, {}).fails
    assert not after({529: 1}, {}, seconds=SILENT_SECONDS).fails
