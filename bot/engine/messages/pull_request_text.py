"""Title and body of a pull request. Pure text in, text out.

Rule: facts and claims are kept apart: measurements of the host stand as such, words of the agent are quoted.
"""

from bot.domain.change import Change
from bot.domain.issue import Issue
from bot.domain.price import why_guessed
from bot.domain.run import Run
from bot.domain.turn import TurnReport
from bot.engine.messages import blocked_work, checks_text, verification_text
from bot.engine.messages.journal import refusal
from bot.text.money import dollars
from bot.text.quote_untrusted import code_span, neutralize_line, plain_line, quote, short_label

_FILES_LISTED = 20


def pull_request_title(issue: Issue) -> str:
    return plain_line(issue.title) or issue.key


def pull_request_body(run: Run, turn: TurnReport) -> str:
    parts = [
        f"Closes {run.key}",
        f"**Summary by the agent**\n\n{quote(turn.summary)}" if turn.summary.strip() else "",
        f"**Measured by Treehand**\n\n{_measured(run, turn.change)}",
        verification_text.of_verification(run),
        checks_text.of_evidence(run, turn),
        "_Comment here, or on the issue, to steer. When you merge, Treehand cleans up._",
    ]
    return "\n\n".join(part for part in parts if part)


def _measured(run: Run, change: Change | None) -> str:
    files = change.files if change else ()
    rows = [f"| {code_span(file.path)} | +{file.added} | −{file.removed} |" for file in files[:_FILES_LISTED]]
    more = [f"| … {len(files) - _FILES_LISTED} more | | |"] if len(files) > _FILES_LISTED else []
    left_out = [f"- left out: {neutralize_line(what)}" for what in (change.left_out if change else ())[:_FILES_LISTED]]
    allowed = [
        f"- approved by {short_label(one.by)}: {blocked_work.objection(one.objection)}"
        for one in run.hold.allowed[-_FILES_LISTED:]
    ]
    refused = [f"- {refusal(neutralize_line(what))}" for what in run.refusals]
    table = ["| File | Added | Removed |", "|---|---|---|", *rows, *more, ""]
    turns, spend = run.turns.number, run.spend
    cost = f"{turns} turn{'s' if turns != 1 else ''}, {dollars(spend.usd)}, {spend.tokens:,} tokens"
    guessed = f"; {why_guessed(code_span(spend.unpriced))}" if spend.unpriced else ""
    return "\n".join([*(table if files else []), *left_out, *allowed, *refused, f"{cost}{guessed}"])
