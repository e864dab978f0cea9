"""The gate: the only way out of a sandbox, on the host's side."""

from bot.sandbox.gate.door import Gate
from bot.sandbox.gate.passport import Passage, Passport, Upstream

__all__ = ["Gate", "Passage", "Passport", "Upstream"]
