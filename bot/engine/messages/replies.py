"""What the bot says about plans, models, agents and worktrees, taken over or not ready. Pure text in, text out."""

from collections.abc import Sequence

from bot.domain.change import Objection
from bot.domain.policy import Policy
from bot.domain.run import Run
from bot.domain.salvage import KEPT_DAYS, Kept
from bot.domain.setup_plan import Obstacle
from bot.engine.messages.issue import objection
from bot.text.quote_untrusted import code, fence, inline, line, quote, short

_LISTED = 51
"""All that the host lists: nobody is to allow what was not shown."""


def plan(words: str, policy: Policy) -> str:
    said = quote(words) or "> (It said nothing.)"
    what_now = f"`/{policy.label} approve` lets it begin; any other comment has it think again."
    return f"The agent proposes a plan, and has changed nothing yet. {what_now}\n\n{said}"


def will_plan() -> str:
    return "The next turn proposes a plan, and changes nothing until it is approved."


def plan_waits() -> str:
    return "There is a plan already: approve it, or say what should be different."


def plan_approved() -> str:
    return "The plan is approved. Going on as soon as there is a free slot."


def nothing_to_approve() -> str:
    return "There is nothing that waits for approval."


def held(objections: Sequence[Objection], policy: Policy, *, by_hand: bool) -> str:
    """What lies in the worktree is not published, and why."""
    listed = [f"- {objection(one)}" for one in objections[:_LISTED]]
    more = [f"- and {len(objections) - _LISTED} more"] if len(objections) > _LISTED else []
    instead = "change it there by hand" if by_hand else "a comment has the agent change it"
    made = "What was changed by hand" if by_hand else "What the agent made"
    what_now = (
        f"`/{policy.label} approve`, by somebody who may push, publishes it exactly as it is now. "
        f"Otherwise {instead}. Until then all of it stays in the worktree, and nothing is committed or pushed."
    )
    return "\n".join([f"{made} is held back: it needs a person's eyes.", "", *listed, *more, "", what_now])


def kept_in(folder: str) -> str:
    return f"The worktree, on the machine I run on, is\n\n    {folder}"


def may_not_publish(by: str, policy: Policy) -> str:
    return (
        f"{short(by)} may steer here, but not push: whoever may push to the repository lets this out, "
        f"with `/{policy.label} approve`."
    )


def will_publish(by: str) -> str:
    return f"Allowed by {short(by)}, exactly as it is now. Publishing it as soon as there is a free slot."


def will_go_on(by: str) -> str:
    return f"Allowed by {short(by)}, exactly as it is now. The agent goes on as soon as there is a free slot."


def waits_already() -> str:
    return "It waits for you already: nothing is at work."


def no_plan_while_held(policy: Policy) -> str:
    return f"Not now: work is held back. `/{policy.label} approve` lets it out, a comment has the agent change it."


def not_ready(obstacle: Obstacle, policy: Policy) -> str:
    where = f" in {code(obstacle.folder)}" if obstacle.folder else ""
    what = f"{code(obstacle.command)}{where} {line(obstacle.problem)}" if obstacle.command else line(obstacle.problem)
    parts = [
        f"The worktree could not be made ready: {what}",
        "No agent has begun, and nothing counts as its failure.",
        f"The end of what it printed:\n\n{fence(obstacle.output)}" if obstacle.output.strip() else "",
        "\n".join(f"- {line(one)}" for one in obstacle.advice),
        f"`/{policy.label} retry` tries again.",
    ]
    return "\n\n".join(part for part in parts if part)


def put_back(key: str, ref: str) -> str:
    return f"While it was to plan only, the agent changed files. I have undone that. {salvaged(key, Kept(ref))}"


def taken_by(name: str, policy: Policy) -> str:
    return f"{short(name)} has taken the worktree over; `/{policy.label} give` hands it back"


def handed_over(folder: str, command: str, policy: Policy) -> str:
    resume = f"The agent's conversation goes on by hand with\n\n    {command}\n\n" if command else ""
    return (
        f"It is yours, and nothing of mine touches it meanwhile. The worktree, on the machine I run on, is\n\n"
        f"    {folder}\n\n{resume}"
        f"`/{policy.label} give` hands it back: what you changed is kept as a commit of its own, and the agent goes on."
    )


def nothing_to_take() -> str:
    return "There is nothing to take over yet: no agent has begun."


def not_taken() -> str:
    return "Nobody has taken this over, so there is nothing to hand back."


def while_taken(run: Run) -> str:
    return f"Not now: {run.reason}."


def given_back() -> str:
    return "Thank you. What you changed is kept as a commit of its own, and the agent goes on from there."


def model_used(name: str) -> str:
    return f"The model is `{inline(name)}`." if name else "The model is the one the agent chooses by itself."


def model_chosen(name: str) -> str:
    return f"The model is `{inline(name)}` from the next turn on."


def no_such_model(names: Sequence[str], policy: Policy) -> str:
    if len(names) > 1:
        listed = ", ".join(f"`{policy.label}:model={inline(name)}`" for name in names)
        return f"Which model is it to be? The labels say {listed}. Take all but one off, and I go on."
    return f"`{inline(names[0])}` cannot be the name of a model: those are letters, digits and `-._:/@[]`, in one word."


def no_such_agent(names: Sequence[str], known: Sequence[str], policy: Policy) -> str:
    said = ", ".join(f"`{policy.label}:agent={inline(name)}`" for name in names)
    there = ", ".join(f"`{name}`" for name in known)
    return f"I cannot follow the label {said}. The agents I have: {there}. Mend the label or take it off, and I go on."


OUT_OF_REACH = "it could not be reached, and I try again every hour"
NOT_TAKEN = "it does not take it"


def salvaged(key: str, kept: Kept) -> str:
    """Where it is, how to get it, and until when."""
    where = "on the machine I run on, and in this repository" if kept.shared else "on the machine I run on"
    parts = [
        f"Work that was published nowhere is kept for {KEPT_DAYS} days as `{kept.ref}`, {where}.",
        f"`treehand restore {key}` brings it back as a branch.",
    ]
    if kept.shared:
        branch = f"restored/{kept.ref.split('/')[-2]}"
        parts.append(f"So does `git fetch origin {kept.ref}:refs/heads/{branch} && git switch {branch}`, in any clone.")
    if kept.why:
        parts.append(f"It is not in the repository: {kept.why}.")
    return " ".join(parts)
