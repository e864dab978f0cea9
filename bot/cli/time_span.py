"""Time spans as people type and read them: `90s`, `10m`, `2h`, `3d`."""

_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_MOST_DIGITS = 9


def parse_time_span(text: str) -> float:
    """Returns seconds; a number without a unit means seconds. Raises ValueError."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in _SECONDS else (text, "s")
    return float(parse_count(number) * _SECONDS[unit])


def parse_count(text: str) -> int:
    """Raises ValueError unless the text consists of at most nine ASCII digits."""
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise ValueError(text)
    return int(text)


def format_age(seconds: float) -> str:
    """Returns whole days, hours, minutes or seconds, rounded down: `3h`."""
    for unit, length in _SECONDS.items():
        if seconds >= length:
            return f"{int(seconds // length)}{unit}"
    return "0s"
