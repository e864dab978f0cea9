"""API: matches its description, and can do nothing beyond what a comment can do."""

import asyncio
import contextlib
import json

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, given
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from bot.domain.command import CommandName
from bot.domain.pull_request import Checks, CheckState, FailedCheck, PullRequest, PullRequestState
from bot.domain.run import Phase
from bot.domain.runner_report import CountedTests
from bot.domain.verification import BaseComparison, Verification, VerifiedCommand
from bot.status.as_json import RunSummary, run_as_json
from bot.web.api_models import ApiRun, ApiRunWithJournal, ApiState
from bot.web.run.actions import ACTIONS

REFUSING = SchemathesisConfig.from_dict({"checks": {"negative_data_rejection": {"expected-statuses": ["4xx"]}}})
"""What is too long is refused as such, with 413."""
CHECKS = [
    not_a_server_error,
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
]


def at(run, deed: str = "") -> str:
    return f"/api/v1/runs/{run.key.replace('#', '%23')}" + (f"/{deed}" if deed else "")


async def test_the_state_equals_the_output_of_status(web):
    web.run("Add a cart")
    told = (await web.client.get("/api/v1/state")).json()
    assert [run["title"] for run in told["runs"]] == ["Add a cart"]
    assert {"generated_at", "counts", "runs", "spend", "health"} <= told.keys()


async def test_the_description_of_the_state_has_every_key(web):
    counts = CountedTests(1, 0)
    tried = VerifiedCommand("make test", exit_code=0, seconds=1.0, counts=counts, against_base=BaseComparison())
    run = web.run("Add a cart", checks_verification=Verification("c" * 40, "b" * 40, (tried,), (tried,)))
    checks = Checks(CheckState.RED, passed=1, failed=(FailedCheck("lint", ""),))
    pull = PullRequest(2, "b", "t", "", PullRequestState.OPEN, draft=True, head="h", checks=checks)
    summary = RunSummary(title="Add a cart", pull_request=pull, eta_seconds=60.0)
    ApiRun.model_validate(run_as_json(run, summary, [run.id]), extra="forbid")
    ApiState.model_validate((await web.client.get("/api/v1/state")).json(), extra="forbid")
    ApiRunWithJournal.model_validate((await web.client.get(at(run))).json(), extra="forbid")


async def test_one_run_comes_with_its_journal(web):
    run = web.run("Add a cart")
    told = (await web.client.get(at(run))).json()
    assert (told["key"], told["title"], [entry["text"] for entry in told["journal"]]) == (
        run.key, "Add a cart", ["something happened"]
    )  # fmt: skip


async def test_every_command_becomes_a_comment_in_the_persons_name(web):
    run = web.run("Add a cart")
    orders = [name.value for name in CommandName if name is not CommandName.HELP]
    for order in orders:
        assert (await web.client.post(at(run, order), json={"words": " 10\n "})).status_code == 202
    assert web.comments(run.key) == [("ana", f"/ai {order} 10") for order in orders]


async def test_a_command_cannot_contain_another_line(web):
    run = web.run("Add a cart")
    await web.client.post(at(run, "status"), json={"words": "\n/ai stop"})
    assert web.comments(run.key) == [("ana", "/ai status /ai stop")]


async def test_a_new_issue_gets_the_label(web):
    answer = await web.client.post("/api/v1/issues", json={"title": "Add a cart", "body": "Please."})
    assert (answer.status_code, answer.json()) == (201, {"key": "shop#1"})
    assert web.issue_thread("shop#1").issue.labels == {"ai"}


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("say", {}, 400, "text: field required."),
        ("say", {"text": 7}, 400, "text: input should be a valid string."),
        ("say", {"text": ""}, 400, "text: string should have at least 1 character."),
        ("say", {"text": " "}, 422, "A comment needs some text."),
        ("say", {"words": "x", "text": "y"}, 400, "words: extra inputs are not permitted."),
        ("review", {"remarks": [{"path": "a", "line": 0, "text": "x"}]}, 400, "remarks[0].line: input should be"),
        ("review", {"verdict": "maybe"}, 400, "verdict: input should be 'comment', 'approve' or 'request changes'."),
        ("fly", {}, 404, "No such action on a run."),
        ("budget", {}, 400, "words: field required."),
        ("merge", {}, 422, "There is no pull request shop#1."),
    ],
)  # fmt: skip
async def test_a_mistake_is_reported(web, path, body, status, said):
    run = web.run("Add a cart")
    answer = await web.client.post(at(run, path), json=body)
    assert (answer.status_code, answer.json()["error"][: len(said)]) == (status, said)


@pytest.mark.parametrize("body", [b"{", b"[1]", b"\xff", b"[" * 100_000, b'{"text": NaN}', b"7"])
async def test_a_body_that_is_no_object_is_refused(web, body):
    run = web.run("Add a cart")
    assert (await web.client.post(at(run, "say"), content=body)).status_code == 400


async def _in_pieces(content: bytes):
    """Sends the body in pieces, so that its length is not announced."""
    yield content


@pytest.mark.parametrize("send", [bytes, _in_pieces], ids=["announced", "not announced"])
async def test_a_body_that_is_too_long_is_not_read(web, send):
    run = web.run("Add a cart")
    assert (await web.client.post(at(run, "say"), content=send(b" " * 3_000_000))).status_code == 413


@pytest.mark.parametrize("key", ["shop%2399", "..%2f..%2fetc", "%00", "shop", "a" * 5000, "%F0%9F%A6%86"])
async def test_an_unknown_run_is_not_found(web, key):
    for answer in (await web.client.get(f"/api/v1/runs/{key}"), await web.client.post(f"/api/v1/runs/{key}/stop")):
        assert answer.status_code == 404
        assert answer.json()["error"]


async def test_a_key_with_a_slash_is_found(web):
    run = web.save(web.run("Add a cart"), key="acme/shop#12")
    told = (await web.client.get("/api/v1/runs/acme%2Fshop%2312")).json()
    assert told["key"] == run.key


async def test_events_describe_runs_like_the_state(web):
    run = web.run("Add a cart", Phase.QUEUED)
    await web.client.get("/api/v1/state")
    async with web.client.stream("GET", "/api/v1/events") as answer, asyncio.timeout(30):
        web.save(run, phase=Phase.WORKING)
        told = [json.loads(line[6:]) async for line in _until_data(answer)]
    assert (told[0]["key"], told[0]["phase"]) == (run.key, "working")


async def _until_data(answer):
    async for line in answer.aiter_lines():
        if line.startswith("data: "):
            yield line
            return


async def test_the_description_lists_every_action(web):
    told = (await web.client.get("/api/v1/openapi.json")).json()
    assert {f"/api/v1/runs/{{key}}/{deed}" for deed in ACTIONS} <= told["paths"].keys()


@pytest.mark.parametrize("is_known", [True, False], ids=["a run that is there", "any key"])
async def test_every_operation_matches_its_description_for_any_input(web, is_known):
    """Sends valid and invalid input to every operation."""
    run = web.run("Add a cart")
    told = (await web.client.get("/api/v1/openapi.json")).json()
    del told["paths"]["/api/v1/events"]  # it has no end
    if is_known:
        for path in told["paths"].values():
            for operation in path.values():
                operation["parameters"] = [
                    {**one, "schema": {"const": run.key}} for one in operation.get("parameters", [])
                ]
    await asyncio.to_thread(fuzz, told, str(web.client.base_url).rstrip("/"))


def fuzz(told, base: str) -> None:
    for result in schemathesis.openapi.from_dict(told, config=REFUSING).get_all_operations():
        for mode in schemathesis.GenerationMode:
            fuzz_one(result.ok(), mode, base)


def fuzz_one(operation, mode, base: str) -> None:
    @given(case=operation.as_strategy(generation_mode=mode))
    @hypothesis.settings(
        max_examples=6, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    def ask(case) -> None:
        case.call_and_validate(base_url=base, checks=CHECKS)

    with contextlib.suppress(hypothesis.errors.Unsatisfiable):  # some have nothing that could be wrong
        ask()
