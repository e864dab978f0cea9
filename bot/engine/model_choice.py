"""Chooses the model and the agent of a run: by command, else by label, else by settings. Pure."""

from dataclasses import replace

from bot.domain.issue_directives import AGENTS, MODEL_NAME, agents_in, models_in
from bot.domain.policy import Policy
from bot.domain.run import Run
from bot.engine.decision import Decision
from bot.engine.messages import model_comment
from bot.engine.observation import Observation


def model_for(run: Run, seen: Observation, policy: Policy) -> str:
    """Returns the chosen model; empty for the one in the settings."""
    return run.model or next(iter(_models(seen, policy)), "")


def why_invalid(run: Run, seen: Observation, policy: Policy) -> str:
    """Returns the reason why the labels are invalid; empty if they are valid."""
    agents = agents_in(seen.issue.labels, policy.label) if seen.issue else ()
    if len(agents) > 1 or set(agents) - set(AGENTS):
        return model_comment.no_such_agent(agents, AGENTS, policy)
    models = () if run.model else _models(seen, policy)
    if len(models) > 1 or not all(map(MODEL_NAME.fullmatch, models)):
        return model_comment.no_such_model(models, policy)
    return ""


def choose_model(run: Run, seen: Observation, policy: Policy, name: str) -> tuple[Decision, str]:
    if not name:
        return Decision(run), model_comment.model_used(model_for(run, seen, policy) or policy.model)
    if not MODEL_NAME.fullmatch(name):
        return Decision(run), model_comment.no_such_model((name,), policy)
    return Decision(replace(run, model=name)), model_comment.model_chosen(name)


def _models(seen: Observation, policy: Policy) -> tuple[str, ...]:
    return models_in(seen.issue.labels, policy.label) if seen.issue else ()
