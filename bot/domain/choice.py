"""What people may choose for a run, and how its labels say so: `ai:plan`, `ai:model=NAME`, `ai:agent=NAME`."""

import re
from collections.abc import Collection

MODEL_NAME = re.compile(r"[A-Za-z0-9][\w.:@/\[\]-]{0,99}", re.ASCII)
"""What the name of a model looks like; whether there is one, only its service knows."""
AGENTS = ("claude",)


def wants_plan(labels: Collection[str], label: str) -> bool:
    return f"{label}:plan" in labels


def models_in(labels: Collection[str], label: str) -> tuple[str, ...]:
    return _named(labels, f"{label}:model=")


def agents_in(labels: Collection[str], label: str) -> tuple[str, ...]:
    return _named(labels, f"{label}:agent=")


def _named(labels: Collection[str], prefix: str) -> tuple[str, ...]:
    return tuple(sorted(label.removeprefix(prefix).strip() for label in labels if label.startswith(prefix)))
