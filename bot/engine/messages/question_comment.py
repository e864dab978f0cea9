"""Questions and failures that a run asks people about. Pure text in, text out."""

from bot.domain.policy import Policy
from bot.text.quote_untrusted import code_span, neutralize_line, quote


def asks(reason: str, policy: Policy, *, a_reply_does: bool = True) -> str:
    reply = "Reply here to continue. " if a_reply_does else ""
    return f"{reason}\n\n{reply}`/{policy.label} help` lists all commands."


def with_question_named(text: str, name: str, policy: Policy) -> str:
    """Puts the question's name into the command that approves it."""
    return text.replace(f"`/{policy.label} approve`", _approval(name, policy)) if name else text


def other_question(name: str, policy: Policy) -> str:
    now = f" {_approval(name, policy)} approves the last question." if name else ""
    return f"Treehand did nothing, because the command names another question than the last one.{now}"


def asked_since(name: str, policy: Policy) -> str:
    return (
        "Treehand asked another question after you wrote that, so it did nothing. Read the new question. "
        f"{_approval(name, policy)} approves it."
    )


def _approval(name: str, policy: Policy) -> str:
    return f"`/{policy.label} approve {name}`"


def nothing_changed(words: str) -> str:
    summary = f" Its summary:\n\n{quote(words)}" if words.strip() else ""
    return f"The agent finished without changing any file, so there is no pull request to open.{summary}"


def question(text: str) -> str:
    return f"The agent asks:\n\n{quote(text)}"


def gave_up(failures: int, detail: str) -> str:
    times = "once" if failures == 1 else f"{failures} times in a row"
    return f"The turn failed {times}. The last failure: {neutralize_line(detail)}"


def met_a_bug(kind: str, policy: Policy) -> str:
    return (
        f"Treehand hit a bug ({kind}) and stopped this run. See the log for details; `/{policy.label} retry` "
        "tries again."
    )


def session_lost() -> str:
    return "The agent's earlier session was lost, so a new one started with the whole discussion."


def base_renamed(before: str = "", now: str = "") -> str:
    return (
        f"The base branch {code_span(before)} was renamed to {code_span(now)}, so Treehand uses "
        f"{code_span(now)}. The settings or the issue still contain the former name: change it there."
    )


def asks_for_key(detail: str, advice: str) -> str:
    return (
        f"The model's service refuses the key: {neutralize_line(detail)}\n\nNo turn starts until the key works, or "
        f"until the service answers another run: {advice}. It refuses a wrong model for this run in the same way: "
        "`model` chooses another. Treehand also tries again every few minutes."
    )


def asked_again() -> str:
    return "work was requested again while this pull request was open; comment to say what is left to do"


def ended_beside_pull(reason: str, label: str, *, has_issue: bool) -> str:
    again = (
        f" Add `{label}` to the issue again to continue with this pull request."
        if has_issue
        else " The pull request stays open: you can merge or close it."
    )
    return f"The run has ended: {neutralize_line(reason)}. Treehand no longer reads comments here.{again}"


def reopened() -> str:
    return "its pull request was reopened; comment to say what is left to do"


def found_again() -> str:
    return "the run's record was lost; Treehand has read the issue again and continues from the pull request"
