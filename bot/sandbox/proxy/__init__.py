"""The gate: the only way out of a sandbox, on the host's side."""

from bot.sandbox.proxy.grant import Passage, Passport, Upstream
from bot.sandbox.proxy.server import Gate

__all__ = ["Gate", "Passage", "Passport", "Upstream"]
