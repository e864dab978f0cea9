"""The scripted model implements the Messages API, follows its script, and is stateless."""

import asyncio
import json

import httpx
import pytest

from bot.demo.messages_api import parse_request
from bot.demo.scripted_model import CutStream, Hang, Pause, RefuseWith, SayText, ScriptedModel, UseTool

TOOLS = [{"name": "Bash"}, {"name": "Edit"}]


def asking(*messages, **more):
    return {"model": "some-model", "max_tokens": 100, "tools": TOOLS, "messages": list(messages), **more}


def user(*texts: str):
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def assistant(text: str):
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def answered(result: str, *texts: str):
    block = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": result}]}
    return {"role": "user", "content": [block, *user(*texts)["content"]]}


async def post(model: ScriptedModel, body, path="/v1/messages") -> httpx.Response:
    async with httpx.AsyncClient(base_url=model.url, trust_env=False) as http:
        return await http.post(path, json=body, headers={"x-api-key": "key-1"}, timeout=10)


def events_in(response: httpx.Response):
    return [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: ")]


async def test_a_response_is_a_stream_of_events():
    async with ScriptedModel(lambda _: [SayText("Hello."), UseTool("Bash", {"command": "ls"})]) as model:
        events = events_in(await post(model, asking(user("Hi"), stream=True)))

    assert [event["type"] for event in events] == [
        "message_start",
        *["content_block_start", "content_block_delta", "content_block_stop"] * 2,
        "message_delta",
        "message_stop",
    ]
    assert events[2]["delta"] == {"type": "text_delta", "text": "Hello."}
    assert json.loads(events[5]["delta"]["partial_json"]) == {"command": "ls"}
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[0]["message"]["usage"]["input_tokens"] > 0


async def test_a_response_without_streaming_is_one_object():
    async with ScriptedModel(lambda _: [SayText("Hello.")]) as model:
        answer = (await post(model, asking(user("Hi")))).json()

    assert answer["content"] == [{"type": "text", "text": "Hello."}]
    assert answer["stop_reason"] == "end_turn"
    assert answer["usage"]["output_tokens"] > 0


async def test_the_same_session_gets_the_same_response():
    async with ScriptedModel(lambda _: [UseTool("Bash", {"command": "ls"})]) as model:
        first, second = [(await post(model, asking(user("Hi")))).json() for _ in range(2)]

    assert first == second


async def test_side_requests_are_answered_without_the_script():
    async with ScriptedModel(lambda _: pytest.fail("not for the script")) as model:
        title = await post(model, {"model": "m", "max_tokens": 1, "messages": [user("quota")]})
        count = await post(model, asking(user("Hi")), "/v1/messages/count_tokens")
        async with httpx.AsyncClient(base_url=model.url, trust_env=False) as http:
            head = await http.head("/")

    assert (title.status_code, head.status_code) == (200, 200)
    assert count.json()["input_tokens"] > 0
    assert (len(model.requests), len(model.side_requests)) == (0, 1)


async def test_requests_and_their_key_are_recorded_for_tests():
    async with ScriptedModel(lambda _: [SayText("Hello.")]) as model:
        await post(model, asking(user("Hi")))
        await model.wait_for_requests(1)

    assert [request.user_texts for request in model.requests] == [("Hi",)]
    assert model.keys == ["key-1"]


async def test_the_model_refuses_with_the_status_of_the_script():
    async with ScriptedModel(lambda _: [RefuseWith(429, {"retry-after": "7"})]) as model:
        refused = await post(model, asking(user("Hi")))

    assert (refused.status_code, refused.headers["retry-after"]) == (429, "7")
    assert refused.json()["error"]["type"] == "rate_limit_error"


@pytest.mark.parametrize("stream", [True, False])
async def test_the_model_cuts_the_connection(stream):
    async with ScriptedModel(lambda _: [SayText("Hello."), CutStream(after=2)]) as model:
        with pytest.raises(httpx.RemoteProtocolError):
            await post(model, asking(user("Hi"), stream=stream))


async def test_closing_the_model_ends_a_hanging_response():
    async def give_up(model):
        with pytest.raises(httpx.HTTPError):
            (await post(model, asking(user("Hi"), stream=True))).raise_for_status()

    async with asyncio.TaskGroup() as group, ScriptedModel(lambda _: [Hang()]) as model:
        group.create_task(give_up(model))
        await model.wait_for_requests(1)


async def test_the_model_pauses_until_the_event_is_set():
    go = asyncio.Event()
    async with ScriptedModel(lambda _: [Pause(until=go), SayText("Now.")]) as model, asyncio.TaskGroup() as group:
        answer = group.create_task(post(model, asking(user("Hi"))))
        await model.wait_for_requests(1)
        assert not answer.done()
        go.set()
    assert answer.result().json()["content"][0]["text"] == "Now."


async def test_a_broken_script_fails_its_caller():
    def broken(_):
        raise ValueError("no such line")

    with pytest.raises(ValueError, match="no such line"):
        async with ScriptedModel(broken) as model:
            assert (await post(model, asking(user("Hi")))).status_code == 400


def test_a_request_shows_its_texts_results_and_number_of_answers():
    request = parse_request(
        asking(
            user("<system-reminder>mind the gap</system-reminder>", "Do it."),
            assistant("Working."),
            answered(
                "ok",
                "<system-reminder>\nThe user sent a new message while you were working:\nUse tabs.\n\n"
                "This is how Claude Code surfaces messages.\n</system-reminder>",
            ),
            assistant("Still working."),
            answered("fine"),
            system=[{"type": "text", "text": "Be brief."}],
        )
    )

    assert request.user_texts == ("Do it.", "Use tabs.")
    assert request.last_user_text == "Use tabs."
    assert request.results == ("ok", "fine")
    assert (request.answers, request.answers_since_user_text) == (2, 1)
    assert (request.system, request.model) == ("Be brief.", "some-model")
