"""Board page: shows every run as a card in its lane, filtered by project and search words."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.web.board_cards import BoardCard
from bot.web.board_lanes import lanes_of
from bot.web.dashboard import Dashboard
from bot.web.templating import page


def routes_of(dashboard: Dashboard) -> list[Route]:
    async def board(request: Request) -> Response:
        state = await dashboard.board_feed.current()
        project, query = request.query_params.get("project", ""), request.query_params.get("q", "")
        cards = {card.id: card for card in state.cards.values() if _matches(card, project, query)}
        return page(
            request,
            "board.html",
            snapshot=state.snapshot,
            lanes=lanes_of(cards),
            position=state.position,
            projects=[site.name for site in dashboard.data.projects()],
            project=project,
            query=query,
            is_filtered=bool(project or query.strip()),
        )

    return [Route("/", board)]


def _matches(card: BoardCard, project: str, query: str) -> bool:
    text = f"{card.key} {card.title} {card.agent} {card.now}".casefold()
    return project in {"", card.project} and all(word in text for word in query.casefold().split())
