"""What the tests of the stand-ins share."""

from tests.fakes.github.fixtures import github

__all__ = ["github"]
