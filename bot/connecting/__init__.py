"""How services are reached, by which settings; and who may act there."""

from bot.connecting.github import OURS, Connections, claim_at, holder_in_words, is_installed, on_github
from bot.connecting.linear import on_linear, team_findings

__all__ = [
    "OURS",
    "Connections",
    "claim_at",
    "holder_in_words",
    "is_installed",
    "on_github",
    "on_linear",
    "team_findings",
]
