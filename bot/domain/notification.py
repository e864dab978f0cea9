"""Notification that people get once, and the delivery state of a channel."""

from dataclasses import dataclass
from enum import StrEnum


class NotificationKind(StrEnum):
    ASKING = "asking"
    REVIEW = "review"
    FAILED = "failed"
    BUDGET = "budget"
    TROUBLE = "trouble"
    """With a service, the machine or a project, not with one run."""


@dataclass(frozen=True, slots=True)
class Notification:
    kind: NotificationKind
    subject: str
    """Id of the run, or name of the health component in trouble."""
    dedup_key: str
    """Deduplication key: one notification is sent per key."""
    at: float
    text: str = ""
    """Reason, for people; may quote the words of others."""
    resolved: bool = False
    """The problem is over."""
    id: int = 0
    """Number of its row; 0 until it is saved."""


@dataclass(frozen=True, slots=True)
class ChannelState:
    """Delivery state, by ids of notifications. One message at a time is on its way and covers a range of them."""

    id: str
    delivered: int = 0
    """Id of the last notification that was sent or skipped."""
    sending: int = 0
    """Id of the last notification of the message under way, or under way when the daemon died; 0: none."""
    unconfirmed: int = 0
    """Id of the last notification of a message with an unknown result; it is repeated and marked so."""
    attempts: int = 0
    """Failed attempts in a row."""
    not_before: float = 0.0
    problem: str = ""
    """Reason of the last failure; empty if the last message was delivered."""
    sent: int = 0
    failed: int = 0
