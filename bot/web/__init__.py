"""What the daemon answers over HTTP."""

from bot.web.pages import Door, pages_of
from bot.web.server import serving

__all__ = ["Door", "pages_of", "serving"]
