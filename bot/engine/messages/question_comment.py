"""Questions and failures that a run asks people about. Pure text in, text out."""

from bot.domain.policy import Policy
from bot.text.quote_untrusted import neutralize_line, quote


def asks(reason: str, policy: Policy, *, a_reply_does: bool = True) -> str:
    reply = "Reply here to continue. " if a_reply_does else ""
    return f"{reason}\n\n{reply}`/{policy.label} help` lists all commands."


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


def asks_for_key(detail: str) -> str:
    return (
        f"The model's service refuses the key: {neutralize_line(detail)}\n\nNo turn starts until the key works. "
        "Check `ANTHROPIC_API_KEY` (or `CLAUDE_CODE_OAUTH_TOKEN`) and restart Treehand. "
        "It also tries again every few minutes."
    )


def found_again() -> str:
    return "the run's record was lost; Treehand has read the issue again and continues from the pull request"
