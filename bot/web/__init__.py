"""What the daemon answers over HTTP."""

from bot.web.access import Access
from bot.web.dashboard import Dashboard
from bot.web.pages import Door, pages_of
from bot.web.server import serving

__all__ = ["Access", "Dashboard", "Door", "pages_of", "serving"]
