"""The board: every run in its lane."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.web.board_cards import Card, lanes_of
from bot.web.dashboard import Dashboard
from bot.web.templating import page


def routes_of(dashboard: Dashboard) -> list[Route]:
    async def board(request: Request) -> Response:
        look = await dashboard.lookout.look()
        project, words = request.query_params.get("project", ""), request.query_params.get("q", "")
        cards = {one.id: one for one in look.cards.values() if _is_meant(one, project, words)}
        return page(
            request,
            "board.html",
            picture=look.picture,
            lanes=lanes_of(cards),
            place=look.place,
            projects=[site.name for site in dashboard.window.sites()],
            project=project,
            words=words,
        )

    return [Route("/", board)]


def _is_meant(card: Card, project: str, words: str) -> bool:
    told = f"{card.key} {card.title} {card.agent} {card.now}".casefold()
    return project in {"", card.project} and all(word in told for word in words.casefold().split())
