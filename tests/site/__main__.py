"""`make docs`: builds the pages as a site in build/site; fails if a link leads nowhere or a page is in no menu."""

import logging
import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).parent.parent.parent))

from tests.site.build import build

if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    print(build(Path(__file__).parent.parent.parent / "build"))
