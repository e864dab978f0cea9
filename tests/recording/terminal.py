"""Runs a command in a terminal, and returns the screens that it showed."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyte

INTERVAL = 0.4
"""Seconds between two frames."""
LONGEST = 1.0
"""Longest pause in the recording, in seconds."""
_AT_THE_END = 6.0
_COLOURS = {"brown": "yellow"}
"""Names of pyte that differ from those of terminals."""


@dataclass(frozen=True, slots=True)
class Span:
    """Characters of one line in one style."""

    column: int
    text: str
    style: str
    """Class names of the picture, such as `bold cyan`."""


Line = tuple[Span, ...]
Screen = tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    screen: Screen
    seconds: float


def record(command: Sequence[str], *, env: Mapping[str, str], size: tuple[int, int], shown_as: str) -> Sequence[Frame]:
    """Types `shown_as` at a prompt, then runs the command."""
    columns, rows = size
    screen = _TerminalScreen(columns, rows)
    stream = pyte.ByteStream(screen)
    stream.feed(f"$ {shown_as}\r\n".encode())
    screens = [(_screen(screen), 0.0)]
    for seconds, output in _output(command, env, size):
        stream.feed(output)
        screens.append((_screen(screen), seconds))
    return _frames(screens)


class _TerminalScreen(pyte.Screen):
    """Remembers that characters are dim, which pyte ignores: as italics, which the demo does not use."""

    def select_graphic_rendition(self, *attrs: int, private: bool = False) -> None:
        super().select_graphic_rendition(*(3 if attr == 2 else 23 if attr == 22 else attr for attr in attrs))
        if 22 in attrs:
            super().select_graphic_rendition(22)


def _output(command: Sequence[str], env: Mapping[str, str], size: tuple[int, int]) -> Iterator[tuple[float, bytes]]:
    """Yields everything that the command prints within an interval, and the seconds since the start."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    start = time.monotonic()
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=dict(env), cwd=env["HOME"], start_new_session=True
    )
    os.close(theirs)
    try:
        while output := _read_for(ours, INTERVAL):
            yield time.monotonic() - start, output
        if process.wait(60) != 0:
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}.")
    finally:
        os.close(ours)


def _read_for(terminal: int, seconds: float) -> bytes:
    """Waits for output, then collects what follows within the time; empty at the end."""
    output, until = b"", 0.0
    while not until or (left := until - time.monotonic()) > 0:
        if until and not select.select([terminal], [], [], left)[0]:
            break
        try:
            output += os.read(terminal, 65536)
        except OSError:  # the command has ended
            break
        until = until or time.monotonic() + seconds
    return output


def _frames(screens: Sequence[tuple[Screen, float]]) -> Sequence[Frame]:
    """Leaves out repeated screens."""
    distinct = [
        one for before, one in zip([None, *screens], screens, strict=False) if not before or before[0] != one[0]
    ]
    ends = [seconds for _, seconds in distinct[1:]]
    pauses = [min(max(end - start, INTERVAL), LONGEST) for (_, start), end in zip(distinct, ends, strict=False)]
    return [Frame(screen, pause) for (screen, _), pause in zip(distinct, [*pauses, _AT_THE_END], strict=True)]


def _screen(screen: pyte.Screen) -> Screen:
    return tuple(tuple(_spans(screen, row)) for row in range(screen.lines))


def _spans(screen: pyte.Screen, row: int) -> Iterator[Span]:
    characters = [screen.buffer[row][column] for column in range(screen.columns)]
    start = 0
    for column in range(1, screen.columns + 1):
        if column == screen.columns or _style(characters[column]) != _style(characters[start]):
            text = "".join(character.data for character in characters[start:column])
            if text.strip():
                indent = len(text) - len(text.lstrip())
                yield Span(start + indent, text.strip(), _style(characters[start]))
            start = column


def _style(character: "pyte.screens.Char") -> str:
    colour = "" if character.fg == "default" else _COLOURS.get(character.fg, character.fg)
    names = [colour, "bold" if character.bold else "", "dim" if character.italics else ""]
    return " ".join(filter(None, names))
