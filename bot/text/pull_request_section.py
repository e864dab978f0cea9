"""Body of our pull requests: our section between two markers, people's text around it."""

import re

BEGIN = "<!-- treehand:begin -->"
END = "<!-- treehand:end -->"

_SECTION = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
_CODE = re.compile(r"(`+)[^`\n]+\1")
_CLOSING = re.compile(
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+((?:[\w.-]+/)?[\w.-]*#\d+|[A-Z]+-\d+)\b", re.IGNORECASE
)


def replace_section(ours: str, *, around: str = "") -> str:
    """Returns the body with our section replaced; the text of people in `around` stays."""
    block = f"{BEGIN}\n{_break_markers(ours)}\n{END}"
    if _SECTION.search(around):
        before, after = _SECTION.split(around, maxsplit=1)
        return before + block + _remove_section(after)
    theirs = _remove_section(around).strip()
    return f"{block}\n\n{theirs}" if theirs else block


def without_markers(body: str) -> str:
    """Returns the body as readers see it."""
    return body.replace(BEGIN, "").replace(END, "").strip()


def section_of(body: str) -> str:
    """Returns our section; empty if there is none or a marker was deleted."""
    found = _SECTION.search(body)
    return found.group()[len(BEGIN) : -len(END)].strip("\n") if found else ""


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
    lines = (_CODE.sub("`", line) for line in body.splitlines() if not line.lstrip().startswith(">"))
    return tuple(dict.fromkeys(match for line in lines for match in _CLOSING.findall(line)))


def _break_markers(text: str) -> str:
    """Prevents an agent's words from ending our section early."""
    return text.replace("<!-- treehand:", "<!-- treehand ")


def _remove_section(text: str) -> str:
    return _SECTION.sub("", text).replace(BEGIN, "").replace(END, "")
