"""Carries out actions on tracker, forge, executor or workspace. It never decides.

Rule: the refusal of what only shows a run, or tidies after it, is returned; every other one is raised.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import assert_never

from bot.domain.branch_name import branch_for
from bot.domain.comment import CommentPlace
from bot.domain.reaction import Reaction
from bot.domain.remote import Remote
from bot.domain.run import Run
from bot.domain.run_names import turn_id_for
from bot.domain.salvage import SalvageLocation
from bot.domain.turn import Message
from bot.engine.actions import (
    Action,
    CancelTurn,
    LinkPullRequest,
    MoveIssue,
    OfferPullRequest,
    PostComment,
    PrintHandover,
    PushBranch,
    React,
    RemoveBranch,
    RemoveWorkspace,
    SalvageWork,
    SendMessage,
    ShowLabels,
    StartCI,
    StartTurn,
)
from bot.engine.messages import blocked_work, handover_comment, salvage_comment
from bot.engine.unshown import NotShown, ShowingAction
from bot.engine.withhold_secrets import refuse_secrets
from bot.errors import NeedsHuman, Retryable
from bot.ports import Executor, IssueStates, Project


async def perform_all(actions: Sequence[Action], run: Run, project: Project, executor: Executor) -> Sequence[NotShown]:
    """One after the other. Reactions come last, after words were handed over, and together: many are one request."""
    done = [await perform(action, run, project, executor) for action in actions if not isinstance(action, React)]
    reactions = [perform(action, run, project, executor) for action in actions if isinstance(action, React)]
    tried = await asyncio.gather(*reactions, return_exceptions=True)
    if failure := next((one for one in tried if isinstance(one, BaseException)), None):
        raise failure
    return [one for one in (*done, *tried) if isinstance(one, NotShown)]


async def perform(  # noqa: C901, PLR0912, PLR0915 - one case per action
    action: Action, run: Run, project: Project, executor: Executor
) -> NotShown | None:
    branch = branch_for(run)
    match action:
        case StartTurn(order):
            refuse_secrets(order.commit_message, project.find_secrets)
            await executor.ensure_started(order)
        case SendMessage(turn, comments, text):
            await executor.send(turn_id_for(run, turn), Message(" ".join(comments), text, comments))
        case CancelTurn(turn):
            await executor.cancel(turn_id_for(run, turn))
        case PushBranch():
            holds_ci = project.policy.ci_after_approval
            await project.workspaces.ensure_pushed(branch, remote=await project.forge.remote(), holds_ci=holds_ci)
        case StartCI():
            await project.workspaces.ensure_ci_started(branch, remote=await project.forge.remote())
        case OfferPullRequest(title, body, base):
            refuse_secrets(f"{title}\n{body}", project.find_secrets)
            await project.forge.ensure_draft(branch, base=base or project.policy.base, title=title, body=body)
        case PostComment():
            return await _say(project, run, action)
        case PrintHandover():
            return await _hand_over(project, run, action)
        case React(place, comment, reaction):
            return await _shown(action, _react(project, run, place, comment, reaction))
        case ShowLabels(add, remove):
            return await _shown(action, project.tracker.ensure_labels(run.key, add=add, remove=remove))
        case MoveIssue(stage):
            return await _shown(action, _board(project).ensure_stage(run.key, stage))
        case LinkPullRequest(url, title):
            return await _shown(action, _board(project).ensure_link(run.key, url=url, title=title))
        case SalvageWork(tell):
            return await _salvage(project, run, tell=tell)
        case RemoveWorkspace():
            if project.setup:
                await project.setup.tear_down(branch)
            await project.workspaces.remove(branch)
        case RemoveBranch():
            return await _shown(action, project.forge.remove_branch(branch))
        case _:
            assert_never(action)
    return None


async def _shown(action: ShowingAction, showing: Awaitable[None]) -> NotShown | None:
    try:
        await showing
    except NeedsHuman as refusal:
        return NotShown(action, str(refusal))
    return None


def _board(project: Project) -> IssueStates:
    assert project.issue_states, "only what has a board shows a standing or links"
    return project.issue_states


async def _say(project: Project, run: Run, say: PostComment) -> NotShown | None:
    where = blocked_work.kept_in(str(project.workspaces.folder(branch_for(run)))) if say.folder else ""
    text = "\n\n".join(part for part in (say.text, where) if part)
    refuse_secrets(f"{text}\n{say.note}", project.find_secrets)
    return await _shown(replace(say, text=text, folder=False), _post(project, run, say, text))


async def _post(project: Project, run: Run, say: PostComment, text: str) -> None:
    slug = f"{run.ordinal}/{say.slug}"
    match say.place:
        case CommentPlace.ISSUE:
            await project.tracker.ensure_comment(run.key, slug=slug, text=text, note=say.note, thread=say.thread)
        case CommentPlace.PULL_REQUEST:
            await project.forge.ensure_comment(branch_for(run), slug=slug, text=text, thread=say.thread)


async def _hand_over(project: Project, run: Run, hand_over: PrintHandover) -> NotShown | None:
    branch = branch_for(run)
    command = await project.hand_over(branch, run.session, again=hand_over.again)
    if not hand_over.again:
        await project.workspaces.disarm(branch)
    text = handover_comment.handed_over(str(project.workspaces.folder(branch)), command, project.policy)
    return await _say(project, run, PostComment(hand_over.place, hand_over.slug, text))


async def _react(project: Project, run: Run, place: CommentPlace, comment: str, reaction: Reaction) -> None:
    match place:
        case CommentPlace.ISSUE:
            await project.tracker.ensure_reaction(run.key, comment, reaction)
        case CommentPlace.PULL_REQUEST:
            await project.forge.ensure_reaction(branch_for(run), comment, reaction)


async def _salvage(project: Project, run: Run, *, tell: bool) -> NotShown | None:
    ref = await project.workspaces.salvage(branch_for(run))
    if not ref:
        return None
    kept = await _shared(project, ref)
    if not tell:
        return None
    text = salvage_comment.salvaged(run.key, kept)
    return await _say(project, run, PostComment(CommentPlace.ISSUE, "salvage", text))


async def _shared(project: Project, ref: str) -> SalvageLocation:
    """Pushes the salvage ref if the remote can be reached now; the end of the run does not wait for a retry."""
    if SalvageLocation(ref).is_folder:
        return await project.workspaces.share(ref, remote=Remote("", here=True))
    try:
        remote = await project.forge.remote()
        if project.lease:
            project.lease.check()
        return await project.workspaces.share(ref, remote=remote)
    except Retryable:
        return SalvageLocation(ref, why=salvage_comment.OUT_OF_REACH)
    except NeedsHuman:
        return SalvageLocation(ref, why=salvage_comment.NOT_TAKEN)
