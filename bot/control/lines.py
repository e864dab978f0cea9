"""What a program prints, line by line, though it comes in pieces. Pure.

Rule: what has no line ends is not waited for: a piece of it is a line, too.
"""

import codecs
from collections.abc import Sequence

_LONG = 10_000


class Lines:
    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._rest = ""

    def more(self, data: bytes) -> Sequence[str]:
        """Those that are whole now."""
        *lines, self._rest = (self._rest + self._decoder.decode(data)).split("\n")
        if len(self._rest) > _LONG:
            lines.append(self._rest)
            self._rest = ""
        return [line.rstrip("\r") for line in lines]

    def last(self) -> Sequence[str]:
        """What nobody ended."""
        rest, self._rest = self._rest, ""
        return [rest] if rest else []
