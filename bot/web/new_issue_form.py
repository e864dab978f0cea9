"""New issue form: parses the typed text and options into issues. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.domain.issue import NewIssue

MOST_ISSUES = 50
"""Limit of one form."""
_DIRECTIVES = {"owns": "Owns: ", "forbids": "Forbids: ", "blocked": "Blocked by ", "base": "Base: "}
"""Directive in the issue's body, by field of the form."""


@dataclass(frozen=True, slots=True)
class NewIssueForm:
    project: str = ""
    work: str = ""
    each_line: bool = False
    """Makes an issue of every line."""
    labels: str = ""
    owns: str = ""
    forbids: str = ""
    blocked: str = ""
    base: str = ""
    plan: bool = False
    begin: bool = True
    """Adds the label that starts a run."""


def parse_form(fields: Mapping[str, str]) -> NewIssueForm:
    values = {name: fields.get(name, "").replace("\r\n", "\n").strip() for name in NewIssueForm.__dataclass_fields__}
    texts = {name: values[name] for name in ("project", "work", "labels", *_DIRECTIVES)}
    return NewIssueForm(
        **texts, each_line=bool(values["each_line"]), plan=bool(values["plan"]), begin=bool(values["begin"])
    )


def issues_in(form: NewIssueForm, label: str) -> list[NewIssue]:
    labels = _labels(form, label)
    blocks = form.work.split("\n") if form.each_line else _blocks(form.work)
    parts = (block.strip().partition("\n") for block in blocks if block.strip())
    return [NewIssue(form.project, title.strip(), _body(body, form), labels) for title, _, body in parts]


def text_of(issues: Sequence[NewIssue], form: NewIssueForm) -> str:
    """Turns issues that are not filed yet back into the typed text."""
    separator = "\n" if form.each_line else "\n---\n"
    directives = _directives(form).strip()
    return separator.join(f"{issue.title}\n{issue.body.removesuffix(directives).strip()}".strip() for issue in issues)


def _blocks(work: str) -> list[str]:
    """Splits at lines of three or more dashes."""
    blocks, lines = list[str](), list[str]()
    for line in [*work.split("\n"), "---"]:
        if len(line.strip()) >= len("---") and not line.strip().strip("-"):
            blocks.append("\n".join(lines))
            lines = []
        else:
            lines.append(line)
    return blocks


def _labels(form: NewIssueForm, label: str) -> tuple[str, ...]:
    ours = ([label] if form.begin else []) + ([f"{label}:plan"] if form.plan else [])
    others = [part.strip() for part in form.labels.replace("\n", ",").split(",") if part.strip()]
    return tuple(dict.fromkeys([*ours, *others]))


def _body(body: str, form: NewIssueForm) -> str:
    return f"{body.strip()}{_directives(form)}".strip()


def _directives(form: NewIssueForm) -> str:
    values = ((directive, getattr(form, name)) for name, directive in _DIRECTIVES.items())
    lines = "\n".join(f"{directive}{_on_one_line(value)}" for directive, value in values if value)
    return f"\n\n{lines}" if lines else ""


def _on_one_line(text: str) -> str:
    return ", ".join(part.strip(" ,") for part in text.split("\n") if part.strip(" ,"))
