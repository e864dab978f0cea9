"""Replies about the choice of model and agent. Pure text in, text out."""

from collections.abc import Sequence

from bot.domain.policy import Policy
from bot.text.quote_untrusted import code_span


def model_used(name: str) -> str:
    return f"The model is {code_span(name)}." if name else "The model is the one the agent chooses by itself."


def model_chosen(name: str) -> str:
    return f"The model is {code_span(name)} from the next turn on."


def no_such_model(names: Sequence[str], policy: Policy) -> str:
    if len(names) > 1:
        listed = ", ".join(code_span(f"{policy.label}:model={name}") for name in names)
        return f"Which model is it to be? The labels say {listed}. Take all but one off, and I go on."
    return (
        f"{code_span(names[0])} cannot be the name of a model: those are letters, digits and `-._:/@[]`, in one word."
    )


def no_such_agent(names: Sequence[str], known: Sequence[str], policy: Policy) -> str:
    labels = ", ".join(code_span(f"{policy.label}:agent={name}") for name in names)
    there = ", ".join(f"`{name}`" for name in known)
    return f"I cannot follow the label {labels}. The agents I have: {there}. Fix the label or take it off, and I go on."
