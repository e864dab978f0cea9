"""A stand-in for GitHub that behaves as GitHub does, on loopback: `with served(GitHubWorld(folder)) as github:`."""

from tests.fakes.github.on_repositories import GitHubWorld
from tests.fakes.github.server import Call, ServedGitHub, served

__all__ = ["Call", "GitHubWorld", "ServedGitHub", "served"]
