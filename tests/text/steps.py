"""Counts the lines of Python that a call runs: the same on every machine and at any load."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps_of(call: Callable[[], object]) -> int:
    steps = 0

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal steps
        steps += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        call()
    finally:
        sys.settrace(before)
    return steps
