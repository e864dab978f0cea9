"""Progress comment of a run. Pure text in, text out."""

from collections.abc import Sequence
from urllib.parse import quote

from bot.domain.policy import Policy
from bot.domain.price import why_guessed
from bot.domain.pull_request import PullRequest
from bot.domain.run import MERGED, Phase, Run
from bot.domain.turn import Progress, Todo, TurnReport, TurnState
from bot.engine.messages import ci_approval_comment, unshown_comment, verification_text
from bot.engine.observation import Observation
from bot.text.money import dollars
from bot.text.quote_untrusted import code_span, neutralize_line

HEADLINES = {
    Phase.QUEUED: "⏳ **Queued**",
    Phase.WORKING: "🛠️ **Working**",
    Phase.REVIEW: "👀 **In review**",
    Phase.ASKING: "🙋 **Needs you**",
    Phase.DONE: "✅ **Done**",
}


def progress(run: Run, seen: Observation, policy: Policy) -> str:
    """The one comment on the issue that is edited in place."""
    working = run.phase is Phase.WORKING
    parts = [
        headline(run),
        _at_work(seen.turn) if working and seen.turn.state is TurnState.RUNNING else "",
        _pull_request(run, seen.pull_request, policy) if seen.pull_request else "",
        verification_text.in_short(run.checks.verification) if run.phase is Phase.REVIEW else "",
        ci_approval_comment.waits(policy)
        if run.checks.ci_held_at and run.phase in {Phase.REVIEW, Phase.ASKING}
        else "",
        spent_so_far(run, seen),
        _guessed(run, seen),
        _left_out(seen.hidden_passages),
        _not_shown(run),
        "" if policy.sandboxed else "_The agent runs without a sandbox._",
        "" if run.phase is Phase.DONE else f"_Comment to steer; `/{policy.label} help` lists the commands._",
    ]
    return "\n\n".join(part for part in parts if part)


def pull_address(run: Run, pull: PullRequest, policy: Policy) -> str:
    """A pull request that is kept here is on the page of its run. Returns an empty string if nobody can open that."""
    page = f"{policy.dashboard}/runs/{quote(run.key, safe='')}" if policy.dashboard else ""
    return pull.url or page


def _pull_request(run: Run, pull: PullRequest, policy: Policy) -> str:
    return f"Pull request: {pull_address(run, pull, policy) or f'#{pull.number}'}"


def _left_out(hidden: int) -> str:
    """Says how many hidden passages were removed from the agent's prompt; people cannot see them either."""
    if not hidden:
        return ""
    passages = "1 hidden passage was" if hidden == 1 else f"{hidden} hidden passages were"
    return f"{passages} removed from the text that the agent reads."


def _not_shown(run: Run) -> str:
    return "\n".join(unshown_comment.not_shown(one) for one in run.unshown if unshown_comment.is_reported(one))


def headline(run: Run) -> str:
    """A run without the result that was hoped for has ended, and is not done."""
    has_ended = run.phase is Phase.DONE and run.reason != MERGED
    return f"{'⏹️ **Ended**' if has_ended else HEADLINES[run.phase]}{because(run.reason)}"


def because(reason: str) -> str:
    return f": {neutralize_line(reason)}" if reason else ""


def _at_work(turn: TurnReport) -> str:
    lines = [f"Now: {neutralize_line(turn.progress.action)}"] if turn.progress.action else []
    return "\n".join([*lines, *map(_todo, turn.progress.todos)])


def _todo(todo: Todo) -> str:
    return f"- [{'x' if todo.done else ' '}] {neutralize_line(todo.text)}{' ⬅' if todo.active else ''}"


def spent_so_far(run: Run, seen: Observation) -> str:
    if not run.turns.number:
        return ""
    now = seen.turn.progress if run.has_turn_in_flight else Progress()
    usd, tokens = run.spend.usd + (now.usd or 0.0), run.spend.tokens + now.tokens
    # a run that waits for people shows no running clock: its comment would be rewritten every minute, for days
    until = seen.now if run.phase is Phase.WORKING else run.changed_at
    minutes = int((until - run.begun_at) / 60)
    facts = [f"turn {run.turns.number}", dollars(usd), f"{tokens:,} tokens"]
    return " · ".join([*facts, *([f"{minutes} min"] if minutes else [])])


def _guessed(run: Run, seen: Observation) -> str:
    model = (seen.turn.progress.unpriced if run.has_turn_in_flight else "") or run.spend.unpriced
    return f"_The cost is {why_guessed(code_span(model))}._" if model else ""


def which_repository(labels: Sequence[str]) -> str:
    named = ", ".join(code_span(label) for label in labels)
    question = "Treehand cannot tell which repository this issue is about."
    return f"{HEADLINES[Phase.ASKING]}: {question}\n\nAdd one of these labels: {named}."
