"""Draws frames of a terminal as one animated SVG: no script, no font, no address; each distinct line is drawn once."""

from collections.abc import Iterator, Sequence
from html import escape

from tests.recording.terminal import Frame, Line, Span

_WIDTH, _HEIGHT, _SIZE = 8.4, 19, 14
"""Of a character, of a line, and of the font, in pixels."""
_MARGIN, _BAR = 16, 34
_BUTTONS = ("#ff5f57", "#febc2e", "#28c840")
_STYLE = """
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;
fill:#e6edf3;white-space:pre}
.bold{font-weight:700}.dim{fill:#9ba5b0}.cyan{fill:#56d4dd}.yellow{fill:#e3b341}.magenta{fill:#d2a8ff}
.green{fill:#7ee787}.red{fill:#ffa198}
"""


def draw(frames: Sequence[Frame], *, columns: int, rows: int) -> str:
    width, height = round(columns * _WIDTH) + 2 * _MARGIN, rows * _HEIGHT + _BAR + _MARGIN
    lines = {line: f"l{number}" for number, line in enumerate(dict.fromkeys(_lines(frames)))}
    return "".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n',
        f"<style>{_STYLE}{_motion(frames, rows * _HEIGHT)}</style>\n",
        "<defs>\n",
        *(f'<g id="{name}">{"".join(map(_span, line))}</g>\n' for line, name in lines.items()),
        "</defs>\n",
        f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117" stroke="#6e7681"/>\n',
        *(f'<circle cx="{20 + 20 * n}" cy="18" r="6" fill="{colour}"/>\n' for n, colour in enumerate(_BUTTONS)),
        f'<svg x="{_MARGIN}" y="{_BAR}" width="{width - 2 * _MARGIN}" height="{rows * _HEIGHT}"><g class="film">\n',
        *(_frame(frame, lines, number * rows * _HEIGHT) for number, frame in enumerate(frames)),
        "</g></svg>\n</svg>\n",
    ])  # fmt: skip


def _lines(frames: Sequence[Frame]) -> Iterator[Line]:
    return (line for frame in frames for line in frame.screen if line)


def _span(span: Span) -> str:
    style = f' class="{span.style}"' if span.style else ""
    x, length = round(span.column * _WIDTH, 1), round(len(span.text) * _WIDTH, 1)
    return f'<text x="{x:g}" y="{_SIZE}" textLength="{length:g}"{style}>{escape(span.text, quote=False)}</text>'


def _frame(frame: Frame, lines: dict[Line, str], top: int) -> str:
    uses = (f'<use href="#{lines[line]}" y="{top + row * _HEIGHT}"/>' for row, line in enumerate(frame.screen) if line)
    return "".join(uses) + "\n"


def _motion(frames: Sequence[Frame], height: int) -> str:
    """Moves the film by one frame at a time; people who prefer no motion see the last frame."""
    total, now, steps = sum(frame.seconds for frame in frames), 0.0, []
    for number, frame in enumerate(frames):
        steps.append(f"{100 * now / total:.2f}%{{transform:translateY({-number * height}px)}}")
        now += frame.seconds
    last = f"transform:translateY({-(len(frames) - 1) * height}px)"
    return (
        f"\n.film{{animation:film {total:.1f}s steps(1,end) infinite}}\n@keyframes film{{{''.join(steps)}}}\n"
        f"@media(prefers-reduced-motion:reduce){{.film{{animation:none;{last}}}}}\n"
    )
