"""Several daemons may serve one repository: which of them may act on it."""

from enum import Enum, auto


class Tenure(Enum):
    OURS = auto()
    REGAINED = auto()
    """Ours, and another one's since we last had it: what is remembered here may be old."""
    OTHERS = auto()
