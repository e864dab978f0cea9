"""A stand-in for Linear that behaves as Linear does, on loopback: `with served(LinearWorld()) as linear:`."""

from tests.fakes.linear.server import ServedLinear, served
from tests.fakes.linear.traffic import Call
from tests.fakes.linear.world import LinearWorld

__all__ = ["Call", "LinearWorld", "ServedLinear", "served"]
