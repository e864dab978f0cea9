"""Every sentence the bot says to people. Pure text in, text out.

Facts and claims are kept apart: what the host measured stands as such, what the agent says is quoted as the agent's.
"""

from collections.abc import Sequence

from bot.domain.change import Change, Objection
from bot.domain.command import MEANINGS, CommandName
from bot.domain.comment import Comment, Heard, Outcome
from bot.domain.issue import Edit, Issue, Person
from bot.domain.policy import Policy
from bot.domain.run import Phase, Run
from bot.domain.spend import Spent
from bot.domain.turn import Todo, TurnReport, TurnState
from bot.engine.messages import checks as facts
from bot.engine.observation import Observation
from bot.text.quote_untrusted import code, inline, line, plain, quote, short

_HEADLINES = {
    Phase.QUEUED: "⏳ **Queued**",
    Phase.WORKING: "🛠️ **Working**",
    Phase.REVIEW: "👀 **In review**",
    Phase.ASKING: "🙋 **Needs you**",
    Phase.DONE: "✅ **Done**",
}

_FILES_LISTED = 20


def progress(run: Run, seen: Observation, policy: Policy) -> str:
    """The one comment on the issue that is edited in place."""
    working = run.phase is Phase.WORKING
    parts = [
        f"{_HEADLINES[run.phase]}{_because(run.reason)}",
        _at_work(seen.turn) if working and seen.turn.state is TurnState.RUNNING else "",
        f"Pull request: {seen.pull_request.url or f'#{seen.pull_request.number}'}" if seen.pull_request else "",
        _so_far(run, seen),
        _left_out(seen.hidden),
        "" if policy.sandboxed else "_The agent runs without a sandbox here._",
        "" if run.phase is Phase.DONE else f"_Comment to steer; `/{policy.label} help` lists the commands._",
    ]
    return "\n\n".join(part for part in parts if part)


def _left_out(hidden: int) -> str:
    """People are told what an agent is not: something they do not see either."""
    if not hidden:
        return ""
    passages = "1 hidden passage was" if hidden == 1 else f"{hidden} hidden passages were"
    return f"{passages} left out of what the agent reads."


def _because(reason: str) -> str:
    return f": {line(reason)}" if reason else ""


def _at_work(turn: TurnReport) -> str:
    lines = [f"Now: {line(turn.progress.doing)}"] if turn.progress.doing else []
    return "\n".join([*lines, *map(_todo, turn.progress.todos)])


def _todo(todo: Todo) -> str:
    return f"- [{'x' if todo.done else ' '}] {line(todo.text)}{' ⬅' if todo.active else ''}"


def _so_far(run: Run, seen: Observation) -> str:
    if not run.turn:
        return ""
    in_flight = run.phase is Phase.WORKING and run.ended < run.turn
    tokens = run.tokens + (seen.turn.progress.tokens if in_flight else 0)
    # what waits for people shows no running clock: it would be rewritten every minute, for days
    until = seen.now if run.phase is Phase.WORKING else run.changed_at
    minutes = int((until - run.begun_at) / 60)
    facts = [f"turn {run.turn}", f"${run.spent_usd:.2f}", f"{tokens:,} tokens"]
    return " · ".join([*facts, *([f"{minutes} min"] if minutes else [])])


def asks(reason: str, policy: Policy, *, a_reply_does: bool = True) -> str:
    reply = "Reply here and I will go on. " if a_reply_does else ""
    return f"{reason}\n\n{reply}`/{policy.label} help` lists what else you can do."


def asked_by_stranger(person: Person, policy: Policy) -> str:
    return (
        f"{short(person.name)} put the label `{policy.label}` on, but may not steer here, so I wait.\n\n"
        f"Somebody who may can say `/{policy.label} approve`, or take the label off and put it on again."
    )


def edited_by_stranger(edit: Edit, policy: Policy) -> str:
    changed = f"{short(edit.by.name)} changed this issue after it was asked for, but may not steer here."
    accept = f"`/{policy.label} approve` accepts it as it reads now"
    if edit.original_known:
        before = f"`/{policy.label} resume` goes on with what it said before"
        return f"{changed}\n\nI do not use the change. {accept}; {before}."
    return (
        f"{changed}\n\nI do not know what it said before, so I use neither. {accept}; so does taking the label off and "
        "putting it on again."
    )


def changed_since(vouched: str, policy: Policy) -> str:
    changed = f"The request has changed since {short(vouched)} approved it."
    return f"{changed}\n\n`/{policy.label} approve` accepts it as it reads now."


def changed_again() -> str:
    return "It is not any more as it was when I asked. I ask again: have another look, please."


def approved(by: str) -> str:
    return f"Approved by {short(by)}. Going on as soon as there is a free slot."


def left_aside() -> str:
    return "Going on with what was asked for; the change is left aside."


def which_repository(labels: Sequence[str]) -> str:
    named = ", ".join(code(label) for label in labels)
    asked = "I do not know which repository this is about."
    return f"{_HEADLINES[Phase.ASKING]}: {asked}\n\nPut one of these labels on: {named}."


def asks_for_key(detail: str) -> str:
    return (
        f"The model refuses our key: {line(detail)}\n\nNothing new is started until that is mended. "
        "Check `ANTHROPIC_API_KEY` (or `CLAUDE_CODE_OAUTH_TOKEN`) and start treehand again. "
        "I also try again every few minutes."
    )


def found_again() -> str:
    return "my memory of this was lost, so I read everything anew and go on from the pull request"


def over_budget(spent: float, allowed: float, policy: Policy) -> str:
    return _over(f"cost ${spent:.2f} of the ${allowed:.2f} it may cost", f"{allowed * 2:.0f}", policy)


def over_tokens(spent: int, allowed: int, policy: Policy) -> str:
    more = f"{_millions(allowed * 2)}M tokens"
    return _over(f"used {spent:,} of the {allowed:,} tokens it may use", more, policy)


def over_turns(spent: int, allowed: int, policy: Policy) -> str:
    return _over(f"taken {spent} of the {allowed} turns it may take", f"{allowed * 2} turns", policy)


def over_time(spent: float, allowed: float, policy: Policy) -> str:
    more = f"{allowed / 1800:.3g} hours"
    return _over(f"kept agents at work for {_hours(spent)} of the {_hours(allowed)} it may take", more, policy)


def _over(what: str, more: str, policy: Policy) -> str:
    allow, stop = f"`/{policy.label} budget {more}`", f"`/{policy.label} stop`"
    return f"This issue has {what}. Allow more with {allow}, or stop with {stop}."


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.3g} hours"


def _millions(tokens: int) -> int:
    return max(tokens // 1_000_000, 1)


def which_budget(policy: Policy) -> str:
    *most, last = (f"`/{policy.label} budget {one}`" for one in ("10", "50M tokens", "150 turns", "30 hours"))
    return (
        "Say how many dollars this issue may cost in all, or how many tokens, turns or hours it may take: "
        f"{', '.join(most)} or {last}."
    )


def budget_allowed(allowed: Spent, spent: Spent) -> str:
    money = f"cost ${allowed.usd:.2f} in all; ${spent.usd:.2f} are spent" if allowed.usd else ""
    tokens = f"use {allowed.tokens:,} tokens in all; {spent.tokens:,} are used" if allowed.tokens else ""
    turns = f"take {allowed.turns} turns in all; {spent.turns} are taken" if allowed.turns else ""
    time = f"take {_hours(allowed.seconds)} in all; {_hours(spent.seconds)} are over" if allowed.seconds else ""
    return " ".join(f"This issue may now {part}." for part in (money, tokens, turns, time) if part)


def nothing_changed(words: str) -> str:
    said = f" It said:\n\n{quote(words)}" if words.strip() else ""
    return f"The agent finished without changing any file, so there is nothing to offer yet.{said}"


def question(text: str) -> str:
    return f"The agent asks:\n\n{quote(text)}"


def gave_up(failures: int, detail: str) -> str:
    times = "once" if failures == 1 else f"{failures} times in a row"
    return f"The turn failed {times}. The last time: {line(detail)}"


def met_a_bug(kind: str) -> str:
    return f"I met a bug of my own ({kind}) and left this alone. The log has more; `retry` tries again."


def session_lost() -> str:
    return "The agent's earlier conversation was gone, so I briefed it again with the whole thread."


def pull_request_title(issue: Issue) -> str:
    return plain(issue.title) or issue.key


def pull_request_body(run: Run, turn: TurnReport) -> str:
    parts = [
        f"Closes {run.key}",
        f"**What the agent says**\n\n{quote(turn.words)}" if turn.words.strip() else "",
        f"**What was measured**\n\n{_measured(run, turn.change)}",
        facts.of_verification(run),
        facts.of_evidence(run, turn),
        "_Comment here, or on the issue, to steer. Merge, and everything is tidied away._",
    ]
    return "\n\n".join(part for part in parts if part)


def _measured(run: Run, change: Change | None) -> str:
    files = change.files if change else ()
    rows = [f"| {code(file.path)} | +{file.added} | −{file.removed} |" for file in files[:_FILES_LISTED]]
    more = [f"| … {len(files) - _FILES_LISTED} more | | |"] if len(files) > _FILES_LISTED else []
    left_out = [f"- left out: {line(what)}" for what in (change.left_out if change else ())[:_FILES_LISTED]]
    allowed = [f"- allowed by {short(one.by)}: {objection(one.objection)}" for one in run.allowed[-_FILES_LISTED:]]
    refused = [f"- the sandbox refused: {line(what)}" for what in run.refusals]
    table = ["| File | Added | Removed |", "|---|---|---|", *rows, *more, ""]
    cost = f"{run.turn} turn{'s' if run.turn != 1 else ''}, ${run.spent_usd:.2f}, {run.tokens:,} tokens"
    return "\n".join([*(table if files else []), *left_out, *allowed, *refused, cost])


def objection(one: Objection) -> str:
    where = f" {code(one.path)}" if one.path else ""
    return f"{one.rule}{where}: {line(one.detail)}"


def answer(spoken: Sequence[tuple[Comment, Heard]], turn: TurnReport) -> str:
    """The reply to what was said: facts first, then the agent's own words."""
    on_their_own = [f"{_recalled(comment)}\n\n{verdict(row)}" for comment, row in spoken if row.reason]
    together = [(comment, row) for comment, row in spoken if not row.reason]
    jointly = "\n".join(_recalled(comment) for comment, _ in together)
    did = [f"{jointly}\n\n{verdict(together[0][1])}"] if together else []
    words = [f"The agent says:\n\n{quote(turn.words)}"] if turn.words.strip() else []
    return "\n\n".join([*on_their_own, *did, *words])


def _recalled(comment: Comment) -> str:
    said = quote(first_line(comment.text))
    if not comment.remarks:
        return said or ">"
    remarks = f"{len(comment.remarks)} remark{'s' if len(comment.remarks) != 1 else ''}, answered in place"
    return f"{said} ({remarks})" if said else f"> A review: {remarks}"


def verdict(row: Heard, words: str = "") -> str:
    """What has become of one thing said. Reasons and words are the agent's."""
    match row.outcome:
        case Outcome.APPLIED:
            did = f"Done in {row.commit[:10]}."
        case Outcome.DECLINED:
            return f"Declined:\n\n{quote(row.reason)}"
        case _ if row.reason:
            return f"The agent answers:\n\n{quote(row.reason)}"
        case _:
            did = "No file was changed."
    return f"{did}\n\nThe agent says:\n\n{quote(words)}" if words.strip() else did


def help_text(policy: Policy) -> str:
    commands = "\n".join(f"- `/{policy.label} {name}`: {MEANINGS[name]}" for name in CommandName)
    return f"Any other comment steers the agent. Commands, in the first line of a comment:\n\n{commands}"


def unknown_command(word: str, policy: Policy) -> str:
    return f"I do not know `{inline(word)}`. {help_text(policy)}"


def not_trusted(author: str) -> str:
    return f"{short(author)} may not steer here, so I did not do that."


def status(run: Run, seen: Observation) -> str:
    doing = (
        f" Now: {line(seen.turn.progress.doing)}." if run.phase is Phase.WORKING and seen.turn.progress.doing else ""
    )
    return f"{_HEADLINES[run.phase]}{_because(run.reason)}.{doing}\n\n{_so_far(run, seen)}".strip()


def why(run: Run, seen: Observation) -> str:
    match run.phase:
        case Phase.QUEUED:
            return f"It is queued: {line(run.reason) or 'it starts at the next look'}."
        case Phase.WORKING if 0 < run.ended == run.turn and run.reason:
            return f"It waits: {line(run.reason)}"
        case Phase.WORKING:
            return f"An agent is at work on it: {line(seen.turn.progress.doing or run.reason) or 'it has just begun'}."
        case Phase.REVIEW if run.reason:
            return f"A pull request is open: {line(run.reason)}"
        case Phase.REVIEW:
            return "A pull request is open, and waits for you: comment to steer, merge to finish."
        case Phase.ASKING:
            return f"I need you: {line(run.reason)}"
        case Phase.DONE:
            return f"It is over: {run.reason}."


def commit_message(run: Run, issue: Issue, told: Sequence[Comment], errand: str = "") -> str:
    """One commit per turn: what the issue wants, or what the latest comment wanted, and who asked."""
    latest = first_line(told[-1].text) if told and run.turn else ""
    subject = short(latest or errand or issue.title) or f"Resolve {issue.key}"
    person = told[-1].author if told and run.turn else issue.asked_by
    return f"{subject}\n\n{issue.key}\n\n{_with(person)}"


def given_message(run: Run, person: Person) -> str:
    return f"Changes by {short(person.name) or 'somebody'}\n\n{run.key}\n\n{_with(person)}"


def _with(person: Person) -> str:
    name = short(person.name) or "somebody"
    email = short(person.email) or "noreply@localhost"
    return f"Co-authored-by: {name} <{email}>"


def first_line(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 200 else f"{line[:200]} …"  # noqa: PLR2004 - enough to recognise it
