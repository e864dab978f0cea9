"""The body of our pull requests: our part stands between two markers, everything around it belongs to people."""

import re

BEGIN = "<!-- treehand:begin -->"
END = "<!-- treehand:end -->"

_OURS = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
_CODE = re.compile(r"(`+)[^`\n]+\1")
_CLOSING = re.compile(
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+((?:[\w.-]+/)?[\w.-]*#\d+|[A-Z]+-\d+)\b", re.IGNORECASE
)


def body_with(ours: str, *, around: str = "") -> str:
    """The whole body: what people wrote in `around` stays, what we wrote there before makes way."""
    block = f"{BEGIN}\n{_defused(ours)}\n{END}"
    if _OURS.search(around):
        before, after = _OURS.split(around, maxsplit=1)
        return before + block + _without_markers(after)
    theirs = _without_markers(around).strip()
    return f"{block}\n\n{theirs}" if theirs else block


def shown(body: str) -> str:
    """The whole body as it is read, without the markers."""
    return body.replace(BEGIN, "").replace(END, "").strip()


def ours_in(body: str) -> str:
    """Our part of a whole body; empty: there is none, or people took a marker away."""
    found = _OURS.search(body)
    return found.group()[len(BEGIN) : -len(END)].strip("\n") if found else ""


def with_paragraph(ours: str, heading: str, text: str) -> str:
    """Our part with this text for the paragraph of that heading; before the last one if it is new, none if empty.

    What is quoted never begins with a heading of ours, so an agent's words stay what they are.
    """
    paragraphs = ours.split("\n\n")
    at = next((number for number, old in enumerate(paragraphs) if old.startswith(heading)), None)
    if at is None:
        at = max(len(paragraphs) - 1, 0)
    else:
        del paragraphs[at]
    return "\n\n".join([*paragraphs[:at], *([text] if text else []), *paragraphs[at:]])


def closed_by(body: str) -> tuple[str, ...]:
    """Keys of the issues that merging this closes. Quotations and code do not count: they may be anybody's words."""
    lines = (_CODE.sub("`", line) for line in body.splitlines() if not line.lstrip().startswith(">"))
    return tuple(dict.fromkeys(match for line in lines for match in _CLOSING.findall(line)))


def _defused(text: str) -> str:
    """An agent's words must not end our part early."""
    return text.replace("<!-- treehand:", "<!-- treehand ")


def _without_markers(text: str) -> str:
    return _OURS.sub("", text).replace(BEGIN, "").replace(END, "")
