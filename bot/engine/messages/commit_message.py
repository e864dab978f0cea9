"""Commit messages. Pure text in, text out."""

from collections.abc import Sequence

from bot.domain.comment import Comment
from bot.domain.issue import Issue, Person
from bot.domain.run import Run
from bot.text.quote_untrusted import plain_label


def commit_message(run: Run, issue: Issue, comments: Sequence[Comment], fallback: str = "") -> str:
    """One commit per turn. Names the issue or the latest comment, and the person who asked."""
    latest = first_line(_own_words(comments[-1].text)) if comments and run.turns.number else ""
    subject = plain_label(latest or fallback or issue.title) or f"Resolve {issue.key}"
    person = comments[-1].author if comments and run.turns.number else issue.requester
    return f"{subject}\n\n{issue.key}\n\n{_with(person)}"


def _own_words(text: str) -> str:
    """The text without what it quotes from others."""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(">"))


def given_message(run: Run, person: Person) -> str:
    return f"Changes by {plain_label(person.name) or 'somebody'}\n\n{run.key}\n\n{_with(person)}"


def _with(person: Person) -> str:
    name = plain_label(person.name) or "somebody"
    email = plain_label(person.email) or "noreply@localhost"
    return f"Co-authored-by: {name} <{email}>"


def first_line(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 200 else f"{line[:200]} …"  # noqa: PLR2004 - enough to recognise it
