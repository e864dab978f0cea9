"""Body of our pull requests: our section between two markers, people's text around it."""

import re

BEGIN = "<!-- treehand:begin -->"
END = "<!-- treehand:end -->"

_CLOSING = re.compile(
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+((?:[\w.-]+/)?[\w.-]*#\d+|[A-Z]+-\d+)\b", re.IGNORECASE
)


def replace_section(ours: str, *, around: str = "") -> str:
    """Returns the body with our section replaced; the text of people in `around` stays."""
    block = f"{BEGIN}\n{_break_markers(ours)}\n{END}"
    if found := _find_section(around):
        start, end = found
        return around[:start] + block + _remove_section(around[end:])
    theirs = _remove_section(around).strip()
    return f"{block}\n\n{theirs}" if theirs else block


def without_markers(body: str) -> str:
    """Returns the body as readers see it."""
    return body.replace(BEGIN, "").replace(END, "").strip()


def section_of(body: str) -> str:
    """Returns our section; empty if there is none or a marker was deleted."""
    found = _find_section(body)
    return body[found[0] + len(BEGIN) : found[1] - len(END)].strip("\n") if found else ""


def replace_paragraph(ours: str, heading: str, text: str) -> str:
    """Replaces the paragraph with this heading; adds it before the last one if new, removes it if `text` is empty.

    Quoted text never begins with one of our headings, so an agent's words are never replaced.
    """
    paragraphs = ours.split("\n\n")
    at = next((number for number, old in enumerate(paragraphs) if old.startswith(heading)), None)
    if at is None:
        at = max(len(paragraphs) - 1, 0)
    else:
        del paragraphs[at]
    return "\n\n".join([*paragraphs[:at], *([text] if text else []), *paragraphs[at:]])


def closed_issues(body: str) -> tuple[str, ...]:
    """Returns the keys of the issues that merging closes. Quotations and code are ignored."""
    lines = (_without_code(line) for line in body.splitlines() if not line.lstrip().startswith(">"))
    return tuple(dict.fromkeys(match for line in lines for match in _CLOSING.findall(line)))


def _break_markers(text: str) -> str:
    """Prevents an agent's words from ending our section early."""
    return text.replace("<!-- treehand:", "<!-- treehand ")


def _without_code(line: str) -> str:
    from bot.text.prose import divide_by_code  # not for those who only look

    return "`".join(text for text, is_code in divide_by_code(line) if not is_code)


def _find_section(text: str, at: int = 0) -> tuple[int, int] | None:
    """Returns where our section begins and ends, markers included."""
    start = text.find(BEGIN, at)
    end = text.find(END, start + len(BEGIN)) if start >= 0 else -1
    return (start, end + len(END)) if end >= 0 else None


def _remove_section(text: str) -> str:
    kept, at = [], 0
    while found := _find_section(text, at):
        kept.append(text[at : found[0]])
        at = found[1]
    return "".join([*kept, text[at:]]).replace(BEGIN, "").replace(END, "")
