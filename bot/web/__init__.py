"""What the daemon answers over HTTP."""

from bot.web.app import Door, pages_of
from bot.web.auth import Access
from bot.web.dashboard import Dashboard
from bot.web.server import serving

__all__ = ["Access", "Dashboard", "Door", "pages_of", "serving"]
