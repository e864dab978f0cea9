"""The command that continues an agent's session by hand, with the real program; and the tools of a planning turn."""

import asyncio
import os

from bot.demo.scripted_model import SayText, ScriptedModel, UseTool


async def test_the_printed_command_continues_the_session(scene):
    async with ScriptedModel(lambda request: (SayText(f"I know {len(request.user_texts)} things."),)) as model:
        report = await scene.take(model, scene.task("Remember the word heron."))
        command = scene.agent(model).by_hand(folder=scene.folder, home=scene.home, session=report.session)
        await scene.agent(model).hand_over(scene.home, report.session)
        asked = len(model.requests)
        env = {**os.environ, "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "mine", "HOME": str(scene.state)}
        shell = await asyncio.create_subprocess_exec(
            "sh", "-c", f"{command} -p 'Which word was it?'",
            cwd="/", env=env, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, _ = await asyncio.wait_for(shell.communicate(), 40)

        assert shell.returncode == 0
        assert b"I know" in out
        [by_hand] = model.requests[asked:]
        assert "heron" in "".join(by_hand.user_texts)
        assert "Which word was it?" in by_hand.last_user_text

        await scene.agent(model).take_back(scene.home, report.session)
        again = await scene.take(model, scene.task(turn=2, prompt="And now?", session=report.session))
        assert again.session == report.session
        assert not again.is_new_session
        assert "Which word was it?" in "".join(model.requests[-1].user_texts)


def test_without_a_session_there_is_no_command(scene):
    assert scene.agent().by_hand(folder=scene.folder, home=scene.home, session="") == ""


def test_folders_with_odd_names_are_quoted(scene):
    folder = scene.folder.with_name("it's here")
    command = scene.agent().by_hand(folder=folder, home=scene.home, session="s1")
    assert "cd '" in command
    assert command.endswith("--resume s1")


async def test_a_planning_agent_has_no_tool_to_write_files(scene):
    seen = []

    def play(request):
        seen.append(set(request.tools))
        return (SayText("A plan."),)

    async with ScriptedModel(play) as model:
        report = await scene.take(model, scene.task("Only plan.", plan=True))
    assert report.summary == "A plan."
    assert not {"Edit", "Write"} & seen[0]
    assert {"Bash", "Read"} <= seen[0]


async def test_a_planning_agent_may_run_commands_that_read(scene):
    steps = ((UseTool("Bash", {"command": "cat app.py", "description": "Look"}),), (SayText("I saw it."),))
    async with ScriptedModel(lambda request: steps[min(request.answers_since_user_text, 1)]) as model:
        report = await scene.take(model, scene.task("Only plan.", plan=True))
    assert report.summary == "I saw it."
