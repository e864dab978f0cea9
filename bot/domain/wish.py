"""Work that somebody wants, before there is an issue about it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wish:
    project: str
    title: str
    body: str = ""
    labels: tuple[str, ...] = ()
