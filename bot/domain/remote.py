"""Where a repository is reached."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Remote:
    """Where git fetches from and pushes to, with credentials that are good right now."""

    url: str
    env: Mapping[str, str] = field(default_factory=dict)
    here: bool = False  # on this machine: nothing is safer there
