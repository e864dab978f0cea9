"""Parts of the descriptions that GitHub and Linear publish of their APIs, and how they are made from the whole."""

from pathlib import Path

FOLDER = Path(__file__).parent
