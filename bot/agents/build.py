"""Builds the agent that the settings choose, in its sandbox."""

from bot.agents.claude.agent import ClaudeAgent
from bot.sandbox.interface import Sandbox
from bot.settings.schema import Settings
from bot.system import clock


def build_agent(settings: Settings, sandbox: Sandbox) -> ClaudeAgent:
    return ClaudeAgent(settings.state_dir / "agent", sandbox=sandbox, clock=clock.now)
