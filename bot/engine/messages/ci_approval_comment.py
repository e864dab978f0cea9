"""Messages about CI that waits for approval. Pure text in, text out."""

from bot.domain.policy import Policy
from bot.text.quote_untrusted import short_label


def waits(policy: Policy) -> str:
    return f"CI waits for approval: look at the changes, then comment `/{policy.label} approve`."


def will_start() -> str:
    return "CI starts with an empty commit that I push now. Commits after that one wait for approval again."


def pushed_since(policy: Policy) -> str:
    return f"I have pushed since you wrote that. Look at the changes, and comment `/{policy.label} approve` again."


def may_not_start(by: str, policy: Policy) -> str:
    return (
        f"{short_label(by)} may steer here, but not push: somebody who may push to the repository can start CI, "
        f"with `/{policy.label} approve`."
    )
