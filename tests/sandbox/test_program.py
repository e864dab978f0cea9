"""The agent's real program behind the proxy: it works, and never gets the key."""

import asyncio
import json
import os
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path

import claude_agent_sdk
import pytest

from bot.demo.scripted_model import SayText, ScriptedModel, UseTool
from bot.sandbox.proxy.grant import Grant, ModelUpstream, UsedUp
from bot.sandbox.proxy.server import SandboxProxy
from tests.sandbox.fake_network import KEY, TOKEN

PROGRAM = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"


async def pumped(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


@asynccontextmanager
async def port_of(socket: Path):
    """Opens a port that leads to the socket, like the first program in a sandbox."""

    async def through(reader, writer):
        far_reader, far_writer = await asyncio.open_unix_connection(str(socket))
        await asyncio.gather(pumped(reader, far_writer), pumped(far_reader, writer), return_exceptions=True)

    server = await asyncio.start_server(through, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


class Agent:
    """The program in its own folder, with the variables of a sandbox."""

    def __init__(self, folder: Path, model: ScriptedModel, variable: str = "ANTHROPIC_API_KEY"):
        self.folder, self.variable = folder, variable
        header = {"x-api-key": KEY} if variable == "ANTHROPIC_API_KEY" else {"authorization": f"Bearer {KEY}"}
        self.proxy = SandboxProxy(ModelUpstream(model.url, header))
        self.usage = None

    async def run(self, name: str = "", **grant) -> dict:
        """Returns the result that the program prints."""
        worktree = self.folder / "worktree"
        worktree.mkdir()
        socket = self.folder / "proxy"
        async with (
            self.proxy.open(socket, Grant(TOKEN, model=name, **grant)) as self.usage,
            port_of(socket) as port,
        ):
            process = await asyncio.create_subprocess_exec(
                PROGRAM, "-p", "Do it.", "--output-format", "json", "--tools", "Bash", "--strict-mcp-config",
                "--setting-sources", "", "--permission-mode", "bypassPermissions",
                *(["--model", name] if name else []),
                env=self.environment(port), cwd=worktree, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            )  # fmt: skip
            printed, _ = await process.communicate()
        return json.loads(printed)

    def environment(self, port: int) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "IS_SANDBOX": "1",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
            self.variable: TOKEN,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
        }


def play(request):
    return (UseTool("Bash", {"command": "echo here"}),) if not request.answers_since_user_text else (SayText("Done."),)


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"])
async def test_the_program_works_with_any_kind_of_key_and_gets_none(tmp_path, variable):
    async with ScriptedModel(play) as model:
        agent = Agent(tmp_path, model, variable)
        result = await agent.run()

    assert (result["is_error"], result["result"]) == (False, "Done.")
    assert {key.removeprefix("Bearer ") for key in model.keys} == {KEY}
    assert agent.usage.refusals == ()
    told = result["usage"]
    assert agent.usage.tokens == sum(
        told[name]
        for name in ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    )


@pytest.mark.parametrize("name", ["sonnet", "sonnet[1m]", "opusplan", "claude-opus-4-1-20250805", "gateway-model"])
async def test_the_program_requests_only_the_model_it_was_given(tmp_path, name):
    async with ScriptedModel(play) as model:
        agent = Agent(tmp_path, model)
        result = await agent.run(name)

    assert result["is_error"] is False
    assert agent.usage.refusals == ()


async def test_the_program_ends_soon_when_its_tokens_are_exhausted(tmp_path):
    async with ScriptedModel(lambda _: (UseTool("Bash", {"command": "true"}),)) as model:
        agent = Agent(tmp_path, model)
        result = await agent.run(max_tokens=20_000)

    assert result["is_error"] is True
    assert result["api_error_status"] == 429
    assert "token budget of this run is used up" in result["result"]
    assert agent.usage.used_up is UsedUp.TOKENS
    assert agent.usage.tokens > 0
    assert len(model.requests) < 20
