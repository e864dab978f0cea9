"""What a person types to go on with an agent's conversation works with the real program; and what a planner may do."""

import asyncio
import os

from bot.demo.model import Say, ScriptedModel, Use


async def test_the_command_people_are_told_goes_on_with_the_conversation(bench):
    async with ScriptedModel(lambda request: (Say(f"I know {len(request.said)} things."),)) as model:
        report = await bench.take(model, bench.work("Remember the word heron."))
        command = bench.agent(model).by_hand(folder=bench.folder, home=bench.home, session=report.session)
        await bench.agent(model).hand_over(bench.home, report.session)
        asked = len(model.requests)
        env = {**os.environ, "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "mine", "HOME": str(bench.state)}
        shell = await asyncio.create_subprocess_exec(
            "sh", "-c", f"{command} -p 'Which word was it?'",
            cwd="/", env=env, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, _ = await asyncio.wait_for(shell.communicate(), 40)

        assert shell.returncode == 0
        assert b"I know" in out
        [by_hand] = model.requests[asked:]
        assert "heron" in "".join(by_hand.said)
        assert "Which word was it?" in by_hand.last_said

        await bench.agent(model).take_back(bench.home, report.session)
        again = await bench.take(model, bench.work(turn=2, prompt="And now?", session=report.session))
        assert again.session == report.session
        assert not again.fresh
        assert "Which word was it?" in "".join(model.requests[-1].said)


def test_there_is_nothing_to_type_before_there_is_a_conversation(bench):
    assert bench.agent().by_hand(folder=bench.folder, home=bench.home, session="") == ""


def test_folders_with_odd_names_are_quoted(bench):
    folder = bench.folder.with_name("it's here")
    command = bench.agent().by_hand(folder=folder, home=bench.home, session="s1")
    assert "cd '" in command
    assert command.endswith("--resume s1")


async def test_a_planning_agent_has_no_tool_to_write_files(bench):
    seen = []

    def play(request):
        seen.append(set(request.tools))
        return (Say("A plan."),)

    async with ScriptedModel(play) as model:
        report = await bench.take(model, bench.work("Only plan.", plan=True))
    assert report.words == "A plan."
    assert not {"Edit", "Write"} & seen[0]
    assert {"Bash", "Read"} <= seen[0]


async def test_a_planning_agent_may_still_look_around(bench):
    steps = ((Use("Bash", {"command": "cat app.py", "description": "Look"}),), (Say("I saw it."),))
    async with ScriptedModel(lambda request: steps[min(request.answers_since_said, 1)]) as model:
        report = await bench.take(model, bench.work("Only plan.", plan=True))
    assert report.words == "I saw it."
