"""Questions and failures that a run asks people about. Pure text in, text out."""

from bot.domain.policy import Policy
from bot.text.quote_untrusted import neutralize_line, quote


def asks(reason: str, policy: Policy, *, a_reply_does: bool = True) -> str:
    reply = "Reply here and I will go on. " if a_reply_does else ""
    return f"{reason}\n\n{reply}`/{policy.label} help` lists what else you can do."


def with_question_named(text: str, name: str, policy: Policy) -> str:
    """Puts the question's name into the command that approves it."""
    return text.replace(f"`/{policy.label} approve`", _approval(name, policy)) if name else text


def other_question(name: str, policy: Policy) -> str:
    now = f" {_approval(name, policy)} approves what I asked last." if name else ""
    return f"That names another question than the last one, so I did nothing.{now}"


def asked_since(name: str, policy: Policy) -> str:
    return (
        "I asked something else after you wrote that, so I did nothing: have a look, please. "
        f"{_approval(name, policy)} approves it."
    )


def _approval(name: str, policy: Policy) -> str:
    return f"`/{policy.label} approve {name}`"


def nothing_changed(words: str) -> str:
    summary = f" It said:\n\n{quote(words)}" if words.strip() else ""
    return f"The agent finished without changing any file, so there is nothing to offer yet.{summary}"


def question(text: str) -> str:
    return f"The agent asks:\n\n{quote(text)}"


def gave_up(failures: int, detail: str) -> str:
    times = "once" if failures == 1 else f"{failures} times in a row"
    return f"The turn failed {times}. The last time: {neutralize_line(detail)}"


def met_a_bug(kind: str) -> str:
    return f"I met a bug of my own ({kind}) and left this alone. The log has more; `retry` tries again."


def session_lost() -> str:
    return "The agent's earlier conversation was gone, so I briefed it again with the whole thread."


def asks_for_key(detail: str, advice: str) -> str:
    return (
        f"The model refuses our key: {neutralize_line(detail)}\n\nNothing new is started until that is fixed, or the "
        f"model answers another run: {advice}. A wrong model for this run is refused in the same way: `model` chooses "
        "another. I also try again every few minutes."
    )


def asked_again() -> str:
    return "work was requested again while this pull request was open; comment to say what is left to do"


def ended_beside_pull(reason: str, label: str, *, has_issue: bool) -> str:
    again = f" Add `{label}` to the issue again, and I go on with this pull request." if has_issue else ""
    return f"I have stopped working on this: {neutralize_line(reason)}. Comments here are not read any more.{again}"


def found_again() -> str:
    return "my memory of this was lost, so I read everything anew and go on from the pull request"
