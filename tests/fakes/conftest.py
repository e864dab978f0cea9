"""Fixtures for tests of the stand-ins."""

from tests.fakes.github.fixtures import github

__all__ = ["github"]
