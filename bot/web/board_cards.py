"""What the board shows of each run, in which lane and in which order. Pure, so that what changed is what differs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.domain.pull_request import CheckState, PullRequest, PullRequestState
from bot.domain.run import Phase, Run
from bot.domain.verification import Standing, Verification
from bot.status.as_json import LANES, Glimpse, Picture


@dataclass(frozen=True, slots=True)
class Card:
    id: str
    """Of the run."""
    key: str
    project: str
    phase: Phase
    title: str
    agent: str
    now: str
    """What it does, or why it waits."""
    todos_done: int
    todos: int
    added: int
    removed: int
    checks: str
    """`green`, `red`, `unknown`; empty: nothing is known."""
    pull: str
    pull_url: str
    cost_usd: float
    turns: int
    since: float
    """When it came into this lane."""
    place: int
    """In the queue, from 1 on; 0: it is in none."""
    eta_minutes: int | None
    """Until it begins, by a guess."""


@dataclass(frozen=True, slots=True)
class Lane:
    phase: Phase
    name: str
    cards: Sequence[Card]

    @property
    def empty(self) -> str:
        return _EMPTY[self.phase]


_EMPTY = {
    Phase.ASKING: "Nobody waits for you.",
    Phase.WORKING: "No agent is at work.",
    Phase.REVIEW: "Nothing is to be reviewed.",
    Phase.QUEUED: "Nothing waits.",
    Phase.DONE: "Nothing was finished today.",
}


def cards_of(seen: Picture) -> Mapping[str, Card]:
    """By run id, in the order of the lanes."""
    queue = [run.id for run in seen.runs if run.phase is Phase.QUEUED]
    cards = [_card(run, seen.glimpses.get(run.id, Glimpse()), queue) for run in seen.runs]
    return {card.id: card for card in sorted(cards, key=_order)}


def lanes_of(cards: Mapping[str, Card]) -> list[Lane]:
    return [
        Lane(phase, name, [card for card in cards.values() if card.phase is phase]) for phase, name in LANES.items()
    ]


def _order(card: Card) -> tuple[int, float, str]:
    """Who has waited longest comes first; what is over, last first; the queue as it is."""
    lane = list(LANES).index(card.phase)
    within = {Phase.QUEUED: float(card.place), Phase.DONE: -card.since}.get(card.phase, card.since)
    return lane, within, card.id


def _card(run: Run, glimpse: Glimpse, queue: Sequence[str]) -> Card:
    pull = glimpse.pull_request
    return Card(
        id=run.id,
        key=run.key,
        project=run.project,
        phase=run.phase,
        title=glimpse.title or run.key,
        agent=glimpse.agent,
        now=glimpse.doing or run.reason.replace("`", ""),
        todos_done=sum(todo.done for todo in glimpse.todos),
        todos=len(glimpse.todos),
        added=run.extent.added,
        removed=run.extent.removed,
        checks=_checks(run.verification, pull),
        pull=_pull(pull),
        pull_url=pull.url if pull else "",
        cost_usd=round(run.spent_usd, 2),
        turns=run.turn,
        since=run.changed_at,
        place=queue.index(run.id) + 1 if run.id in queue else 0,
        eta_minutes=None if glimpse.eta_seconds is None else max(round(glimpse.eta_seconds / 60), 1),
    )


def _pull(pull: PullRequest | None) -> str:
    if pull is None:
        return ""
    kind = "draft" if pull.draft and pull.state is PullRequestState.OPEN else pull.state.value
    return f"#{pull.number} {kind}"


def _checks(found: Verification | None, pull: PullRequest | None) -> str:
    """What the forge's own checks say counts where there are any."""
    forge = pull.checks.state if pull else CheckState.NONE
    if forge is not CheckState.NONE:
        return forge.value
    if found is None:
        return ""
    standings = {trial.standing for trial in found.trials}
    worst = (one for one in (Standing.RED, Standing.UNKNOWN, Standing.GREEN) if one in standings)
    return next(worst, Standing.UNKNOWN).value
