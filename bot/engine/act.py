"""The hands of the bot: carries out one action. Knows how, never whether."""

from typing import assert_never

from bot.domain.comment import Place, Reaction
from bot.domain.names import branch_for, turn_id_for
from bot.domain.run import Run
from bot.domain.salvage import Kept
from bot.domain.turn import Message, TurnRequest
from bot.engine.actions import (
    Action,
    CancelTurn,
    HandOver,
    LinkPullRequest,
    MoveIssue,
    OfferPullRequest,
    PushBranch,
    React,
    RemoveBranch,
    RemoveWorkspace,
    SalvageWork,
    Say,
    SendMessage,
    ShowLabels,
    StartTurn,
)
from bot.engine.messages import replies as answers
from bot.engine.withhold_secrets import refuse_leaks
from bot.errors import NeedsHuman, Retryable
from bot.ports import Board, Executor, Project


async def perform(  # noqa: C901, PLR0912, PLR0915 - one case per action
    action: Action, run: Run, project: Project, executor: Executor
) -> None:
    branch = branch_for(run)
    match action:
        case StartTurn():
            refuse_leaks(action.commit_message, project.leaks_in)
            await executor.ensure_started(_request(action, run, project))
        case SendMessage(turn, comments, text):
            await executor.send(turn_id_for(run, turn), Message(" ".join(comments), text, comments))
        case CancelTurn(turn):
            await executor.cancel(turn_id_for(run, turn))
        case PushBranch():
            await project.workspaces.ensure_pushed(branch, remote=await project.forge.remote())
        case OfferPullRequest(title, body, base):
            refuse_leaks(f"{title}\n{body}", project.leaks_in)
            await project.forge.ensure_draft(branch, base=base or project.policy.base, title=title, body=body)
        case Say():
            await _say(project, run, action)
        case HandOver():
            await _hand_over(project, run, action)
        case React(place, comment, reaction):
            await _react(project, run, place, comment, reaction)
        case ShowLabels(add, remove):
            await project.tracker.ensure_labels(run.key, add=add, remove=remove)
        case MoveIssue(stage):
            await _board(project).ensure_stage(run.key, stage)
        case LinkPullRequest(url, title):
            await _board(project).ensure_link(run.key, url=url, title=title)
        case SalvageWork(tell):
            await _salvage(project, run, tell=tell)
        case RemoveWorkspace():
            if project.readiness:
                await project.readiness.tear_down(branch)
            await project.workspaces.remove(branch)
        case RemoveBranch():
            await project.forge.remove_branch(branch)
        case _:
            assert_never(action)


def _board(project: Project) -> Board:
    assert project.board, "only what has a board shows a standing or links"
    return project.board


def _request(start: StartTurn, run: Run, project: Project) -> TurnRequest:
    return TurnRequest(
        turn_id=turn_id_for(run, start.number),
        run_id=run.id,
        project=run.project,
        branch=branch_for(run),
        base=start.base or project.policy.base,
        prompt=start.prompt,
        briefing=start.briefing,
        commit_message=start.commit_message,
        at=run.turn_at,
        session=start.session,
        comments=start.comments,
        model=start.model or project.policy.model,
        budget_usd=start.budget_usd,
        plan=start.plan,
        merge=start.merge,
        given=start.given,
        allowed=start.allowed,
        forbids=start.forbids,
        offer=start.offer,
        most_tokens=start.most_tokens,
        verified=start.verified,
    )


async def _say(project: Project, run: Run, say: Say) -> None:
    where = answers.kept_in(str(project.workspaces.folder(branch_for(run)))) if say.folder else ""
    text = "\n\n".join(part for part in (say.text, where) if part)
    refuse_leaks(f"{text}\n{say.note}", project.leaks_in)
    slug = f"{run.ordinal}/{say.slug}"
    match say.place:
        case Place.ISSUE:
            await project.tracker.ensure_comment(run.key, slug=slug, text=text, note=say.note, thread=say.thread)
        case Place.PULL_REQUEST:
            await project.forge.ensure_comment(branch_for(run), slug=slug, text=text, thread=say.thread)


async def _hand_over(project: Project, run: Run, hand_over: HandOver) -> None:
    branch = branch_for(run)
    if not hand_over.again:
        await project.workspaces.disarm(branch)
    command = await project.by_hand(branch, run.session, again=hand_over.again)
    text = answers.handed_over(str(project.workspaces.folder(branch)), command, project.policy)
    await _say(project, run, Say(hand_over.place, hand_over.slug, text))


async def _react(project: Project, run: Run, place: Place, comment: str, reaction: Reaction) -> None:
    match place:
        case Place.ISSUE:
            await project.tracker.ensure_reaction(run.key, comment, reaction)
        case Place.PULL_REQUEST:
            await project.forge.ensure_reaction(branch_for(run), comment, reaction)


async def _salvage(project: Project, run: Run, *, tell: bool) -> None:
    ref = await project.workspaces.salvage(branch_for(run))
    if ref:
        kept = await _shared(project, ref)
        if tell:
            await _say(project, run, Say(Place.ISSUE, "salvage", answers.salvaged(run.key, kept)))


async def _shared(project: Project, ref: str) -> Kept:
    """At the remote as well, if that can be had now; the end of a run does not wait for it."""
    try:
        remote = await project.forge.remote()
        if project.claim:
            project.claim.check()
        return await project.workspaces.share(ref, remote=remote)
    except Retryable:
        return Kept(ref, why=answers.OUT_OF_REACH)
    except NeedsHuman:
        return Kept(ref, why=answers.NOT_TAKEN)
