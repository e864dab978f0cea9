"""Actions on a run: one table of everything a person can do, for the API, its description and the run page.

Rule: an action becomes a comment or a change of the pull request, under the person's name. No action acts in secret.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from bot.domain.command import MEANINGS, CommandName
from bot.domain.comment import Remark
from bot.domain.run import Run
from bot.text.invisible_characters import on_one_line
from bot.web.api_models import (
    BudgetFields,
    CommandFields,
    CommentFields,
    MergeFields,
    NoFields,
    RequestBody,
    ReviewFields,
)
from bot.web.dashboard import Dashboard

PerformAction = Callable[..., Awaitable[str]]
"""Called with the dashboard, the run, the fields and the person's name; returns the text for the API's answer."""


@dataclass(frozen=True, slots=True)
class RunAction:
    name: str
    summary: str
    fields: type[RequestBody]
    perform: PerformAction
    notice: str
    """Shown on the run page afterwards."""


def _command(name: CommandName) -> RunAction:
    async def perform(dashboard: Dashboard, run: Run, fields: CommandFields | BudgetFields, person: str) -> str:
        words = on_one_line(f"{name} {fields.words}")
        await dashboard.actions.command(run.key, words, by=person)
        return f"/{dashboard.data.label} {words}"

    fields = BudgetFields if name is CommandName.BUDGET else CommandFields
    return RunAction(name.value, MEANINGS[name], fields, perform, _COMMAND_NOTICES.get(name, "Sent."))


_COMMAND_NOTICES = {
    CommandName.APPROVE: "Approving…",
    CommandName.BUDGET: "Setting the budget…",
    CommandName.GIVE: "Giving the worktree back…",
    CommandName.PAUSE: "Pausing…",
    CommandName.RESUME: "Resuming…",
    CommandName.RETRY: "Retrying…",
    CommandName.STOP: "Stopping…",
}


async def _comment(dashboard: Dashboard, run: Run, fields: CommentFields, person: str) -> str:
    await dashboard.actions.comment(run.key, fields.text, by=person)
    return fields.text


async def _merge(dashboard: Dashboard, run: Run, fields: MergeFields, person: str) -> str:
    return await dashboard.actions.merge(run.key, squash=fields.squash, by=person)


async def _ready(dashboard: Dashboard, run: Run, _fields: NoFields, person: str) -> str:
    await dashboard.actions.ready(run.key, by=person)
    return "ready"


async def _close(dashboard: Dashboard, run: Run, _fields: NoFields, person: str) -> str:
    await dashboard.actions.close(run.key, by=person)
    return "closed"


async def _review(dashboard: Dashboard, run: Run, fields: ReviewFields, person: str) -> str:
    remarks = [Remark(remark.path, remark.line, remark.text) for remark in fields.remarks]
    await dashboard.actions.review(run.key, fields.text, verdict=fields.verdict, remarks=remarks, by=person)
    return fields.verdict


_ALL: Sequence[RunAction] = (
    RunAction(
        "say",
        "post a comment for the agent",
        CommentFields,
        _comment,
        "Sent. The agent reads it after its current step.",
    ),
    *(_command(name) for name in CommandName if name is not CommandName.HELP),
    RunAction("merge", "merge the pull request (local forge)", MergeFields, _merge, "Merged."),
    RunAction("ready", "mark the pull request ready (local forge)", NoFields, _ready, "Marked ready."),
    RunAction("close", "close the pull request (local forge)", NoFields, _close, "Closed."),
    RunAction("review", "review the pull request (local forge)", ReviewFields, _review, "Review sent."),
)
ACTIONS: Mapping[str, RunAction] = {action.name: action for action in _ALL}
