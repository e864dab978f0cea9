"""Replies about the choice of model and agent. Pure text in, text out."""

from collections.abc import Sequence

from bot.domain.policy import Policy
from bot.text.quote_untrusted import code_span


def model_used(name: str) -> str:
    return f"The model is {code_span(name)}." if name else "The agent chooses its model itself."


def model_chosen(name: str) -> str:
    return f"The model is {code_span(name)} from the next turn on."


def no_such_model(names: Sequence[str], policy: Policy) -> str:
    if len(names) > 1:
        listed = ", ".join(code_span(f"{policy.label}:model={name}") for name in names)
        return f"Several labels name a model: {listed}. Remove all but one to continue."
    return f"{code_span(names[0])} is not a model name. A name has only letters, digits and `-._:/@[]`, and no spaces."


def no_such_agent(names: Sequence[str], known: Sequence[str], policy: Policy) -> str:
    labels = ", ".join(code_span(f"{policy.label}:agent={name}") for name in names)
    there = ", ".join(f"`{name}`" for name in known)
    named = "The label {} names an unknown agent" if len(names) == 1 else "The labels {} do not name one known agent"
    return f"{named.format(labels)}. Available: {there}. Correct or remove the label to continue."
