"""A stand-in for Linear on loopback that behaves like Linear: `with served(LinearWorld()) as linear:`."""

from tests.fakes.linear.server import ServedLinear, served
from tests.fakes.linear.traffic import Call
from tests.fakes.linear.world import LinearWorld

__all__ = ["Call", "LinearWorld", "ServedLinear", "served"]
