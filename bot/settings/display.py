"""Finds out whether a browser can open a window here."""

import os

_VARIABLES = ("DISPLAY", "WAYLAND_DISPLAY")


def has_display() -> bool:
    return any(os.environ.get(name) for name in _VARIABLES)
