"""Messages about CI that waits for approval. Pure text in, text out."""

from bot.domain.policy import Policy
from bot.text.quote_untrusted import short_label


def waits(policy: Policy) -> str:
    return f"CI waits for approval. Review the changes, then comment `/{policy.label} approve`."


def will_start() -> str:
    return "Treehand now pushes an empty commit that starts CI. Commits after that one wait for approval again."


def pushed_since(policy: Policy) -> str:
    return (
        f"Treehand has pushed new commits after your comment. Review the changes, then comment `/{policy.label} "
        "approve` again."
    )


def may_not_start(by: str, policy: Policy) -> str:
    return (
        f"{short_label(by)} has no push access. Somebody with push access can start CI with `/{policy.label} approve`."
    )
