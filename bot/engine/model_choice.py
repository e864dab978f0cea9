"""Which model and which agent a run is to have: what a person ordered, else its labels, else the settings. Pure."""

from dataclasses import replace

from bot.domain.choice import AGENTS, MODEL_NAME, agents_in, models_in
from bot.domain.policy import Policy
from bot.domain.run import Run
from bot.engine.decision import Decision
from bot.engine.messages import replies as answers
from bot.engine.observation import Observation


def model_for(run: Run, seen: Observation, policy: Policy) -> str:
    """Empty: what the settings say."""
    return run.model or next(iter(_models(seen, policy)), "")


def unusable(run: Run, seen: Observation, policy: Policy) -> str:
    """Why the labels cannot be followed; empty: they can."""
    agents = agents_in(seen.issue.labels, policy.label) if seen.issue else ()
    if len(agents) > 1 or set(agents) - set(AGENTS):
        return answers.no_such_agent(agents, AGENTS, policy)
    models = () if run.model else _models(seen, policy)
    if len(models) > 1 or not all(map(MODEL_NAME.fullmatch, models)):
        return answers.no_such_model(models, policy)
    return ""


def choose_model(run: Run, seen: Observation, policy: Policy, name: str) -> tuple[Decision, str]:
    if not name:
        return Decision(run), answers.model_used(model_for(run, seen, policy) or policy.model)
    if not MODEL_NAME.fullmatch(name):
        return Decision(run), answers.no_such_model((name,), policy)
    return Decision(replace(run, model=name)), answers.model_chosen(name)


def _models(seen: Observation, policy: Policy) -> tuple[str, ...]:
    return models_in(seen.issue.labels, policy.label) if seen.issue else ()
