"""A stand-in for GitHub on loopback that behaves like GitHub: `with served(GitHubWorld(folder)) as github:`."""

from tests.fakes.github.repository_actions import GitHubWorld
from tests.fakes.github.server import Call, ServedGitHub, served

__all__ = ["Call", "GitHubWorld", "ServedGitHub", "served"]
