"""Fixtures of the refusal tables."""

from tests.fakes.github.fixtures import github
from tests.fakes.linear.fixtures import linear

__all__ = ["github", "linear"]
